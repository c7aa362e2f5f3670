"""A dense layer, a ReLU and a maximum over the points of a cloud, as one function.

    max_p relu(x_p W + b) = relu(max_p(x_p W) + b)

so only the winner p*(c) of each channel c carries gradient, and no activation [point, channel] is kept:

    G_pc = g_c 1[p = p*(c)] 1[out_c > 0] ,   ∂x = G Wᵀ ,   ∂W = xᵀ G ,   ∂b_c = g_c 1[out_c > 0] .

Where points tie exactly (clouds are resampled with replacement, so they do) the plain form shares g_c equally among
them and this one gives it all to the first. Tied copies of one point have equal x, so ∂W and ∂b are the same, and
so is every parameter gradient before this layer: only ∂x differs, and its sum over the copies does not.

On a CPU the scores [cloud, point, channel] are made and used a few clouds at a time, while they are in the cache; an
NVIDIA GPU has kernels of its own (`max_pool_gpu`); other devices take all clouds at once.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from airbayes.models import max_pool_gpu

# TF32, the default for float32 on recent GPUs, keeps 10 bits: scores and gradients would be off by 1e-3, and the
# agreement with the plain form (1e-5) would be lost. Full precision is asked for; a CPU always gives it.
PRECISION = lax.Precision.HIGHEST
CHUNK = 24  # clouds at a time on a CPU; 8 to 48 are about as good
LEAST_CHUNK = 4  # below this the loop costs more than the cache saves

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
    # Only the branch of the device at hand is compiled.
    on_gpu = max_pool_gpu.winners if max_pool_gpu.fits(x, kernel) else _winners
    best, winner = lax.platform_dependent(x, kernel, cpu=_chunked_winners, cuda=on_gpu, default=_winners)
    out = jax.nn.relu(best + bias)
    return out, (x, kernel, winner, out)


def _backward(residuals, cotangent):
    x, kernel, winner, out = residuals
    g = jnp.where(out > 0, cotangent, 0.0)
    on_gpu = max_pool_gpu.pull_back if max_pool_gpu.fits(x, kernel) else _pull_back
    branches = {"cpu": _chunked_pull_back, "cuda": on_gpu, "default": _pull_back}
    d_x, d_kernel = lax.platform_dependent(x, kernel, winner, g, **branches)
    return d_x, d_kernel, g.sum(axis=0)


_pool.defvjp(_forward, _backward)


def _winners(x: Clouds, kernel: Kernel) -> tuple[Pooled, Winner]:
    """The largest score of each channel, and the first point that has it."""
    scores = jnp.matmul(x, kernel, precision=PRECISION)
    best = jnp.max(scores, axis=-2, keepdims=True)
    # Two plain reductions, which XLA vectorises on a CPU; argmax it does not. Exact, unlike an index packed into
    # the low bits of the score, which mistakes near ties (2⁻¹⁷) and moves gradients by more than 1e-5.
    points = jnp.arange(x.shape[-2], dtype=jnp.int32)[:, None]
    winner = jnp.min(jnp.where(scores == best, points, x.shape[-2]), axis=-2)
    return best[:, 0], winner


def _pull_back(x: Clouds, kernel: Kernel, winner: Winner, g: Pooled) -> tuple[Clouds, Kernel]:
    """∂x = G Wᵀ and ∂W = xᵀ G, as masked products: no gather and no scatter, so the order of sums is fixed."""
    points = jnp.arange(x.shape[-2], dtype=jnp.int32)[:, None]
    spread = jnp.where(points == winner[:, None, :], g[:, None, :], 0.0)
    d_kernel = jnp.einsum("npf,npc->fc", x, spread, precision=PRECISION)
    return jnp.matmul(spread, kernel.T, precision=PRECISION), d_kernel


def chunk_size(clouds: int) -> int:
    """The largest divisor of the number of clouds that is at most CHUNK; all of them when there is no good one."""
    best = max((size for size in range(1, min(CHUNK, clouds) + 1) if clouds % size == 0), default=clouds)
    return best if best >= LEAST_CHUNK else clouds


# Slices of whole arrays rather than lax.map: under vmap over agents a map would first transpose its inputs.
def _chunked_winners(x: Clouds, kernel: Kernel) -> tuple[Pooled, Winner]:
    clouds, channels = x.shape[0], kernel.shape[1]
    size = chunk_size(clouds)
    if size == clouds:
        return _winners(x, kernel)

    def chunk(i, found):
        part = _winners(lax.dynamic_slice_in_dim(x, i * size, size), kernel)
        return jax.tree.map(lambda whole, new: lax.dynamic_update_slice_in_dim(whole, new, i * size, 0), found, part)

    start = jnp.zeros((clouds, channels), x.dtype), jnp.zeros((clouds, channels), jnp.int32)
    return lax.fori_loop(0, clouds // size, chunk, start)


def _chunked_pull_back(x: Clouds, kernel: Kernel, winner: Winner, g: Pooled) -> tuple[Clouds, Kernel]:
    clouds = x.shape[0]
    size = chunk_size(clouds)
    if size == clouds:
        return _pull_back(x, kernel, winner, g)

    def chunk(i, gradients):
        part_x, part_winner, part_g = (lax.dynamic_slice_in_dim(a, i * size, size) for a in (x, winner, g))
        new_x, new_kernel = _pull_back(part_x, kernel, part_winner, part_g)
        d_x, d_kernel = gradients
        return lax.dynamic_update_slice_in_dim(d_x, new_x, i * size, 0), d_kernel + new_kernel

    return lax.fori_loop(0, clouds // size, chunk, (jnp.zeros_like(x), jnp.zeros_like(kernel)))
