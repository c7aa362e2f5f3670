"""The PointNet of `pointnet` on a CPU: the same function of the same parameters, with gradients through the winners.

What makes it fast there, to run and to compile:

- The wide layers (`winners_cpu`), nine tenths of the arithmetic, store no activation of a point.
- A gradient is one pass, forwards and back, while the arrays of a network are in the cache; so log p(y | x, θ) as a
  whole has a gradient of its own, which needs no scores from a pass before.
- A vmap over agents, chains and cells only lengthens the axis over networks that every array here has (`stacked`).
  Networks take turns, as many at a time as fit the cache.

A transform and the layer after it are one product, relu(x (T K) + b), with a matrix per cloud.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int

from airbayes.models.encoder_cpu import WIDTHS, Layers, Seen, encode, pull_encoder
from airbayes.models.layers_cpu import (
    Activations,
    CloudKernels,
    Layer,
    Points,
    Rows,
    affine,
    cloud_layer,
    gate,
    point_layer,
    product,
    pull_affine,
    pull_cloud_kernels,
    pull_point_layer,
    pull_product,
    rows_of,
    sum_rows,
)

TOGETHER = 1 << 15  # points; networks with up to so many in all are computed at once, the others in turn

Thetas = Float[Array, "net param"]
Codes = Float[Array, "net cloud 32"]  # what an encoder makes of a cloud, before its last layer
Scores = Float[Array, "net cloud cls"]


class Encoder(NamedTuple):
    first: Layer  # its input→8
    middle: Layers
    last: Layer  # 32→its output


class Net(NamedTuple):
    """The parameters, in the order in which θ holds them."""

    tnet_input: Encoder
    shared: tuple[Layer, Layer]
    tnet_feature: Encoder
    head: Encoder


class Passed(NamedTuple):
    """What the gradient needs of a forward pass."""

    tnet_input: Seen
    turned: Activations  # after the first shared layer
    x: Activations  # after the second
    tnet_feature: Seen
    head: Seen


def cut(theta: Thetas) -> Net:
    """The tensors of θ; the number of classes is what is left for the last of them."""
    nets, size = theta.shape
    done = 0

    def take(*shape: int) -> Array:
        nonlocal done
        begin, done = done, done + functools.reduce(int.__mul__, shape)
        return lax.slice_in_dim(theta, begin, done, axis=1).reshape(nets, *shape)

    def layer(features: int, channels: int) -> Layer:
        return Layer(take(features, channels), take(channels))

    def encoder(features: int, out: int | None = None) -> Encoder:
        first, middle = layer(features, WIDTHS[0]), tuple(layer(*pair) for pair in pairwise(WIDTHS))
        return Encoder(first, middle, layer(WIDTHS[-1], out or (size - done) // (WIDTHS[-1] + 1)))

    return Net(encoder(3, 9), (layer(3, 8), layer(8, 8)), encoder(8, 64), encoder(8))


def joined(net: Net) -> Thetas:
    tensors = jax.tree.leaves(net)
    return lax.concatenate([each.reshape(len(each), -1) for each in tensors], dimension=1)


def forward(net: Net, clouds: Points) -> tuple[Scores, Passed]:
    seen_input = encode(net.tnet_input.middle, point_layer(net.tnet_input.first, clouds))
    turned = turn(net.tnet_input.last, net.shared[0], seen_input.z, clouds)
    x = point_layer(net.shared[1], turned)
    seen_feature = encode(net.tnet_feature.middle, point_layer(net.tnet_feature.first, x))
    seen_head = encode(net.head.middle, turn(net.tnet_feature.last, net.head.first, seen_feature.z, x))
    return affine(net.head.last, seen_head.z), Passed(seen_input, turned, x, seen_feature, seen_head)


def backward(net: Net, clouds: Points, passed: Passed, d_scores: Scores) -> tuple[Net, Points]:
    """The gradients of the parameters and of the clouds."""
    tnet_input, turned, x, tnet_feature, head = passed
    d_z, d_head_last = pull_affine(net.head.last, head.z, d_scores)
    d_y, d_head = pull_encoder(net.head.middle, head, d_z)
    d_x, d_z, d_feature_last, d_head_first = pull_turn(
        net.tnet_feature.last, net.head.first, x, tnet_feature.z, head.y, d_y
    )
    d_y, d_feature = pull_encoder(net.tnet_feature.middle, tnet_feature, d_z)
    d_more, d_feature_first = pull_point_layer(net.tnet_feature.first, x, tnet_feature.y, d_y)
    d_turned, d_shared = pull_point_layer(net.shared[1], turned, x, d_x + d_more)
    d_clouds, d_z, d_input_last, d_turned_layer = pull_turn(
        net.tnet_input.last, net.shared[0], clouds, tnet_input.z, turned, d_turned
    )
    d_y, d_input = pull_encoder(net.tnet_input.middle, tnet_input, d_z)
    d_more, d_input_first = pull_point_layer(net.tnet_input.first, clouds, tnet_input.y, d_y)
    gradient = Net(
        Encoder(d_input_first, d_input, d_input_last),
        (d_turned_layer, d_shared),
        Encoder(d_feature_first, d_feature, d_feature_last),
        Encoder(d_head_first, d_head, d_head_last),
    )
    return gradient, d_clouds + d_more


def turn(last: Layer, layer: Layer, z: Codes, x: Points) -> Activations:
    """relu(x T K + b), where T = z K' + b' is each cloud's matrix."""
    return cloud_layer(turned_kernels(last, layer, z)[1], layer.bias, x)


