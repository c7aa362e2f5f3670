"""The two steps of `max_pool` as kernels for NVIDIA GPUs, written with Pallas for Triton.

The scores [point, channel] of a cloud live in the registers of one block of threads and never reach the memory: the
forward kernel writes a maximum and a winner per channel, the backward kernel makes the masked gradient on the fly.

Products are three TF32 products (relative error 1e-7) on the tensor cores. The sum over clouds has a fixed order, so
results repeat bit for bit.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

CLOUDS_PER_PROGRAM = 8  # of the backward kernel, which sums the weight gradient over them in registers
MOST_SCORES = 2**14  # of one cloud: 128 points and channels
WARPS = 4  # 2 and 8 were up to twice as slow on an H200

Clouds = Float[Array, "cloud point feature"]
Kernel = Float[Array, "feature channel"]
Pooled = Float[Array, "cloud channel"]
Winner = Int[Array, "cloud channel"]


def fits(x: Clouds, kernel: Kernel) -> bool:
    """Triton's blocks have sizes that are powers of two, of at least 16 in a product, and must fit the registers."""
    sizes = (*x.shape[1:], kernel.shape[1])
    return all(size >= 16 and size & (size - 1) == 0 for size in sizes) and x.shape[1] * kernel.shape[1] <= MOST_SCORES


def winners(x: Clouds, kernel: Kernel, *, interpret: bool = False) -> tuple[Pooled, Winner]:
    """The largest score of each channel, and the first point that has it."""
    from jax.experimental import pallas as pl

    clouds, points, features = x.shape
    channels = kernel.shape[1]

    def program(x_ref, transposed_ref, best_ref, winner_ref):
        # Channels first: a maximum over the last axis stays within a warp.
        scores = _product(transposed_ref[...], x_ref[0].T, interpret)
        best = jnp.max(scores, axis=1)
        place = lax.broadcasted_iota(jnp.int32, scores.shape, 1)
        best_ref[0] = best
        winner_ref[0] = jnp.min(jnp.where(scores == best[:, None], place, points), axis=1)

    found = pl.pallas_call(
        program,
        grid=(clouds,),
        in_specs=[_rows(1, points, features), pl.BlockSpec((channels, features), lambda i: (0, 0))],
        out_specs=[_rows(1, channels), _rows(1, channels)],
        out_shape=[
            jax.ShapeDtypeStruct((clouds, channels), jnp.float32),
            jax.ShapeDtypeStruct((clouds, channels), jnp.int32),
        ],
        interpret=interpret,
        **_compiler(interpret),
    )(x, kernel.T)
    return found[0], found[1]


def pull_back(
    x: Clouds, kernel: Kernel, winner: Winner, g: Pooled, *, interpret: bool = False
) -> tuple[Clouds, Kernel]:
    """∂x = G Wᵀ and ∂W = xᵀ G with G_pc = g_c 1[p = p*(c)]."""
    from jax.experimental import pallas as pl

    clouds, points, features = x.shape
    channels = kernel.shape[1]
    group = max(size for size in range(1, CLOUDS_PER_PROGRAM + 1) if clouds % size == 0)

    def program(x_ref, transposed_ref, winner_ref, g_ref, d_x_ref, d_kernel_ref):
        transposed = transposed_ref[...]
        place = lax.broadcasted_iota(jnp.int32, (points, channels), 0)

        def one_cloud(i, total):
            spread = jnp.where(place == winner_ref[i][None, :], g_ref[i][None, :], 0.0)
            d_x_ref[i] = _product(spread, transposed, interpret)
            return total + _product(x_ref[i].T, spread, interpret)

        d_kernel_ref[0] = lax.fori_loop(0, group, one_cloud, jnp.zeros((features, channels), jnp.float32))

    programs = clouds // group
    d_x, parts = pl.pallas_call(
        program,
        grid=(programs,),
        in_specs=[
            _rows(group, points, features),
            pl.BlockSpec((channels, features), lambda i: (0, 0)),
            _rows(group, channels),
            _rows(group, channels),
        ],
        out_specs=[_rows(group, points, features), _rows(1, features, channels)],
        out_shape=[
            jax.ShapeDtypeStruct(x.shape, jnp.float32),
            jax.ShapeDtypeStruct((programs, features, channels), jnp.float32),
        ],
        interpret=interpret,
        **_compiler(interpret),
    )(x, kernel.T, winner, g)
    return d_x, parts.sum(axis=0)


def _product(a, b, interpret: bool):
    precision = lax.Precision.HIGHEST if interpret else lax.DotAlgorithmPreset.TF32_TF32_F32_X3
    return jnp.dot(a, b, precision=precision, preferred_element_type=jnp.float32)


@functools.cache
def _rows(*block: int):
    """Program i sees the i-th block along the first axis."""
    from jax.experimental import pallas as pl

    return pl.BlockSpec(block, lambda i: (i, *(0,) * (len(block) - 1)))


def _compiler(interpret: bool) -> dict:
    if interpret:
        return {}
    from jax.experimental.pallas import triton

    return {"compiler_params": triton.CompilerParams(num_warps=WARPS)}
