"""Power limit → gain caps → interference Gram; and what the limit will do, predicted before a run.

Agent j transmits x_j = w β ρ_j θ_j with ‖x_j‖² ≤ mP; its neighbours scale what they hear by 1/β, β = √(N0/(2η)).

    caps        ρ_j ≤ u_j = √(mP) / (w β ‖θ_j‖)
    objective   Σ_k ‖Σ_j A_kj (ρ_j − 1) θ_j‖² = (ρ − 1)ᵀ H (ρ − 1),   H = (ΘΘᵀ) ∘ (A·A)
    exactness   ρ = 1 fits  ⇔  rms(θ) ≤ √(2η·SNR)/w  ⇔  SNR ≥ w² rms(θ)²/(2η),   SNR = P/N0
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# ‖x_j‖² ≤ mP must survive the float32 rounding of the norm, of the cap and of the signal.
_HEADROOM = 1.0 - 2.0**-20

Real = float | int
# Up to this many agents the Gram matrix is summed pair by pair: then it does not depend, even in the last bit, on how
# the agents are split over devices. A matrix product does.
_PAIRWISE = 32

Scalar = Float[Array, ""] | Real


def receiver_scale(noise_power: Scalar, eta: Scalar) -> Float[Array, ""]:
    """β = √(N0/(2η)): divided by β, receiver noise of power N0 has the variance 2η that Langevin needs.

    noise_power: N0 per real sample, linear. eta: step size η.
    """
    return jnp.sqrt(jnp.asarray(noise_power) / (2.0 * jnp.asarray(eta)))


def row_rms(theta: Float[Array, "agent param"]) -> Float[Array, " agent"]:
    """‖θ_j‖/√m; no square overflows or underflows on the way."""
    peak = jnp.max(jnp.abs(theta), axis=1)
    scaled = theta / jnp.where(peak > 0, peak, 1.0)[:, None]
    return peak * jnp.sqrt(jnp.mean(scaled**2, axis=1))


def caps_of_rms(
    rms: Float[Array, " agent"], edge_weight: Scalar, power: Scalar, beta: Scalar
) -> Float[Array, " agent"]:
    """u_j from rms(θ_j), for who needs that number anyway; see `gain_caps`."""
    sent = edge_weight * beta * rms  # rms of the signal at ρ = 1
    caps = _HEADROOM * jnp.sqrt(jnp.asarray(power)) / jnp.where(sent == 0, 1.0, sent)
    return jnp.where(sent == 0, jnp.inf, caps)


def gain_caps(
    theta: Float[Array, "agent param"], edge_weight: Scalar, power: Scalar, beta: Scalar
) -> Float[Array, " agent"]:
    """u_j = √(mP)/(w β ‖θ_j‖), the largest gain agent j can afford, less a hair for rounding.

    theta: Θ, one row of m parameters per agent. edge_weight: w. power: P per sample, linear. beta: β.
    +inf where nothing is sent (θ_j = 0 or w = 0).
    """
    return caps_of_rms(row_rms(theta), edge_weight, power, beta)


def interference_gram(
    theta: Float[Array, "agent param"], common_neighbours: Float[Array, "agent agent"]
) -> Float[Array, "agent agent"]:
    """H = (ΘΘᵀ) ∘ (A·A); entry (i, j) of A·A counts the agents that hear both i and j."""
    if theta.shape[0] <= _PAIRWISE:
        gram = jnp.sum(theta[:, None, :] * theta[None, :, :], axis=-1)
    else:
        gram = jnp.matmul(theta, theta.T, precision=jax.lax.Precision.HIGHEST)
    return gram * common_neighbours


def norm_cap(edge_weight: Real, eta: Real, snr_db: Real) -> float:
    """√(2η·SNR)/w, the largest rms(θ) at which every gain can be 1. snr_db: P/N0 in dB; +inf when w = 0."""
    if edge_weight == 0:
        return math.inf
    return math.sqrt(2.0 * eta * 10.0 ** (snr_db / 10.0)) / edge_weight


def transition_snr_db(edge_weight: Real, eta: Real, rms: Real = 1.0) -> float:
    """10·log10(w²·rms²/(2η)), the SNR in dB from which every gain can be 1; −inf when nothing is sent."""
    needed = edge_weight**2 * rms**2 / (2.0 * eta)
    return 10.0 * math.log10(needed) if needed > 0 else -math.inf