def turned_kernels(last: Layer, layer: Layer, z: Codes) -> tuple[Rows, CloudKernels]:
    """T of every cloud, its rows below each other, and T K."""
    width = layer.kernel.shape[1]
    rows = affine(last, z).reshape(z.shape[0], -1, width)
    return rows, product(rows, layer.kernel).reshape(*z.shape[:2], width, -1)


def pull_turn(
    last: Layer, layer: Layer, x: Points, z: Codes, out: Activations, d_out: Activations
) -> tuple[Points, Codes, Layer, Layer]:
    """∂x, ∂z, and the gradients of both layers, of out = relu(x T K + b)."""
    rows, kernels = turned_kernels(last, layer, z)
    d = gate(out, d_out)
    d_x, d_kernels = pull_cloud_kernels(x, kernels, d)
    d_rows, d_kernel = pull_product(rows, layer.kernel, d_kernels.reshape(*rows.shape[:2], -1))
    d_z, d_last = pull_affine(last, z, d_rows.reshape(*z.shape[:2], -1))
    return d_x, d_z, d_last, Layer(d_kernel, sum_rows(rows_of(d)))


def scores_of(theta: Thetas, clouds: Points) -> Scores:
    return forward(cut(theta), clouds)[0]


def pull_scores(theta: Thetas, clouds: Points, d_scores: Scores) -> tuple[Thetas, Points]:
    net = cut(theta)
    gradient, d_clouds = backward(net, clouds, forward(net, clouds)[1], d_scores)
    return joined(gradient), d_clouds


def pull_log_likelihood(
    theta: Thetas, clouds: Points, targets: Int[Array, "net cloud"], d: Float[Array, "net cloud"]
) -> tuple[Thetas, Points]:
    """From log p(y) = s_y − log Σ_c exp s_c,  ∂s_c = 1[c = y] − p(c)."""
    net = cut(theta)
    scores, passed = forward(net, clouds)
    classes = lax.broadcasted_iota(targets.dtype, scores.shape, 2)
    d_scores = d[..., None] * ((targets[..., None] == classes) - jax.nn.softmax(scores))
    gradient, d_clouds = backward(net, clouds, passed, d_scores)
    return joined(gradient), d_clouds


def stacked(f: Callable) -> Callable:
    """f of one network from f of a stack of them; a vmap makes the stack higher."""
    called = custom_vmap(functools.partial(in_turn, f))

    @called.def_vmap
    def batched(size: int, is_batched: list[bool], *args: Array):
        full = (a if b else jnp.broadcast_to(a, (size, *a.shape)) for a, b in zip(args, is_batched, strict=True))
        out = called(*(a.reshape(-1, *a.shape[2:]) for a in full))
        out = jax.tree.map(lambda a: a.reshape(size, -1, *a.shape[1:]), out)
        return out, jax.tree.map(lambda _: True, out)

    return lambda *args: jax.tree.map(lambda a: a[0], called(*(a[None] for a in args)))


@functools.partial(jax.jit, static_argnums=0)
def in_turn(f: Callable, *args: Array):
    """f of so many networks at a time as fit."""
    nets, clouds, points, _ = args[1].shape
    fit = max(1, TOGETHER // (clouds * points))
    some = max(size for size in range(1, nets + 1) if nets % size == 0 and size <= fit)
    if some == nets:
        return f(*args)
    out = lax.map(lambda each: f(*each), [a.reshape(-1, some, *a.shape[1:]) for a in args])
    return jax.tree.map(lambda a: a.reshape(nets, *a.shape[2:]), out)


@jax.custom_vjp
def pointnet_on_cpu(theta: Float[Array, " param"], clouds: Float[Array, "cloud point 3"]) -> Float[Array, "cloud cls"]:
    """Class scores; equal to `net(dense_max_pool_plain, clouds)`, and so are the gradients of the parameters."""
    return stacked(scores_of)(theta, clouds)


pointnet_on_cpu.defvjp(
    lambda theta, clouds: (pointnet_on_cpu(theta, clouds), (theta, clouds)),
    lambda residuals, d: stacked(pull_scores)(*residuals, d),
)


@jax.custom_vjp
def log_likelihood_on_cpu(
    theta: Float[Array, " param"], clouds: Float[Array, "cloud point 3"], targets: Int[Array, " cloud"]
) -> Float[Array, " cloud"]:
    """log p(y | x, θ) of every cloud."""
    log_probs = jax.nn.log_softmax(pointnet_on_cpu(theta, clouds))
    return jnp.take_along_axis(log_probs, targets[:, None], axis=1)[:, 0]


log_likelihood_on_cpu.defvjp(
    lambda *args: (log_likelihood_on_cpu(*args), args),
    lambda residuals, d: (*stacked(pull_log_likelihood)(*residuals, d), None),
)
