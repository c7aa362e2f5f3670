"""Sums over points on the tensor cores of NVIDIA GPUs (Pallas for Triton): the parts of a PointNet's gradient that have
16 rows and columns, the least that a product there can have.

    y_p = x_p W + b :    ∂x_p = W ∂y_p ,    ∂W = Σ_p x_p ∂y_pᵀ ,   ∂b = Σ_p ∂y_p
    u_p = x_p T_c   :    ∂x_p = T_c ∂u_p ,  ∂T_c = Σ_p x_p ∂u_pᵀ over the points of cloud c

Products are three TF32 products (relative error 1e-7). Where there are fewer rows than 16, some stand there twice: they
write the same value twice, and what they add to ∂W or ∂T is left out. Arrays are [channel, cloud, point], as in
`point_layers_gpu`, and sums have a fixed order.
"""

import jax
import jax.numpy as jnp
from jax import lax

from airbayes.models.point_layers_gpu import (
    Dense,
    Kernel,
    Matrices,
    Points,
    clouds_of,
    compiler,
    largest_divisor,
    matrices_of,
    whole,
)

LEAST = 16  # rows and columns of a product
LANES = 32  # points of a product: 64 take as long, 128 longer
PROGRAMS = 30  # of a layer, per agent
TURNS = 8  # products of a program that sums over a cloud's points


def sixteen_channels_backward(x: Points, kernel: Kernel, g: Points, *, interpret: bool) -> tuple[Points, Dense]:
    """Of y = xW + b with at most 16 channels and 15 features, x out of a ReLU: ∂x, zero where x = 0, and ∂W, ∂b."""
    from jax.experimental import pallas as pl

    features, channels = kernel.shape
    number = x[0].size
    lanes = max(size for size in (16, 32) if size <= LANES and number % size == 0)
    programs = largest_divisor(number // lanes, PROGRAMS)
    share = number // programs

    def program(x_ref, g_ref, kernel_ref, d_x_ref, parts_ref):
        row, column = _indices(LEAST)
        weights = jnp.where(column < channels, kernel_ref[row % features, column % channels], 0.0)
        row, point = _indices(lanes)
        feature, channel = row % features, row % channels

        def some_points(i, total):
            place = i * lanes + point
            xs, gs = x_ref[feature, place], g_ref[channel, place]
            d_x_ref[feature, place] = jnp.where(xs > 0, product(weights, gs, interpret), 0.0)
            # The first row that is not needed is 1: it sums ∂b.
            return total + product(jnp.where(row == features, 1.0, xs), gs.T, interpret)

        parts_ref[0] = lax.fori_loop(0, share // lanes, some_points, jnp.zeros((LEAST, LEAST), jnp.float32))

    def share_of(rows):
        return pl.BlockSpec((rows, share), lambda i: (0, i))

    d_x, parts = pl.pallas_call(
        program,
        grid=(programs,),
        in_specs=[share_of(features), share_of(channels), whole(kernel)],
        out_specs=[share_of(features), pl.BlockSpec((1, LEAST, LEAST), lambda i: (i, 0, 0))],
        out_shape=[
            jax.ShapeDtypeStruct((features, number), jnp.float32),
            jax.ShapeDtypeStruct((programs, LEAST, LEAST), jnp.float32),
        ],
        interpret=interpret,
        **compiler(interpret, warps=1, stages=1),
    )(x.reshape(features, number), g.reshape(channels, number), kernel)
    total = parts.sum(axis=0)
    return d_x.reshape(x.shape), (total[:features, :channels], total[features, :channels])


def turn_backward(
    x: Points, matrices: Matrices, d_u: Points, *, input_gradient: bool, interpret: bool
) -> tuple[Points | None, Matrices]:
    """Of u_p = x_p T_c: ∂x and ∂T. Several clouds share a product, whose blocks on the diagonal are wanted."""
    from jax.experimental import pallas as pl

    width, clouds, points = x.shape
    together = largest_divisor(clouds, LEAST // width)
    group = together * largest_divisor(clouds // together, TURNS)
    blocks = clouds // together

    def program(x_ref, matrix_ref, d_u_ref, *out_refs):
        row, point = _indices(points)
        channel, cloud = row % width, jnp.minimum(row // width, together - 1)
        left, right = _indices(LEAST)
        same_cloud = (jnp.minimum(left // width, together - 1) == right // width) & (right < together * width)

        def one_block(i, _):
            some = i * together + cloud
            d_u = d_u_ref[channel, some, point]
            if input_gradient:
                its_cloud = i * together + jnp.minimum(left // width, together - 1)
                turns = jnp.where(same_cloud, matrix_ref[left % width, right % width, its_cloud], 0.0)
                out_refs[0][channel, some, point] = product(turns, d_u, interpret)
            out_refs[-1][i] = product(x_ref[channel, some, point], d_u.T, interpret)
            return 0

        lax.fori_loop(0, group // together, one_block, 0)

    *d_x, found = pl.pallas_call(
        program,
        grid=(clouds // group,),
        in_specs=[clouds_of(x, group), matrices_of(matrices, group), clouds_of(d_u, group)],
        out_specs=[
            *([clouds_of(x, group)] if input_gradient else []),
            pl.BlockSpec((group // together, LEAST, LEAST), lambda i: (i, 0, 0)),
        ],
        out_shape=[
            *([jax.ShapeDtypeStruct(x.shape, jnp.float32)] if input_gradient else []),
            jax.ShapeDtypeStruct((blocks, LEAST, LEAST), jnp.float32),
        ],
        interpret=interpret,
        **compiler(interpret, warps=1),
    )(x, matrices, d_u)
    spans = [slice(i * width, (i + 1) * width) for i in range(together)]
    of_clouds = jnp.stack([found[:, span, span] for span in spans], axis=1).reshape(clouds, width, width)
    return d_x[0] if d_x else None, of_clouds.transpose(1, 2, 0)


def product(a, b, interpret: bool):
    """Three TF32 products, relative error 1e-7."""
    precision = lax.Precision.HIGHEST if interpret else lax.DotAlgorithmPreset.TF32_TF32_F32_X3
    return jnp.dot(a, b, precision=precision, preferred_element_type=jnp.float32)


def _indices(columns: int):
    """Row and column of every entry of [16, columns]."""
    return tuple(lax.broadcasted_iota(jnp.int32, (LEAST, columns), axis) for axis in (0, 1))
