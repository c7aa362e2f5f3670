"""The small layers of a PointNet, applied to every point, as kernels for NVIDIA GPUs (Pallas for Triton).

    u_p = x_p T_c  (a matrix per cloud, or none) ,   a_p = relu(u_p V + b) ,   h_p = relu(a_p W + c)

With 3 to 16 channels a matrix product leaves the tensor cores idle and the memory busy. Here a thread owns points:
their channels are scalars in registers, and every product is written out. Arrays have the channels first, [channel,
cloud, point], so that neighbouring threads read neighbouring addresses.

Weight gradients are summed per thread over many points, then over the threads of a program, then over programs, in a
fixed order: results repeat bit for bit.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

FORWARD_LANES = 256  # points of a forward program
LANES = 32  # points a backward program looks at together: one a thread, and one warp, so that no thread waits
AT_ONCE = 2  # such sets for which a weight is fetched once
PROGRAMS = 15  # backward programs per agent
WARPS = 4

Points = Float[Array, "_ cloud point"]  # channels first
Matrices = Float[Array, "_ _ cloud"]
Kernel = Float[Array, "feature channel"]
Dense = tuple[Float[Array, "_ _"], Float[Array, " _"]]  # kernel [feature, channel] and bias


def layers_forward(
    x: Points, matrices: Matrices | None, first: Dense, second: Dense, *, interpret: bool
) -> tuple[Points, Points, Points]:
    """u, a and h of the equations above; u is x where there is no matrix."""
    *before, a, h = _forward(x, matrices, first, second, keep=True, interpret=interpret)
    return before[0] if before else x, a, h


def layers_alone(x: Points, matrices: Matrices | None, first: Dense, second: Dense, *, interpret: bool) -> Points:
    """h, where nothing will be differentiated."""
    return _forward(x, matrices, first, second, keep=False, interpret=interpret)[0]


def _forward(x, matrices, first, second, *, keep: bool, interpret: bool) -> tuple[Points, ...]:
    """u (if there are matrices), a and h, or h alone."""
    from jax.experimental import pallas as pl

    width, clouds, points = x.shape
    tile = _clouds_per_tile(clouds, points)
    turned = matrices is not None
    widths = [*([width] if turned else []), first[0].shape[1], second[0].shape[1]][0 if keep else -1 :]

    def program(*refs):
        inputs, outputs = refs[: -len(widths)], refs[-len(widths) :]
        rows = _rows_of(inputs[0])
        layers = _turned(rows, inputs[1]) if turned else rows
        weights = inputs[-4:]
        a = _dense(layers, *weights[:2])
        found = [*([layers] if turned else []), a, _dense(a, *weights[2:])]
        for ref, values in zip(outputs, found[-len(widths) :], strict=True):
            _write_rows(ref, values)

    given = (x, matrices) if turned else (x,)
    weight_specs = [whole(array) for array in (*first, *second)]
    found = pl.pallas_call(
        program,
        grid=(clouds // tile,),
        in_specs=[clouds_of(x, tile), *([] if matrices is None else [matrices_of(matrices, tile)]), *weight_specs],
        out_specs=[pl.BlockSpec((size, tile, points), lambda i: (0, i, 0)) for size in widths],
        out_shape=[jax.ShapeDtypeStruct((size, clouds, points), jnp.float32) for size in widths],
        interpret=interpret,
        **compiler(interpret),
    )(*given, *first, *second)
    return tuple(found)


def layer_backward(
    x: Points,
    kernel: Kernel,
    gradients: tuple[Points, ...],
    *,
    on: Points | None = None,
    through_relu: bool = False,
    input_gradient: bool = True,
    interpret: bool,
) -> tuple[Points | None, Dense]:
    """Of y = xW + b: ∂x, put to zero where x = 0 if x comes out of a ReLU, and the gradients of W and b.

    `gradients` add up to ∂y, once for every use of y; it counts where `on`, a ReLU of y, is not zero.
    """
    from jax.experimental import pallas as pl

    features, channels = kernel.shape
    number = x[0].size
    lanes, at_once, programs = _cut(number)
    share = number // programs
    above = [*gradients, *([] if on is None else [on])]

    def program(x_ref, kernel_ref, *refs):
        above_refs, d_x_refs, parts_ref = refs[: len(above)], refs[len(above) : -1], refs[-1]

        def arriving(channel, place):
            rows = [ref[channel, place] for ref in above_refs]
            total = sum(rows[1 : len(gradients)], rows[0])
            return total if on is None else jnp.where(rows[-1] > 0, total, 0.0)

        def some_points(i, total):
            places = [pl.ds((i * at_once + j) * lanes, lanes) for j in range(at_once)]
            xs = [[x_ref[feature, place] for feature in range(features)] for place in places]
            gs = [[arriving(channel, place) for channel in range(channels)] for place in places]
            for d_x_ref in d_x_refs:  # one or none
                for feature in range(features):
                    d_x = [jnp.zeros((lanes,), jnp.float32)] * at_once
                    for channel in range(channels):
                        weight = kernel_ref[feature, channel]
                        d_x = [so_far + g[channel] * weight for so_far, g in zip(d_x, gs, strict=True)]
                    for place, x, d in zip(places, xs, d_x, strict=True):
                        d_x_ref[feature, place] = jnp.where(x[feature] > 0, d, 0.0) if through_relu else d
            for x, g in zip(xs, gs, strict=True):
                terms = [row * column for row in x for column in g] + g
                total = [so_far + term for so_far, term in zip(total, terms, strict=True)]
            return total

        nothing = [jnp.zeros((lanes,), jnp.float32)] * (features * channels + channels)
        total = lax.fori_loop(0, share // (lanes * at_once), some_points, nothing)
        for index, value in enumerate(total):
            parts_ref[0, index] = jnp.sum(value)

    def flat(array):
        return array.reshape(array.shape[0], number)

    def share_of(rows):
        return pl.BlockSpec((rows, share), lambda i: (0, i))

    size = features * channels + channels
    *d_x, parts = pl.pallas_call(
        program,
        grid=(programs,),
        in_specs=[share_of(features), whole(kernel), *[share_of(channels) for _ in above]],
        out_specs=[*([share_of(features)] if input_gradient else []), pl.BlockSpec((1, size), lambda i: (i, 0))],
        out_shape=[
            *([jax.ShapeDtypeStruct((features, number), jnp.float32)] if input_gradient else []),
            jax.ShapeDtypeStruct((programs, size), jnp.float32),
        ],
        interpret=interpret,
        **compiler(interpret, warps=1),
    )(flat(x), kernel, *map(flat, above))
    total = parts.sum(axis=0)
    weights = total[: features * channels].reshape(features, channels), total[features * channels :]
    return d_x[0].reshape(x.shape) if d_x else None, weights


# What a program computes: lists of channels, each [cloud, point].


def _rows_of(ref):
    return [ref[channel] for channel in range(ref.shape[0])]


def _write_rows(ref, rows):
    for channel, row in enumerate(rows):
        ref[channel] = row


def _dense(x, kernel_ref, bias_ref):
    """relu(x W + b)."""
    features, channels = kernel_ref.shape
    out = []
    for channel in range(channels):
        total = x[0] * kernel_ref[0, channel] + bias_ref[channel]
        for feature in range(1, features):
            total = total + x[feature] * kernel_ref[feature, channel]
        out.append(jnp.maximum(total, 0.0))
    return out


def _turned(x, matrix_ref):
    width = range(len(x))
    return [sum(x[i] * matrix_ref[i, j, :][:, None] for i in width) for j in width]


# Blocks.


def largest_divisor(number: int, most: int) -> int:
    return max(size for size in range(1, most + 1) if number % size == 0)


def _clouds_per_tile(clouds: int, points: int) -> int:
    """Whole clouds, a power of two that divides their number."""
    most = max(1, FORWARD_LANES // points)
    return max(size for size in (1, 2, 4, 8, 16, 32) if size <= most and clouds % size == 0)


def _cut(number: int) -> tuple[int, int, int]:
    """Points at a time, how many such sets at once, and programs, for a number of points divisible by 16."""
    lanes = max(size for size in (16, 32) if size <= LANES and number % size == 0)
    at_once = largest_divisor(number // lanes, AT_ONCE)
    return lanes, at_once, largest_divisor(number // (lanes * at_once), PROGRAMS)


def clouds_of(array: Points, tile: int):
    """The i-th so many clouds of [channel, cloud, point]."""
    from jax.experimental import pallas as pl

    return pl.BlockSpec((array.shape[0], tile, array.shape[2]), lambda i: (0, i, 0))


def matrices_of(array: Matrices, tile: int):
    """Their matrices [channel, channel, cloud]."""
    from jax.experimental import pallas as pl

    return pl.BlockSpec((*array.shape[:2], tile), lambda i: (0, 0, i))


def whole(array):
    from jax.experimental import pallas as pl

    return pl.BlockSpec(array.shape, lambda i: (0,) * array.ndim)


def compiler(interpret: bool, warps: int = WARPS, stages: int | None = None) -> dict:
    """How Triton compiles a kernel; `stages` turns of a loop are in flight together."""
    if interpret:
        return {}
    from jax.experimental.pallas import triton

    return {"compiler_params": triton.CompilerParams(num_warps=warps, num_stages=stages)}
