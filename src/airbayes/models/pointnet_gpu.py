"""The PointNet of `pointnet` on NVIDIA GPUs: the same function of the same parameters, by the kernels of
`point_layers_gpu` and `wide_pool_gpu`, with the channels of points first. Gradients of the clouds themselves are not
computed: they are taken for zero."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from airbayes.models.point_layers_gpu import (
    Dense,
    Matrices,
    Points,
    layer_backward,
    layers_forward,
    matrix_gradient,
    turn,
)
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
    x = point_layers(False, interpret, x, shape, *map(_weights, net.shared))
    shape = _matrices(_encode(net.tnet_feature, x, None, True, interpret), 8)
    return _encode(net.head, x, shape, True, interpret)


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
) -> Points:
    """h = relu(relu(x T V + b) W + c), for every point."""
    return _layers_forward(input_gradient, interpret, x, matrices, first, second)[0]


def _layers_forward(input_gradient, interpret, x, matrices, first, second):
    u, a, h = layers_forward(x, matrices, first, second, interpret=interpret)
    return h, ((x, matrices, first, second, u, a), h)


def _layers_backward(input_gradient, interpret, residuals, d_h):
    layers, h = residuals
    return _pull_through_layers(input_gradient, interpret, layers, jnp.where(h > 0, d_h, 0.0))


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
    return _pooled_forward(input_gradient, interpret, x, matrices, first, second, wide)[0]


def _pooled_forward(input_gradient, interpret, x, matrices, first, second, wide):
    u, a, h = layers_forward(x, matrices, first, second, interpret=interpret)
    best, winner = winners(h, wide[0], interpret=interpret)
    out = jax.nn.relu(best + wide[1])
    return out, ((x, matrices, first, second, u, a), h, wide[0], winner, out)


def _pooled_backward(input_gradient, interpret, residuals, cotangent):
    layers, h, kernel, winner, out = residuals
    g = jnp.where(out > 0, cotangent, 0.0)
    d_h, d_kernel = pull_back(h, kernel, winner, g, interpret=interpret)
    return *_pull_through_layers(input_gradient, interpret, layers, d_h), (d_kernel, g.sum(axis=0))


pooled_layers.defvjp(_pooled_forward, _pooled_backward)


def _pull_through_layers(input_gradient, interpret, layers, d_h):
    """Gradients of x, T and both layers, from a ∂h that is zero where h is."""
    x, matrices, first, second, u, a = layers
    d_a, d_second = layer_backward(a, second[0], d_h, through_relu=True, interpret=interpret)
    d_x, d_first = layer_backward(u, first[0], d_a, through_relu=False, interpret=interpret)
    d_matrices = None
    if matrices is not None:
        d_matrices = matrix_gradient(x, d_x, interpret=interpret)
        d_x = turn(d_x, matrices.swapaxes(0, 1), interpret=interpret) if input_gradient else d_x
    return d_x if input_gradient else jnp.zeros_like(x), d_matrices, d_first, d_second
