"""Scores against scikit-learn's stored values, closed forms, and the corners (log 0, NaN, absent classes)."""

import json
import math
import runpy
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from unchecked import answers

from airbayes import metrics

HERE = Path(__file__).parent
INPUTS = runpy.run_path(str(HERE / "make_reference.py"))["inputs"]
REFERENCE = json.loads((HERE / "reference_calibration.json").read_text())
SCORES = (metrics.accuracy, metrics.balanced_accuracy, metrics.brier, metrics.nll)


def every_score(probabilities, labels):
    table = {score.__name__: score(probabilities, labels) for score in (*SCORES, metrics.confusion_matrix)}
    return table | {"nll_from_log": metrics.nll_from_log(jnp.log(probabilities), labels)}


scores = jax.jit(every_score)


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: f"seed{case['seed']}")
def test_scores_agree_with_scikit_learn(case):
    probabilities, labels = map(jnp.asarray, INPUTS(case["seed"], case["examples"], case["classes"]))
    ours = scores(probabilities, labels)
    for name in ("accuracy", "balanced_accuracy", "brier", "nll"):
        assert float(ours[name]) == pytest.approx(case[name], rel=2e-6)
    assert float(ours["nll_from_log"]) == pytest.approx(case["nll"], rel=2e-6)
    np.testing.assert_array_equal(ours["confusion_matrix"], case["confusion_matrix"])


@pytest.mark.parametrize("classes", [2, 6])
def test_uniform_and_certain_predictions_have_closed_forms(classes):
    labels = jnp.arange(classes)
    uniform = scores(jnp.full((classes, classes), 1 / classes), labels)
    assert float(uniform["brier"]) == pytest.approx(1 - 1 / classes)
    assert float(uniform["nll"]) == pytest.approx(math.log(classes))
    assert float(uniform["accuracy"]) == pytest.approx(1 / classes)  # ties go to class 0
    certain = scores(jnp.eye(classes), labels)
    assert [float(certain[score.__name__]) for score in SCORES] == [1.0, 1.0, 0.0, 0.0]
    wrong = scores(jnp.eye(classes)[(np.arange(classes) + 1) % classes], labels)
    assert [float(wrong[name]) for name in ("accuracy", "brier")] == [0.0, 2.0]


def test_probability_zero_costs_the_log_of_the_smallest_normal_float():
    probabilities, labels = jnp.array([[0.0, 1.0], [1.0, 0.0]]), jnp.array([0, 0])
    ours, worst = scores(probabilities, labels), -math.log(np.finfo(np.float32).tiny)
    assert float(ours["nll"]) == pytest.approx(worst / 2)
    assert float(ours["nll_from_log"]) == math.inf


def test_probability_zero_costs_the_same_in_float64_of_numpy():
    """int(inf) is an error."""
    setup = "import numpy as np; from airbayes import metrics"
    mistake = "int(metrics.nll(np.eye(2), np.array([1, 0])))"
    assert answers(setup, [mistake]) == {mistake: "no error"}


def test_balanced_accuracy_leaves_out_classes_without_examples():
    probabilities, labels = jnp.eye(4)[jnp.array([0, 0, 0, 1])], jnp.array([0, 0, 0, 2])
    ours = scores(probabilities, labels)
    assert (float(ours["balanced_accuracy"]), float(ours["accuracy"])) == (0.5, 0.75)


def test_a_diverged_model_scores_nan_and_leaves_the_confusion_matrix():
    probabilities, labels = jnp.array([[0.9, 0.1], [jnp.nan, 0.5]]), jnp.array([0, 0])
    ours = scores(probabilities, labels)
    np.testing.assert_array_equal(ours.pop("confusion_matrix"), [[1, 0], [0, 0]])
    assert all(math.isnan(value) for value in ours.values())


def test_vmap_and_jit_equal_the_loop():
    batches = [INPUTS(seed, 50, 4) for seed in range(3)]
    probabilities, labels = (jnp.stack([jnp.asarray(batch[i]) for batch in batches]) for i in (0, 1))
    mapped = jax.vmap(scores)(probabilities, labels)
    for i in range(3):
        for name, value in every_score(probabilities[i], labels[i]).items():
            np.testing.assert_allclose(mapped[name][i], value, rtol=1e-6)


def test_padding_counts_for_nothing():
    """Every score of a padded set is that of the set: negative labels mark what is not there."""
    scores = jax.nn.softmax(2 * jax.random.normal(jax.random.key(3), (50, 4)))
    labels = jax.random.randint(jax.random.key(4), (50,), 0, 4)
    padded = jnp.concatenate([scores, jnp.full((9, 4), 0.25)])
    padded_labels = jnp.concatenate([labels, jnp.full(9, -1)])
    for score in (metrics.accuracy, metrics.balanced_accuracy, metrics.brier, metrics.nll, metrics.ece, metrics.mce):
        assert float(score(padded, padded_labels)) == pytest.approx(float(score(scores, labels)), abs=1e-6), score
    assert int(metrics.confusion_matrix(padded, padded_labels).sum()) == 50
    assert float(metrics.mean_over_real(jnp.arange(59.0), padded_labels)) == pytest.approx(24.5)
    fitted, alone = (metrics.fit_temperature(jnp.log(p), y) for p, y in ((padded, padded_labels), (scores, labels)))
    assert float(fitted) == pytest.approx(float(alone), rel=0.02)  # a flat minimum
