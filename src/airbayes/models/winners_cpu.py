"""The wide layer and its maximum over points on a CPU: which point wins each channel, and the gradient through it.

    s_pc = x_p W_c ,   p*(c) = argmax_p s_pc ,   out_c = relu(s_{p*(c) c} + b_c)

The products are written out feature by feature, so that the compiler keeps a row of W in registers, reads each x_pf
once, and never stores a score. The largest score and its point travel together as one complex number: a compiled loop
has one result, and two results would mean computing every score twice. Only copies and comparisons act on the pair.

Copies of a point tie but for rounding, and one of them wins, as in `max_pool`: the first, unless it is among the points
left over by the blocks, whose scores the compiler may round differently.

Backwards, the winners' rows are gathered for ∂W and scattered for ∂x: 128 rows a cloud, whatever its number of points.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float, Int

BLOCK = 8  # points written out at a time; 4 is slower, 16 is no faster and takes longer to compile

Clouds = Float[Array, "cloud point feature"]
Kernel = Float[Array, "feature channel"]
Bias = Float[Array, " channel"]
Pooled = Float[Array, "cloud channel"]
Winner = Int[Array, "cloud channel"]


def pool_and_winners(x: Clouds, kernel: Kernel, bias: Bias) -> tuple[Pooled, Winner]:
    """max_p relu(x_p W + b), and a point that has it."""
    clouds, points, _ = x.shape
    whole = points // BLOCK

    def block(i, found):
        return _see_points(lax.dynamic_slice_in_dim(x, i * BLOCK, BLOCK, axis=1), kernel, i * BLOCK, found)

    nothing = jnp.full((clouds, kernel.shape[1]), -jnp.inf)
    found = lax.complex(nothing, jnp.zeros_like(nothing))
    if whole:
        found = lax.fori_loop(0, whole, block, found)
    if points % BLOCK:
        found = _see_points(x[:, whole * BLOCK :], kernel, jnp.int32(whole * BLOCK), found)
    # NaN is not greater than anything: a network gone NaN beats no point, and must not pass for a finite one.
    best = jnp.where(lax.real(found) == -jnp.inf, jnp.nan, lax.real(found))
    return jax.nn.relu(best + bias), lax.imag(found).astype(jnp.int32)


@jax.jit  # traced once for the three wide layers
def _see_points(
    x: Clouds, kernel: Kernel, first: Int[Array, ""], found: Complex[Array, "cloud channel"]
) -> Complex[Array, "cloud channel"]:
    """The best (score, point) so far, after the points of x, which are numbered from `first`."""
    best, winner = lax.real(found), lax.imag(found)
    for p in range(x.shape[1]):
        score = sum(x[:, p, f, None] * kernel[f] for f in range(x.shape[2]))
        better = score > best
        best = jnp.where(better, score, best)
        winner = jnp.where(better, (first + p).astype(winner.dtype), winner)
    return lax.complex(best, winner)


@jax.custom_vjp
def pool_at_winners(x: Clouds, kernel: Kernel, bias: Bias, pooled: Pooled, winner: Winner) -> Pooled:
    """What `pool_and_winners` found, with the gradient through the winners."""
    return pooled


def _forward(x, kernel, bias, pooled, winner):
    return pooled, (x, kernel, pooled, winner)


def _backward(residuals, cotangent):
    x, kernel, pooled, winner = residuals
    clouds, points, features = x.shape
    g = jnp.where(pooled > 0, cotangent, 0.0)
    rows = jnp.arange(clouds, dtype=jnp.int32)[:, None] * points + winner
    won = x.reshape(-1, features).at[rows].get(mode="promise_in_bounds")
    d_x = jnp.zeros_like(x).reshape(-1, features)
    d_x = d_x.at[rows].add(g[:, :, None] * kernel.T, mode="promise_in_bounds")
    return d_x.reshape(x.shape), jnp.sum(won * g[:, :, None], axis=0).T, g.sum(axis=0), None, None


pool_at_winners.defvjp(_forward, _backward)
