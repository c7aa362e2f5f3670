"""Distances between Gaussian laws (host, float64) and between agents (device).

    W2² = ‖m₁ − m₂‖² + tr(C₁ + C₂ − 2(C₂^½ C₁ C₂^½)^½)

The trace is computed as ‖C₁^½ − C₂^½U‖_F², U = PQᵀ from the singular values C₂^½C₁^½ = PSQᵀ: the same number,
never negative, and without the cancellation that would leave 1e-7 instead of 1e-14 between equal covariances.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from airbayes.errors import AirbayesError

INDEFINITE = 1e-3  # tolerated −λ_min/λ_max and asymmetry; sampled float32 covariances reach about 1e-6


def w2_gaussians(
    mean1: Float[np.ndarray | Array, "*#batch dim"],
    cov1: Float[np.ndarray | Array, "*#batch dim dim"],
    mean2: Float[np.ndarray | Array, "*#batch dim"],
    cov2: Float[np.ndarray | Array, "*#batch dim dim"],
) -> Float[np.ndarray, "..."]:
    """The 2-Wasserstein distance W2 of N(m₁, C₁) and N(m₂, C₂), in the unit of the vectors.

    Leading dimensions broadcast. Covariances may be singular, or indefinite by rounding (negative eigenvalues
    count as zero). Where an input is not finite neither is W2: one diverged cell does not stop the others.
    """
    mean1, cov1, mean2, cov2 = (np.asarray(part, np.float64) for part in (mean1, cov1, mean2, cov2))
    for mean, cov in ((mean1, cov1), (mean2, cov2)):
        if not mean.ndim or cov.shape[-2:] != 2 * mean1.shape[-1:] or mean.shape[-1] != cov.shape[-1]:
            raise AirbayesError(
                f"Means must be [dim] and covariances [dim, dim], of one dim, got shapes {list(mean1.shape)}, "
                f"{list(cov1.shape)}, {list(mean2.shape)} and {list(cov2.shape)}. Of variances give np.diag(variances)."
            )
    root1, root2 = _square_root(cov1, "first"), _square_root(cov2, "second")
    with np.errstate(invalid="ignore", over="ignore"):
        left, _, right = np.linalg.svd(np.nan_to_num(root2 @ root1))
        spread = root1 - root2 @ (left @ right)
        shift = mean1 - mean2
        return np.asarray(np.sqrt(np.sum(shift**2, axis=-1) + np.sum(spread**2, axis=(-2, -1))))


def consensus_distance(theta: Float[Array, "agent param"]) -> Float[Array, ""]:
    """sqrt(mean_k ‖θ_k − θ̄‖²/m): the rms disagreement of a parameter; exactly 0 when all agents are equal."""
    if theta.ndim != 2:
        raise AirbayesError(
            f"θ must be [agent, param], got shape {list(theta.shape)}. Of several steps or chains: jax.vmap(...)."
        )
    from_first = theta - theta[0]  # shifting by one agent keeps the rounding of the mean out
    return rms((from_first - jnp.mean(from_first, axis=0)).ravel())


def rms(theta: Float[Array, "*agent param"]) -> Float[Array, "*agent"]:
    """sqrt(‖θ_k‖²/m) of each agent."""
    return jnp.sqrt(jnp.mean(theta**2, axis=-1))


def _square_root(cov: Float[np.ndarray, "*batch dim dim"], which: str) -> Float[np.ndarray, "*batch dim dim"]:
    """C^½, symmetric; NaN where C is not finite."""
    finite = np.isfinite(cov).all((-2, -1), keepdims=True)
    cov = np.where(finite, cov, 0.0)
    values, vectors = np.linalg.eigh((cov + np.swapaxes(cov, -1, -2)) / 2)
    scale = np.abs(values).max(-1)
    asymmetry = np.abs(cov - np.swapaxes(cov, -1, -2)).max((-2, -1))
    if np.any(asymmetry > INDEFINITE * scale):
        raise AirbayesError(
            f"The {which} covariance is not symmetric: two entries differ by {asymmetry.max():.3g}. "
            "Pass (C + Cᵀ)/2 if that is what was meant."
        )
    if np.any(values.min(-1) < -INDEFINITE * scale):
        raise AirbayesError(
            f"The {which} covariance has the eigenvalue {values.min():.3g} < 0, too far for rounding. "
            "Recompute it from the draws; a difference of covariances is not a covariance."
        )
    noise = values.shape[-1] * np.finfo(np.float64).eps * scale[..., None]  # its root would not be negligible
    values = np.where(values > noise, values, 0.0)
    root = (vectors * np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.where(finite, root, np.nan)
