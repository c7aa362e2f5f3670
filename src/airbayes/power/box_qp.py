"""The gains closest to ideal under a power limit: a box-constrained quadratic programme.

    minimise (ρ − 1)ᵀ H (ρ − 1)  over  0 ≤ ρ ≤ u,   H positive semidefinite, possibly singular.

With s_j = √H_jj, e = s∘(ρ − 1) and Q = H/(s sᵀ) the diagonal of Q is one and the scale of H drops out:

    minimise eᵀQe + ε‖e − e⁰‖²  over  −s ≤ e ≤ s∘(u − 1),   e⁰ = min(s∘(u − 1), 0), plain clipping.

The anchor ε outweighs the rounding of Q, which may leave an eigenvalue below zero, and picks the optimum
nearest to plain clipping. Projected Newton from e⁰; each iteration
1. fixes the agents that the gradient g presses against a bound, and those held (see 4),
2. solves (Q_FF + μI) p_F = −g_F for the free ones; the ridge μ covers the rounding of the factor,
3. follows the path clip(e + t p) to each of its corners and to t = 1, minimises exactly along the chord from
   e to each of these points, and keeps the best,
4. after a step that met a bound, holds the agents that met it and takes only chords that add to them, until a
   step passes unhindered; without this, agents take turns in leaving their bounds and the method creeps.
The chord to the first corner is a Newton step, so the objective falls also where clipping the full step would
raise it (a star near consensus); a step that passes unhindered minimises over its face of the box, so a face
is left for good. Both keep the iterations few: one to three at N = 5, under 20 at N = 50.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

_ANCHOR, _RIDGE = 2.0**-24, 2.0**-22  # ε/N and μ/N
_FLAT = 1e-6  # stop at a free gradient of this share of the root of plain clipping's objective, or
_GAINED = 2e-8  # when a Newton step would gain no more than N times this share of that objective
_MARGIN = 2.0**-18  # a gain below this share is not told from rounding: keep plain clipping
_UNROLL = 8  # up to this many agents products and factor are written out; XLA's batched ones are slow there

Vector = Float[Array, " agent"]


class BoxQPResult(eqx.Module):
    """Solution of one box QP; under `vmap` every field gains the batch axis."""

    gains: Float[Array, " agent"]  # ρ
    objective: Float[Array, ""]  # (ρ − 1)ᵀ H (ρ − 1)
    iterations: Int[Array, ""]
    converged: Bool[Array, ""]  # False: float32 allowed no further progress, or too many iterations


@partial(jax.jit, inline=True, static_argnames="max_iterations")  # kept when steps are not compiled as a whole
def solve_box_qp(
    hessian: Float[Array, "agent agent"], upper: Vector, *, max_iterations: int | None = None
) -> BoxQPResult:
    """Minimise (ρ − 1)ᵀ H (ρ − 1) over 0 ≤ ρ ≤ u.

    hessian: H, symmetric positive semidefinite, entries of 1e-12 to 1e12. upper: u ≥ 0, may hold +inf.
    max_iterations: N + 20 by default; one to three are usual.
    H_jj = 0 gives ρ_j = min(1, u_j); u ≥ 1 gives ρ = 1 exactly, without an iteration. The caps hold exactly,
    the objective never exceeds that of plain clipping, and a non-finite H returns plain clipping.
    Runs in float32, under jit and vmap.
    """
    n = upper.shape[0]
    max_iterations = n + 20 if max_iterations is None else max_iterations
    anchor, ridge = _ANCHOR * n, _RIDGE * n
    diagonal = jnp.diagonal(hessian)
    live = diagonal > 0
    s = jnp.sqrt(jnp.where(live, diagonal, 1.0))
    inverse = jnp.where(live, 1.0 / s, 0.0)
    q = hessian * inverse[:, None] * inverse
    low, high = -s, s * (upper - 1.0)
    start = jnp.minimum(high, 0.0)
    clipped = _dot(start, _times(start, q))

    def slope_at(e: Vector) -> tuple[Vector, Bool[Array, " agent"], Bool[Array, ""]]:
        """Half the gradient g, which agents can follow −g, and whether g is negligible for these."""
        g = _times(e, q) + anchor * (e - start)
        may_move = ~(((e <= low) & (g >= 0)) | ((e >= high) & (g <= 0)))
        return g, may_move, _dot(jnp.abs(g), may_move.astype(g.dtype)) <= _FLAT * jnp.sqrt(clipped)

    def newton(carry):
        count, e, g, may_move, held, hindered, _, _ = carry
        free = may_move & ~held
        g_free = jnp.where(free, g, 0.0)
        matrix = jnp.where(free[:, None] & free, q, 0.0) + jnp.diag(jnp.where(free, ridge, 1.0))
        p = -_solve_spd(matrix, g_free)
        decrement = -_dot(g_free, p)

        wall = jnp.where(p > 0, high, low)
        corners = jnp.where(p == 0, 1.0, jnp.minimum((wall - e) / jnp.where(p == 0, 1.0, p), 1.0))
        blocked = corners < 1.0
        times = jnp.concatenate([jnp.ones(1), corners])[:, None]
        # an agent at or past its corner lies on its wall exactly, or it would not count as fixed
        ends = jnp.where((times >= corners) & blocked, wall, e + times * p)
        chords = ends - e
        slopes = _dot(chords, g)
        curvatures = _dot(chords, _times(chords, q) + anchor * chords)
        steps = jnp.clip(-slopes / jnp.where(curvatures > 0, curvatures, 1.0), 0.0, 1.0)
        lands = ~hindered | (steps >= 1.0) | jnp.any(corners <= 0.0)
        changes = jnp.where(lands, steps * (2.0 * slopes + steps * curvatures), 0.0)
        best = jnp.argmin(changes)
        falls = changes[best] < 0
        # written from the far end, so that a whole step keeps the walls exact
        moved = jnp.clip(ends[best] - (1.0 - steps[best]) * chords[best], low, high)

        e = jnp.where(falls, moved, e)
        g, may_move, stationary = slope_at(e)
        converged = stationary | ((decrement <= _GAINED * n * clipped) & ~jnp.any(held))
        stuck = ~falls & ~jnp.any(blocked | held)
        hindered = jnp.any(blocked)
        held = hindered & (held | (blocked & ((e == wall) | ~falls)))
        return count + 1, e, g, may_move, held, hindered, converged, converged | stuck

    g, may_move, stationary = slope_at(start)
    done = stationary | ~(clipped > 0)
    held, hindered = jnp.zeros(n, bool), jnp.zeros((), bool)
    first = (jnp.zeros((), jnp.int32), start, g, may_move, held, hindered, done & jnp.isfinite(clipped), done)
    count, e, *_, converged, _ = jax.lax.while_loop(
        lambda carry: ~carry[-1] & (carry[0] < max_iterations), newton, first
    )
    gains = jnp.clip(jnp.where(e >= high, upper, 1.0 + e / s), 0.0, upper)
    final = s * (gains - 1.0)
    objective = _dot(final, _times(final, q))
    improved = objective < (1.0 - _MARGIN) * clipped
    return BoxQPResult(
        gains=jnp.where(improved, gains, jnp.minimum(upper, 1.0)),
        objective=jnp.where(improved, objective, clipped),
        iterations=count,
        converged=converged,
    )


def _dot(a: Float[Array, "*k n"], b: Float[Array, "*#k n"]) -> Float[Array, "*k"]:
    if a.shape[-1] > _UNROLL:
        return jnp.sum(a * b, axis=-1)
    return sum((a[..., i] * b[..., i] for i in range(1, a.shape[-1])), a[..., 0] * b[..., 0])


def _times(v: Float[Array, "*k n"], q: Float[Array, "n n"]) -> Float[Array, "*k n"]:
    if q.shape[0] > _UNROLL:
        return jnp.matmul(v, q, precision=jax.lax.Precision.HIGHEST)
    return sum((v[..., i : i + 1] * q[i] for i in range(1, q.shape[0])), v[..., :1] * q[0])


def _solve_spd(a: Float[Array, "n n"], b: Float[Array, " n"]) -> Float[Array, " n"]:
    """a⁻¹b by Cholesky, a positive definite."""
    n = b.shape[0]
    if n > _UNROLL:
        return jax.scipy.linalg.cho_solve((jax.lax.linalg.cholesky(a), True), b)
    factor = [[a[i, j] for j in range(i + 1)] for i in range(n)]  # becomes L, its diagonal inverted
    x = [b[i] for i in range(n)]
    for j in range(n):
        factor[j][j] = jax.lax.rsqrt(factor[j][j])
        x[j] = x[j] * factor[j][j]
        for i in range(j + 1, n):
            factor[i][j] = factor[i][j] * factor[j][j]
            x[i] = x[i] - factor[i][j] * x[j]
            for k in range(j + 1, i + 1):
                factor[i][k] = factor[i][k] - factor[i][j] * factor[k][j]
    for j in reversed(range(n)):
        x[j] = x[j] * factor[j][j]
        for i in range(j):
            x[i] = x[i] - factor[j][i] * x[j]
    return jnp.stack(x)
