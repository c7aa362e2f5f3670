"""The wide layer of a PointNet and its maximum over points, as kernels for NVIDIA GPUs (Pallas for Triton).

    best_c = max_p (h_p W)_c ,   winner_c = the first p that has it

The scores [channel, point] of a cloud live in the registers of one block of threads and never reach the memory. Both
factors are scaled by powers of two, which is exact (W by the largest of a channel, h by that of a cloud), and cut into
two float16 parts each:

    h W = h¹W¹ + h¹W² + h²W¹ + …      three products; what is left out is 2⁻²² of the largest terms

In the backward pass

    ∂W_fc = Σ_clouds h_f,winner(c) g_c      a gather, no product
    ∂h_pf = Σ_c 1[winner_c = p] g_c W_fc    a product with zeros and ones, which float16 holds exactly: two products,
                                            for the two parts of g_c W_fc

Sums have a fixed order, so results repeat bit for bit. Arrays are [channel, cloud, point], as in `point_layers_gpu`.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from airbayes.models.point_layers_gpu import Kernel, Points, clouds_of, compiler, largest_divisor

CLOUDS_PER_PROGRAM = 8
MOST_SCORES = 2**14  # of one cloud: 128 points and channels
FORWARD_WARPS, BACKWARD_WARPS = 4, 2  # others were slower on an H200
LARGEST = 7  # scaled numbers are below 2⁸: float16 holds their parts, and the products add up in float32

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
        up_channel, down_channel = _powers(jnp.max(jnp.abs(transposed), axis=1))
        kernel_parts = _two_parts(transposed * up_channel[:, None])

        def one_cloud(i, _):
            h = h_ref[:, i, :]
            up, down = _powers(jnp.max(jnp.max(h, axis=1), axis=0))  # h is not negative: it comes out of a ReLU
            # Channels first: a maximum over the last axis stays within a warp.
            scores = _product_of_parts(kernel_parts, _two_parts(h * up))
            best = jnp.max(scores, axis=1)
            place = lax.broadcasted_iota(jnp.int32, scores.shape, 1)
            best_ref[i, :] = best * (down_channel * down)
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
        **compiler(interpret, FORWARD_WARPS),
    )(h, kernel.T)
    return found[0], found[1]


def pull_back(h: Points, kernel: Kernel, winner: Winner, g: Pooled, *, interpret: bool) -> tuple[Points, Kernel]:
    """∂h, put to zero where h = 0 since h comes out of a ReLU, and ∂W."""
    from jax.experimental import pallas as pl

    features, clouds, points = h.shape
    channels = kernel.shape[1]
    group = largest_divisor(clouds, CLOUDS_PER_PROGRAM)

    def program(h_ref, kernel_ref, winner_ref, g_ref, d_h_ref, d_kernel_ref):
        transposed = kernel_ref[...].T
        largest = jnp.max(jnp.max(jnp.abs(transposed), axis=1), axis=0)
        place = lax.broadcasted_iota(jnp.int32, (points, channels), 0)
        feature = lax.broadcasted_iota(jnp.int32, (features, channels), 0)

        def one_cloud(i, total):
            won, strength = winner_ref[i, :], g_ref[i, :]
            up, down = _powers(largest * jnp.max(jnp.abs(strength), axis=0))
            first, second = _two_parts(transposed * (strength * up)[:, None])
            chosen = (place == won[None, :]).astype(jnp.float16)
            d_h = (_product(chosen, second) + _product(chosen, first)).T * down
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
        **compiler(interpret, BACKWARD_WARPS),
    )(h, kernel, winner, g)
    return d_h, parts.sum(axis=0)


def _powers(largest: Float[Array, "*any"]) -> tuple[Float[Array, "*any"], Float[Array, "*any"]]:
    """2^k that brings a positive number to 2^LARGEST, …, 2^(LARGEST + 1), and 2^−k: its exponent, and nothing else."""
    exponent = lax.bitcast_convert_type(largest, jnp.int32) >> 23
    exponent = jnp.clip(exponent, LARGEST + 1, 253)  # so that both are normal numbers
    up, down = 254 + LARGEST - exponent, exponent - LARGEST
    return lax.bitcast_convert_type(up << 23, jnp.float32), lax.bitcast_convert_type(down << 23, jnp.float32)


def _two_parts(a):
    """float16 numbers that add up to a, but for 2⁻²² of it."""
    first = a.astype(jnp.float16)
    return first, (a - first.astype(jnp.float32)).astype(jnp.float16)


def _product_of_parts(a, b):
    return _product(a[0], b[1]) + _product(a[1], b[0]) + _product(a[0], b[0])  # the smallest first


def _product(a, b):
    return jnp.dot(a, b, preferred_element_type=jnp.float32)


def _rows(*block: int):
    """Program i sees the i-th block along the first axis."""
    from jax.experimental import pallas as pl

    return pl.BlockSpec(block, lambda i: (i, *(0,) * (len(block) - 1)))
