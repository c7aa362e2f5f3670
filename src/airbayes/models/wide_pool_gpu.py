"""The wide layer of a PointNet and its maximum over points, as kernels for NVIDIA GPUs (Pallas for Triton).

    best_c = max_p (h_p W)_c ,   winner_c = the first p that has it

The scores [channel, point] of a cloud live in the registers of one block of threads and never reach the memory.
Products are three TF32 products (relative error 1e-7). In the backward pass

    ∂W_fc = Σ_clouds h_f,winner(c) g_c      a gather, no product
    ∂h_fp = Σ_c W_fc g_c 1[winner_c = p]    a product with zeros and ones, which bfloat16 holds exactly: so W_fc g_c
                                            is cut into three bfloat16 parts that add up to it, three products in all.

Sums have a fixed order, so results repeat bit for bit. Arrays are [channel, cloud, point], as in `point_layers_gpu`.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from airbayes.models.point_layers_gpu import Points, clouds_of, compiler, largest_divisor, product

CLOUDS_PER_PROGRAM = 8
MOST_SCORES = 2**14  # of one cloud: 128 points and channels
WARPS = 2  # 1, 4 and 8 were slower on an H200

Kernel = Float[Array, "feature channel"]
Winner = Int[Array, "cloud channel"]
Pooled = Float[Array, "cloud channel"]


def winners(h: Points, kernel: Kernel, *, interpret: bool) -> tuple[Pooled, Winner]:
    """The largest score of each channel, and the first point that has it."""
    from jax.experimental import pallas as pl

    features, clouds, points = h.shape
    channels = kernel.shape[1]
    group = largest_divisor(clouds, CLOUDS_PER_PROGRAM)

    def program(h_ref, transposed_ref, best_ref, winner_ref):
        transposed = transposed_ref[...]

        def one_cloud(i, _):
            # Channels first: a maximum over the last axis stays within a warp.
            scores = product(transposed, h_ref[:, i, :], interpret)
            best = jnp.max(scores, axis=1)
            place = lax.broadcasted_iota(jnp.int32, scores.shape, 1)
            best_ref[i, :] = best
            winner_ref[i, :] = jnp.min(jnp.where(scores == best[:, None], place, points), axis=1)
            return 0

        lax.fori_loop(0, group, one_cloud, 0)

    found = pl.pallas_call(
        program,
        grid=(clouds // group,),
        in_specs=[clouds_of(h, group), pl.BlockSpec((channels, features), lambda i: (0, 0))],
        out_specs=[_rows(group, channels), _rows(group, channels)],
        out_shape=[
            jax.ShapeDtypeStruct((clouds, channels), jnp.float32),
            jax.ShapeDtypeStruct((clouds, channels), jnp.int32),
        ],
        interpret=interpret,
        **compiler(interpret, WARPS),
    )(h, kernel.T)
    return found[0], found[1]


def pull_back(h: Points, kernel: Kernel, winner: Winner, g: Pooled, *, interpret: bool) -> tuple[Points, Kernel]:
    """∂h, put to zero where h = 0 since h comes out of a ReLU, and ∂W."""
    from jax.experimental import pallas as pl

    features, clouds, points = h.shape
    channels = kernel.shape[1]
    group = largest_divisor(clouds, CLOUDS_PER_PROGRAM)

    def program(h_ref, kernel_ref, winner_ref, g_ref, d_h_ref, d_kernel_ref):
        weights = kernel_ref[...]
        place = lax.broadcasted_iota(jnp.int32, (channels, points), 1)
        feature = lax.broadcasted_iota(jnp.int32, (features, channels), 0)

        def one_cloud(i, total):
            won, strength = winner_ref[i, :], g_ref[i, :]
            chosen = (place == won[:, None]).astype(jnp.bfloat16)
            d_h = _exact_product(weights * strength[None, :], chosen)
            d_h_ref[:, i, :] = jnp.where(h_ref[:, i, :] > 0, d_h, 0.0)
            there = h_ref[feature, i, jnp.broadcast_to(won[None, :], feature.shape)]
            return total + there * strength[None, :]

        d_kernel_ref[0] = lax.fori_loop(0, group, one_cloud, jnp.zeros((features, channels), jnp.float32))

    programs = clouds // group
    d_h, parts = pl.pallas_call(
        program,
        grid=(programs,),
        in_specs=[
            clouds_of(h, group),
            pl.BlockSpec((features, channels), lambda i: (0, 0)),
            _rows(group, channels),
            _rows(group, channels),
        ],
        out_specs=[clouds_of(h, group), _rows(1, features, channels)],
        out_shape=[
            jax.ShapeDtypeStruct(h.shape, jnp.float32),
            jax.ShapeDtypeStruct((programs, features, channels), jnp.float32),
        ],
        interpret=interpret,
        **compiler(interpret, WARPS),
    )(h, kernel, winner, g)
    return d_h, parts.sum(axis=0)


def _exact_product(a, chosen):
    """a · chosen where `chosen` holds zeros and ones: a is the sum of three bfloat16 numbers of 8 bits each."""
    parts, rest = [], a
    for _ in range(3):
        part = rest.astype(jnp.bfloat16)
        rest = rest - part.astype(jnp.float32)
        parts.append(part)
    products = [jnp.dot(part, chosen, preferred_element_type=jnp.float32) for part in parts]
    return products[2] + products[1] + products[0]  # the smallest first


def _rows(*block: int):
    """Program i sees the i-th block along the first axis."""
    from jax.experimental import pallas as pl

    return pl.BlockSpec(block, lambda i: (i, *(0,) * (len(block) - 1)))
