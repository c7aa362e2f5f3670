"""The PointNet of `pointnet` on NVIDIA GPUs: the same function of the same parameters, by the kernels of
`point_layers_gpu`, `point_products_gpu` and `wide_pool_gpu`, with the channels of points first. Gradients of the clouds
themselves are not computed: they are taken for zero."""

from __future__ import annotations

import functools
from typing import cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from airbayes.models.point_layers_gpu import Dense, Matrices, Points, layer_backward, layers_alone, layers_forward
from airbayes.models.point_products_gpu import sixteen_channels_backward, turn_backward
from airbayes.models.wide_pool_gpu import MOST_SCORES, Pooled, pull_back, winners

WIDE = 128


def fits(points: int) -> bool:
    """Triton's blocks have sizes that are powers of two, of at least 16 in a product, and must fit the registers."""
    return points >= 16 and points & (points - 1) == 0 and points * WIDE <= MOST_SCORES


def pointnet_on_gpu(
    net, clouds: Float[Array, "cloud point 3"], *, interpret: bool = False
) -> Float[Array, "cloud cls"]:
    x = clouds.transpose(2, 0, 1)
    shape = _matrices(_encode(net.tnet_input, x, None, False, interpret), 3)
    first, second = map(_weights, net.shared)
    x, again = cast(tuple[Points, Points], point_layers(False, interpret, x, shape, first, second))
    shape = _matrices(_encode(net.tnet_feature, x, None, True, interpret), 8)
    return _encode(net.head, again, shape, True, interpret)


def _encode(encoder, x, matrices: Matrices | None, input_gradient: bool, interpret: bool):
    layers = [_weights(layer) for layer in (*encoder.points, encoder.wide)]
    pooled = pooled_layers(input_gradient, interpret, x, matrices, *layers)
    for layer in encoder.cloud:
        pooled = jax.nn.relu(layer(pooled))
    return encoder.last(pooled)


def _matrices(flat: Float[Array, "cloud entry"], width: int) -> Matrices:
    return flat.T.reshape(width, width, -1)


def _weights(layer) -> Dense:
    return layer.kernel, layer.bias


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def point_layers(
    input_gradient: bool, interpret: bool, x: Points, matrices: Matrices | None, first: Dense, second: Dense
) -> tuple[Points, Points]:
    """h = relu(relu(x T V + b) W + c), for every point; twice, since it is used twice and both gradients are added
    where they are needed, not in memory."""
    h = layers_alone(x, matrices, first, second, interpret=interpret)
    return h, h


def _layers_forward(input_gradient, interpret, x, matrices, first, second):
    u, a, h = layers_forward(x, matrices, first, second, interpret=interpret)
    return (h, h), ((x, matrices, first, second, u, a), h)


def _layers_backward(input_gradient, interpret, residuals, gradients):
    layers, h = residuals
    a, second = layers[-1], layers[3]
    d_a, d_second = layer_backward(a, second[0], gradients, on=h, through_relu=True, interpret=interpret)
    return *_pull_through_first(input_gradient, interpret, layers, d_a), d_second


point_layers.defvjp(_layers_forward, _layers_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def pooled_layers(
    input_gradient: bool,
    interpret: bool,
    x: Points,
    matrices: Matrices | None,
    first: Dense,
    second: Dense,
    wide: Dense,
) -> Pooled:
    """max_p relu(h_p K + d) with the h of `point_layers`."""
    h = layers_alone(x, matrices, first, second, interpret=interpret)
    return jax.nn.relu(winners(h, wide[0], interpret=interpret)[0] + wide[1])


def _pooled_forward(input_gradient, interpret, x, matrices, first, second, wide):
    u, a, h = layers_forward(x, matrices, first, second, interpret=interpret)
    best, winner = winners(h, wide[0], interpret=interpret)
    out = jax.nn.relu(best + wide[1])
    return out, ((x, matrices, first, second, u, a), h, wide[0], winner, out)


def _pooled_backward(input_gradient, interpret, residuals, cotangent):
    layers, h, kernel, winner, out = residuals
    a, second = layers[-1], layers[3]
    g = jnp.where(out > 0, cotangent, 0.0)
    d_h, d_kernel = pull_back(h, kernel, winner, g, interpret=interpret)
    d_a, d_second = sixteen_channels_backward(a, second[0], d_h, interpret=interpret)
    return *_pull_through_first(input_gradient, interpret, layers, d_a), d_second, (d_kernel, g.sum(axis=0))


pooled_layers.defvjp(_pooled_forward, _pooled_backward)


def _pull_through_first(input_gradient, interpret, layers, d_a):
    """Gradients of x, T and the first layer, from a ∂a that is zero where a is."""
    x, matrices, first, _, u, _ = layers
    needed = matrices is not None or input_gradient
    d_x, d_first = layer_backward(u, first[0], (d_a,), input_gradient=needed, interpret=interpret)
    d_matrices = None
    if matrices is not None:
        assert d_x is not None
        d_x, d_matrices = turn_backward(x, matrices, d_x, input_gradient=input_gradient, interpret=interpret)
    return jnp.zeros_like(x) if d_x is None else d_x, d_matrices, d_first
