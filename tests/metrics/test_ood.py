"""Out-of-distribution scores and how well they tell strange from known."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from airbayes.errors import AirbayesError
from airbayes.metrics import mutual_information, predictive_entropy
from airbayes.metrics.ood import auroc, energy, false_alarms, threshold_for_false_alarms, uncertainty_scores


def test_auroc_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    known, strange = rng.integers(0, 8, 40) / 8, rng.integers(2, 10, 25) / 8  # many ties
    pairs = [(s > k) + 0.5 * (s == k) for s in strange for k in known]
    assert auroc(known, strange) == pytest.approx(np.mean(pairs))
    labels = np.repeat([0, 1], [40, 25])
    assert auroc(known, strange) == pytest.approx(roc_auc_score(labels, np.concatenate([known, strange])))
    assert auroc(strange, known) == pytest.approx(1 - auroc(known, strange))
    assert auroc(np.zeros(3), np.zeros(5)) == 0.5
    for bad in (np.array([]), np.array([np.nan])):
        with pytest.raises(AirbayesError, match="some of both"):
            auroc(known, bad)


def test_false_alarms_are_counted_where_enough_is_found():
    known, strange = np.arange(100) / 100, 0.5 + np.arange(20) / 40
    # 19 of the 20 strange ones are at or above 0.525: 47 of the known ones are, too.
    assert false_alarms(known, strange) == pytest.approx(np.mean(known >= 0.525))
    assert false_alarms(known, strange, 1.0) == pytest.approx(np.mean(known >= 0.5))
    assert false_alarms(known, strange + 1) == 0


def test_a_threshold_for_false_alarms_keeps_its_rate():
    """Of 19 known objects and one more, exchangeable: it is the highest, and flagged, once in 20."""
    known = np.arange(19, dtype=float)
    limit = threshold_for_false_alarms(known, 0.05)
    assert limit > 18 >= np.nextafter(np.float32(limit), np.float32(0))
    assert threshold_for_false_alarms(known[:18], 0.05) == np.inf  # too few to say so
    whole = np.random.default_rng(3).normal(size=20).astype(np.float32).astype(float)
    for rate, most in ((0.05, 1), (0.1, 2), (0.5, 10)):
        flagged = sum(whole[i] >= threshold_for_false_alarms(np.delete(whole, i), rate) for i in range(20))
        assert flagged == most
    assert threshold_for_false_alarms(np.zeros(30), 0.1) > 0  # one θ: no mutual information, so no alarm
    for rate in (0.0, 1.0, np.nan):
        with pytest.raises(AirbayesError, match="--false-alarms"):
            threshold_for_false_alarms(known, rate)


def test_uncertainty_has_two_parts():
    rng = np.random.default_rng(1)
    samples = rng.dirichlet(np.ones(3), size=(6, 50)).astype(np.float32)
    samples[:, 0] = [1, 0, 0]  # certain: 0·log 0 = 0
    mean, information = samples.mean(axis=0), np.asarray(mutual_information(jnp.asarray(samples)))
    found = uncertainty_scores(mean, information)
    np.testing.assert_allclose(found["entropy"], predictive_entropy(jnp.asarray(mean)), atol=1e-6)
    np.testing.assert_allclose(found["entropy"], found["mutual_information"] + found["expected_entropy"], atol=1e-7)
    each = np.asarray(predictive_entropy(jnp.asarray(samples))).mean(axis=0)
    np.testing.assert_allclose(found["expected_entropy"], each, atol=1e-6)
    np.testing.assert_allclose(found["confidence"], 1 - mean.max(axis=1), atol=1e-7)
    assert all(abs(values[0]) < 1e-6 for values in found.values())


def test_energy_is_minus_the_mean_log_sum_exp():
    scores = np.random.default_rng(2).normal(size=(4, 9, 3)).astype(np.float32) * 300  # no overflow
    np.testing.assert_allclose(energy(scores), -logsumexp(scores.astype(float), axis=-1).mean(axis=0), rtol=1e-12)
