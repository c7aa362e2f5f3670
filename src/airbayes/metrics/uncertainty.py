"""How uncertain a prediction is, and how much of that the parameters are to blame for.

    H(p) = −Σ_c p_c log p_c             total uncertainty
    I    = H(mean_s p_s) − mean_s H(p_s)   what knowing θ would remove (epistemic)

All of it in nats.
"""

import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Float

from airbayes.metrics.check import check_probabilities


def predictive_entropy(probabilities: Float[Array, "*example cls"]) -> Float[Array, "*example"]:
    """H(p) of each example, between 0 and log C; 0·log 0 = 0."""
    check_probabilities(probabilities)
    return jnp.sum(entr(probabilities), axis=-1)


def mutual_information(samples: Float[Array, "sample *example cls"]) -> Float[Array, "*example"]:
    """I of each example, from the predictions of S posterior samples; between 0 and log min(C, S)."""
    return mutual_information_from_means(jnp.mean(samples, axis=0), jnp.mean(predictive_entropy(samples), axis=0))


def mutual_information_from_means(
    mean_probabilities: Float[Array, "*example cls"], mean_entropy: Float[Array, "*example"]
) -> Float[Array, "*example"]:
    """I of each example, from mean_s p_s and mean_s H(p_s), which `RunningPredictive` keeps.

    A difference of two float32 numbers of order one: absolute error about 1e-7; rounding below 0 is cut.
    """
    return jnp.maximum(predictive_entropy(mean_probabilities) - mean_entropy, 0.0)
