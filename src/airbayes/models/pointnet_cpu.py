"""The PointNet of `pointnet` on a CPU: the same function of the same parameters, computed by `native/pointnet.h`.

A gradient is one pass, forwards and back; so log p(y | x, θ) as a whole has a gradient of its own, which needs no
scores from a pass before. Where there is no C++ compiler, and for gradients of the clouds, the JAX code given as
`scores` takes its place, one network after the other: a network's arrays fit the cache, those of many do not.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap, sequential_vmap
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from airbayes import native
from airbayes.models.base import pick_labels

Scores = Callable[[Float[Array, " param"], Float[Array, "cloud point 3"]], Float[Array, "cloud cls"]]


class OnCPU(NamedTuple):
    """Both functions of one network; a vmap makes it many."""

    scores: Scores
    log_likelihood: Callable  # (θ, clouds, targets) → log p(y | x, θ) of every cloud


def on_cpu(scores: Scores, num_classes: int) -> OnCPU:
    """`scores`, compiled by XLA, as the C++ code computes it where that is there, with gradients of its own."""

    def log_likelihood(theta, clouds, targets):
        return pick_labels(jax.nn.log_softmax(fast_scores(theta, clouds)), targets)

    def plain_log_likelihood(theta, clouds, targets):
        return pick_labels(jax.nn.log_softmax(scores(theta, clouds)), targets)

    def native_scores(theta, clouds):
        return call("airbayes_pointnet_scores", (clouds.shape[0], num_classes), theta, clouds)

    def native_pull_scores(d, theta, clouds):
        return call("airbayes_pointnet_pull_scores", theta.shape, theta, clouds, d)

    def native_pull_log_likelihood(d, theta, clouds, targets):
        return call("airbayes_pointnet_pull_log_likelihood", theta.shape, theta, clouds, targets.astype(jnp.int32), d)

    fast_scores = differentiable(native_scores, native_pull_scores, scores)
    return OnCPU(fast_scores, differentiable(log_likelihood, native_pull_log_likelihood, plain_log_likelihood))


def differentiable(fast: Callable, fast_pull: Callable, plain: Callable) -> Callable:
    """f(θ, clouds, ...) with ∂θ = fast_pull(d, θ, clouds, ...), where C++ can; else all of it from `plain`."""

    @sequential_vmap
    def plain_pull(d, *args):
        return jax.vjp(lambda *of: plain(*of, *args[2:]), *args[:2])[1](d)

    @jax.custom_vjp
    def f(*args):
        return fast(*args) if fits(*args[:2]) else plain(*args)

    def forward(*args):
        values = [each.value for each in args]
        clouds = args[1].perturbed  # the structure of the residuals remembers it
        return f(*values), (values, () if clouds else None)

    def backward(residuals, d):
        args, clouds = residuals
        if isinstance(d, SymbolicZero):
            return jnp.zeros_like(args[0]), *[None] * len(args[1:])
        if clouds is None and fits(*args[:2]):
            return fast_pull(d, *args), *[None] * len(args[1:])
        return *plain_pull(d, *args), *[None] * len(args[2:])

    f.defvjp(forward, backward, symbolic_zeros=True)
    return f


def fits(theta: Array, clouds: Array) -> bool:
    """Is this for the C++ code?"""
    return clouds.size > 0 and theta.dtype == clouds.dtype == jnp.float32 and native.available()


def call(name: str, shape: tuple[int, ...], *args: Array) -> Array:
    """A C++ function of one network. A vmap adds rows to its arrays, one for every network.

    Arrays that networks share have fewer rows: row r of the result takes row r modulo their number.
    """

    @custom_vmap
    def rows(*args):
        networks = max(len(each) for each in args)
        return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct((networks, *shape), jnp.float32))(*args)

    @rows.def_vmap
    def more_rows(size: int, is_batched: list[bool], *args: Array):
        inner = max(each.shape[batched] for each, batched in zip(args, is_batched, strict=True))

        def flat(each: Array, batched: bool) -> Array:
            if not batched:
                return each
            # What differs between blocks of rows is there for every row of them.
            repeats = inner // each.shape[1]
            full = jnp.tile(each, (1, repeats) + (1,) * (each.ndim - 2)) if repeats > 1 else each
            return full.reshape(size * inner, *each.shape[2:])

        args = tuple(flat(each, batched) for each, batched in zip(args, is_batched, strict=True))
        return rows(*args).reshape(size, inner, *shape), True

    return rows(*(each[None] for each in args))[0]
