"""The PointNet of `pointnet` on a CPU: the same function of the same parameters, with gradients through the winners.

Three things make it fast there:

- The wide layers (`winners_cpu`), nine tenths of the arithmetic, store no activation of a point.
- Backwards, the network is evaluated again with the winners known and differentiated as it stands: to recompute the
  narrow layers is cheaper than to bring them back from memory.
- Agents and cells take turns (`in_turn`) while the arrays of one fill the cache, instead of all layer by layer.

A transform and the layer after it are one product, relu(x (T W) + b), with a matrix per cloud.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from airbayes.models.max_pool import PRECISION
from airbayes.models.winners_cpu import Pooled, Winner, pool_and_winners, pool_at_winners

if TYPE_CHECKING:
    from airbayes.models.pointnet import CloudEncoder, Dense, PointNet

TOGETHER = 1 << 15  # points; batches up to this size are computed at once, larger ones in turn

Theta = Float[Array, " param"]
Points = Float[Array, "cloud point feature"]
Kernels = Float[Array, "cloud feature channel"]
AnyKernel = Float[Array, "*per_cloud feature channel"]  # one for all clouds, or one for each
Products = Float[Array, "cloud point channel"]
Scores = Float[Array, "cloud cls"]
Found = list[tuple[Pooled, Winner]]  # of the three wide layers


def evaluate(net: PointNet, clouds: Points, pool: Callable, product: Callable) -> Scores:
    """The network; `pool` does its wide layers and `product` multiplies points by kernels."""

    def narrow(layers: list[Dense], x: Points) -> Products:
        for layer in layers:
            x = jax.nn.relu(product(x, layer.kernel) + layer.bias)
        return x

    def turned(layer: Dense, x: Points, matrices: Float[Array, "cloud entry"]) -> Products:
        matrices = matrices.reshape(-1, x.shape[-1], x.shape[-1])
        return jax.nn.relu(product(x, jnp.matmul(matrices, layer.kernel, precision=PRECISION)) + layer.bias)

    def encode(encoder: CloudEncoder, x: Points) -> Float[Array, "cloud out"]:
        h = pool(x, encoder.wide.kernel, encoder.wide.bias)
        for layer in encoder.cloud:
            h = jax.nn.relu(layer(h))
        return encoder.last(h)

    matrices = encode(net.tnet_input, narrow(net.tnet_input.points, clouds))
    x = narrow(net.shared[1:], turned(net.shared[0], clouds, matrices))
    matrices = encode(net.tnet_feature, narrow(net.tnet_feature.points, x))
    return encode(net.head, narrow(net.head.points[1:], turned(net.head.points[0], x, matrices)))


def written_out(x: Points, kernel: AnyKernel) -> Products:
    """x K as a sum over features, which the compiler fuses with the layers before and after. Best where nothing but
    the result is needed; with every layer's result needed, each would be computed several times."""
    kernel = kernel[:, None] if kernel.ndim == 3 else kernel
    return sum((x[:, :, f, None] * kernel[..., f, :] for f in range(1, x.shape[-1])), x[:, :, :1] * kernel[..., 0, :])


def multiplied(x: Points, kernel: AnyKernel) -> Products:
    """x K, computed once and kept."""
    if kernel.ndim == 3:
        return product_per_cloud(x, kernel)
    rows = jnp.matmul(x.reshape(-1, x.shape[-1]), kernel, precision=PRECISION)  # one product, also backwards
    return rows.reshape(*x.shape[:-1], -1)


@jax.custom_vjp
def product_per_cloud(x: Points, kernels: Kernels) -> Products:
    """x_n K_n. Hundreds of products of 8×8 matrices cost more in calls than in sums, so its gradient has none."""
    return jnp.matmul(x, kernels, precision=PRECISION)


def _product_forward(x, kernels):
    return product_per_cloud(x, kernels), (x, kernels)


def _product_backward(residuals, d):
    x, kernels = residuals
    d_x = sum(d[:, :, c, None] * kernels[:, None, :, c] for c in range(d.shape[-1]))
    return d_x, jnp.sum(x[:, :, :, None] * d[:, :, None, :], axis=1)


product_per_cloud.defvjp(_product_forward, _product_backward)


def pointnet_on_cpu(net: PointNet, clouds: Points) -> Scores:
    """Class scores; equal to `net(dense_max_pool_plain, clouds)`, and so are the gradients of the parameters."""
    # Flat, since a loop over agents is slow to take its own part of each of 40 small arrays.
    theta, unravel = ravel_pytree(net)
    return _scores(unravel, theta, clouds)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _scores(unravel: Callable, theta: Theta, clouds: Points) -> Scores:
    return in_turn(functools.partial(_scores_and_winners, unravel))(theta, clouds)[0]


def _forward(unravel, theta, clouds):
    scores, found = in_turn(functools.partial(_scores_and_winners, unravel))(theta, clouds)
    return scores, (theta, clouds, found)


def _backward(unravel, residuals, cotangent):
    return in_turn(functools.partial(_gradients, unravel))(*residuals, cotangent)


_scores.defvjp(_forward, _backward)


@functools.partial(jax.jit, static_argnums=0, inline=True)  # traced once; else anew for every level of vmap and grad
def _scores_and_winners(unravel: Callable, theta: Theta, clouds: Points) -> tuple[Scores, Found]:
    found = []

    def pool(x, kernel, bias):
        found.append(pool_and_winners(x, kernel, bias))
        return found[-1][0]

    return evaluate(unravel(theta), clouds, pool, written_out), found


@functools.partial(jax.jit, static_argnums=0, inline=True)
def _gradients(
    unravel: Callable, theta: Theta, clouds: Points, found: Found, cotangent: Scores
) -> tuple[Theta, Points]:
    """The network at known winners, pulled back."""

    def scores(theta, clouds):
        known = iter(found)
        return evaluate(unravel(theta), clouds, lambda *layer: pool_at_winners(*layer, *next(known)), multiplied)

    return jax.vjp(scores, theta, clouds)[1](cotangent)


def in_turn(f: Callable) -> Callable:
    """f(θ, clouds, …), which a vmap widens while its batch is small, and calls once for each member when it is not."""
    called = custom_vmap(f)

    @called.def_vmap
    def batched(size: int, is_batched: PyTree, *args: PyTree):
        full = jax.tree.map(lambda a, b: a if b else jnp.broadcast_to(a, (size, *a.shape)), args, tuple(is_batched))
        if full[1].size // full[1].shape[-1] <= TOGETHER:
            out = in_turn(jax.vmap(f))(*full)
        else:
            out = lax.map(lambda member: called(*member), full)
        return out, jax.tree.map(lambda _: True, out)

    return called
