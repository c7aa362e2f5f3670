"""The wide layer and its maximum over points on a CPU: which point wins each channel, and the gradient through it.

    s_pc = x_p W_c ,   p*(c) = argmax_p s_pc ,   out_c = relu(s_{p*(c) c} + b_c)

The products are written out feature by feature, so that the compiler keeps a row of W in registers, reads each x_pf
once, and never stores a score. The largest score and its point travel together as one complex number: a compiled loop
has one result, and two results would mean computing every score twice. Only copies and comparisons act on the pair.

Copies of a point tie but for rounding, and one of them wins, as in `max_pool`: the first, unless it is among the points
left over by the blocks, whose scores the compiler may round differently.

Backwards, the winners' rows are gathered for ∂W and scattered for ∂x: 128 rows a cloud, whatever its number of points.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float, Int

from airbayes.models.layers_cpu import Layer, sum_in_blocks

BLOCK = 8  # points written out at a time; 4 is slower, 16 is no faster and takes longer to compile

Clouds = Float[Array, "net cloud point feature"]
Kernel = Float[Array, "net feature channel"]
Bias = Float[Array, "net channel"]
Pooled = Float[Array, "net cloud channel"]
Winner = Int[Array, "net cloud channel"]


def pool_and_winners(x: Clouds, kernel: Kernel, bias: Bias) -> tuple[Pooled, Winner]:
    """max_p relu(x_p W + b), and a point that has it."""
    nets, clouds, points, _ = x.shape
    whole = points // BLOCK

    def block(i, found):
        return _see_points(lax.dynamic_slice_in_dim(x, i * BLOCK, BLOCK, axis=2), kernel, i * BLOCK, found)

    nothing = jnp.full((nets, clouds, kernel.shape[2]), -jnp.inf)
    found = lax.complex(nothing, jnp.zeros_like(nothing))
    if whole:
        found = lax.fori_loop(0, whole, block, found)
    if points % BLOCK:
        found = _see_points(x[:, :, whole * BLOCK :], kernel, jnp.int32(whole * BLOCK), found)
    # NaN is not greater than anything: a network gone NaN beats no point, and must not pass for a finite one.
    best = jnp.where(lax.real(found) == -jnp.inf, jnp.nan, lax.real(found))
    return lax.max(best + bias[:, None], jnp.float32(0)), lax.imag(found).astype(jnp.int32)


def _see_points(
    x: Clouds, kernel: Kernel, first: Int[Array, ""], found: Complex[Array, "net cloud channel"]
) -> Complex[Array, "net cloud channel"]:
    """The best (score, point) so far, after the points of x, which are numbered from `first`."""
    best, winner = lax.real(found), lax.imag(found)
    rows = [kernel[:, None, f] for f in range(x.shape[3])]
    for p in range(x.shape[2]):
        score = x[:, :, p, :1] * rows[0]
        for f in range(1, x.shape[3]):
            score = score + x[:, :, p, f : f + 1] * rows[f]
        better = score > best
        best = lax.select(better, score, best)
        winner = lax.select(better, jnp.broadcast_to((first + p).astype(winner.dtype), winner.shape), winner)
    return lax.complex(best, winner)


def pull_winners(x: Clouds, layer: Layer, winner: Winner, g: Pooled) -> tuple[Clouds, Layer]:
    """∂x, ∂W and ∂b, from the gradient g of s + b at the winners."""
    nets, clouds, points, features = x.shape
    cloud = lax.broadcasted_iota(jnp.int32, (nets * clouds, 1), 0).reshape(nets, clouds, 1)
    rows = cloud * points + winner
    flat = x.reshape(-1, features)
    d_kernel = sum_in_blocks(lambda rows, g: take_rows(flat, rows) * g[..., None], 1, rows, g)
    spread = g[..., None] * jnp.swapaxes(layer.kernel, 1, 2)[:, None]
    d_x = jnp.zeros_like(flat).at[rows].add(spread, mode="promise_in_bounds")
    return d_x.reshape(x.shape), Layer(jnp.swapaxes(d_kernel, 1, 2), jnp.sum(g, axis=1))


def take_rows(x: Float[Array, "row feature"], rows: Int[Array, "..."]) -> Float[Array, "... feature"]:
    """x[rows]."""
    numbers = lax.GatherDimensionNumbers((rows.ndim,), collapsed_slice_dims=(0,), start_index_map=(0,))
    return lax.gather(x, rows[..., None], numbers, (1, x.shape[1]), mode="promise_in_bounds")
