"""A dense layer, a ReLU and a maximum over the points of a cloud, as one function.

    max_p relu(x_p W + b) = relu(max_p(x_p W) + b)

so only the winner p*(c) of each channel c carries gradient, and no activation [point, channel] is kept:

    G_pc = g_c 1[p = p*(c)] 1[out_c > 0] ,   ∂x = G Wᵀ ,   ∂W = xᵀ G ,   ∂b_c = g_c 1[out_c > 0] .

Where points tie exactly (clouds are resampled with replacement, so they do) the plain form shares g_c equally among
them and this one gives it all to the first. Tied copies of one point have equal x, so ∂W and ∂b are the same, and
so is every parameter gradient before this layer: only ∂x differs, and its sum over the copies does not.

CPUs (`native/encoder.h`) and NVIDIA GPUs (`wide_pool_gpu`) have forms of their own; this one serves any other device,
and CPUs without a C++ compiler.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

# TF32, the default for float32 on recent GPUs, keeps 10 bits: scores and gradients would be off by 1e-3, and the
# agreement with the plain form (1e-5) would be lost. Full precision is asked for; a CPU always gives it.
PRECISION = lax.Precision.HIGHEST

Clouds = Float[Array, "cloud point feature"]
Kernel = Float[Array, "feature channel"]
Pooled = Float[Array, "cloud channel"]
Winner = Int[Array, "cloud channel"]


def dense_max_pool_plain(
    x: Float[Array, "*batch point feature"], kernel: Kernel, bias: Float[Array, " channel"]
) -> Float[Array, "*batch channel"]:
    """max_p relu(x_p W + b), as it is written; the reference."""
    return jnp.max(jax.nn.relu(jnp.matmul(x, kernel, precision=PRECISION) + bias), axis=-2)


def dense_max_pool(
    x: Float[Array, "*batch point feature"], kernel: Kernel, bias: Float[Array, " channel"]
) -> Float[Array, "*batch channel"]:
    """max_p relu(x_p W + b), with a gradient through the winning points only."""
    pooled = _pool(x.reshape(-1, *x.shape[-2:]), kernel, bias)
    return pooled.reshape(*x.shape[:-2], kernel.shape[1])


@jax.custom_vjp
def _pool(x: Clouds, kernel: Kernel, bias: Float[Array, " channel"]) -> Pooled:
    return _forward(x, kernel, bias)[0]


def _forward(x, kernel, bias):
    best, winner = _winners(x, kernel)
    out = jax.nn.relu(best + bias)
    return out, (x, kernel, winner, out)


def _backward(residuals, cotangent):
    x, kernel, winner, out = residuals
    g = jnp.where(out > 0, cotangent, 0.0)
    return *_pull_back(x, kernel, winner, g), g.sum(axis=0)


_pool.defvjp(_forward, _backward)


def _winners(x: Clouds, kernel: Kernel) -> tuple[Pooled, Winner]:
    """The largest score of each channel, and the first point that has it."""
    scores = jnp.matmul(x, kernel, precision=PRECISION)
    best = jnp.max(scores, axis=-2, keepdims=True)
    # Exact, unlike an index packed into the low bits of the score, which mistakes near ties (2⁻¹⁷) and moves
    # gradients by more than 1e-5.
    points = jnp.arange(x.shape[-2], dtype=jnp.int32)[:, None]
    winner = jnp.min(jnp.where(scores == best, points, x.shape[-2]), axis=-2)
    return best[:, 0], winner


def _pull_back(x: Clouds, kernel: Kernel, winner: Winner, g: Pooled) -> tuple[Clouds, Kernel]:
    """∂x = G Wᵀ and ∂W = xᵀ G, as masked products: no gather and no scatter, so the order of sums is fixed."""
    points = jnp.arange(x.shape[-2], dtype=jnp.int32)[:, None]
    spread = jnp.where(points == winner[:, None, :], g[:, None, :], 0.0)
    d_kernel = jnp.einsum("npf,npc->fc", x, spread, precision=PRECISION)
    return jnp.matmul(spread, kernel.T, precision=PRECISION), d_kernel
