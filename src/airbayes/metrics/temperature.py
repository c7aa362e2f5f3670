"""Temperature scaling (Guo et al., 2017): one number T makes a classifier's confidence fit held-out labels.

    p_T(y | x) ∝ p(y | x)^(1/T) ,     T = argmin of the NLL on a validation set

The usual cheap remedy for over-confidence; argmax, hence accuracy, stays as it was.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from airbayes.metrics.check import check_labels, check_log_probabilities, refuse_probabilities
from airbayes.metrics.scores import nll_from_log

LOG_RANGE = 4.0  # T between e⁻⁴ and e⁴
GOLDEN = 0.6180339887498949


def temper(
    log_probabilities: Float[Array, "example cls"], temperature: Float[Array, ""] | float
) -> Float[Array, "example cls"]:
    """log p_T from log p, or from the outputs of a network."""
    refuse_probabilities(log_probabilities)
    return jax.nn.log_softmax(log_probabilities / temperature)


def fit_temperature(log_probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, ""]:
    """T by golden-section search; the NLL is convex in 1/T, so it has one minimum over log T. NaN without labels."""
    check_labels(log_probabilities, labels)
    check_log_probabilities(log_probabilities)

    def cost(log_t):
        return nll_from_log(temper(log_probabilities, jnp.exp(log_t)), labels)

    def narrow(_, bounds):
        low, high = bounds
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        lower_left = cost(left) < cost(right)
        return jnp.where(lower_left, low, left), jnp.where(lower_left, right, high)

    low, high = jax.lax.fori_loop(0, 30, narrow, (jnp.float32(-LOG_RANGE), jnp.float32(LOG_RANGE)))
    return jnp.where((labels >= 0).any(), jnp.exp((low + high) / 2), jnp.nan)
