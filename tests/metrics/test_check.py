"""Scores refuse what are no probabilities or labels, where they can be looked at."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.errors import AirbayesError
from airbayes.metrics import accuracy, balanced_accuracy, brier, ece, mce, nll, nll_from_log, reliability_bins

LOGITS = jnp.asarray(np.random.default_rng(0).normal(size=(20, 3)), jnp.float32)
GOOD = jax.nn.softmax(LOGITS)
LABELS = jnp.arange(20) % 3


@pytest.mark.parametrize("score", [ece, mce, reliability_bins, brier, nll])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (jnp.log(GOOD), r"Row 0 holds no probabilities: .* least entry -.*jnp.exp\(log_probabilities\)"),
        (LOGITS, r"holds no probabilities: .*jax.nn.softmax\(outputs\)"),
        (GOOD.at[4].multiply(2.0), "Row 4 holds no probabilities: its sum is 2"),
    ],
    ids=["log", "outputs", "twice"],
)
def test_values_that_are_no_probabilities(score, values, message):
    with pytest.raises(AirbayesError, match=message):
        score(values, LABELS)


@pytest.mark.parametrize("score", [ece, brier, nll, nll_from_log, accuracy, balanced_accuracy])
def test_labels_beyond_the_classes(score):
    with pytest.raises(AirbayesError, match=r"Example 2 has the label 3: 3 classes have labels 0 to 2. Number classes"):
        score(GOOD, LABELS + 1)
    score(jnp.log(GOOD) if score is nll_from_log else GOOD, LABELS - 1)  # padding


@pytest.mark.parametrize("score", [ece, brier, nll])
def test_nothing_is_looked_at_under_jit_and_vmap(score):
    """What it would refuse passes: no value is fetched from the device."""
    bad, labels = jnp.stack([2 * GOOD, GOOD]), jnp.stack([LABELS, LABELS + 1])
    found = jax.vmap(score)(bad, labels)
    np.testing.assert_allclose(jax.jit(jax.vmap(score))(bad, labels), found, rtol=1e-5)


def test_rounded_probabilities_and_those_of_a_diverged_model_pass():
    assert np.isfinite(float(brier(GOOD.astype(jnp.float16).astype(jnp.float32), LABELS)))
    assert np.isnan(float(brier(GOOD.at[3].set(jnp.nan), LABELS)))
