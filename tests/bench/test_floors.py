"""FLOP counted from the widths equal those of the products that JAX really writes down."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.bench.floors import forward_flops, gradient_bytes, gradient_flops, pointnet_layers
from airbayes.bench.pointnet_case import make_case
from airbayes.models import pointnet

CLOUDS, POINTS = 3, 16


def product_flops(jaxpr) -> int:
    """2 × the multiply-adds of every dot_general, in sub-programs too."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            left, out = equation.invars[0].aval.shape, equation.outvars[0].aval.shape
            total += 2 * int(np.prod(out)) * int(np.prod([left[axis] for axis in contracted]))
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                total += product_flops(inner)
    return total


def plain_program(gradient: bool):
    model = pointnet(pooling="plain")
    clouds, labels = jnp.zeros((CLOUDS, POINTS, 3)), jnp.zeros(CLOUDS, jnp.int32)

    def total(theta):
        return jnp.sum(model.log_likelihood(theta, clouds, labels))

    return jax.make_jaxpr(jax.grad(total) if gradient else total)(jnp.zeros(model.num_params)).jaxpr


def test_forward_pass():
    assert forward_flops(CLOUDS, POINTS) == product_flops(plain_program(gradient=False))


def test_plain_gradient():
    assert gradient_flops(CLOUDS, POINTS, winners_only=False) == product_flops(plain_program(gradient=True))


def test_by_hand_for_36_cells():
    """Multiply-adds a point and a cloud, layer by layer; 45.6 GFLOP are per point, the rest per cloud."""
    clouds, points = 36 * 5 * 240, 64
    narrow = 24 + 128 + 9 + 88 + 64 + 128 + 64 + 64 + 128
    wide = 3 * 2048
    per_cloud = 3 * (128 * 64 + 64 * 32) + 32 * (9 + 64 + 6)
    forward = clouds * (points * (narrow + wide) + per_cloud)
    backward = clouds * (points * (2 * narrow - 24 - 9) + 2 * wide + 2 * per_cloud)
    assert gradient_flops(clouds, points) == 2 * (forward + backward)
    assert gradient_flops(clouds, points) / 1e9 == pytest.approx(55.2, abs=0.5)


def test_layers_are_the_models():
    """Kernels in the model's order; the two products by predicted matrices have no kernel."""
    kernels = [shape for shape in pointnet().tensors().values() if len(shape) == 2]
    layers = [(layer.inputs, layer.outputs) for layer in pointnet_layers()]
    assert len(layers) == len(kernels) + 2
    del layers[15], layers[6]
    assert layers == kernels


def test_bytes_are_those_of_the_arrays():
    case = make_case(2, CLOUDS, POINTS)
    arrays = [*jax.tree.leaves(case.data), case.theta, case.theta]
    assert gradient_bytes(2, CLOUDS, POINTS, case.model.num_params) == sum(array.nbytes for array in arrays)
