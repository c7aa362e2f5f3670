"""Calibration against netcal's stored values and against exact rational arithmetic."""

import json
import runpy
from fractions import Fraction
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.errors import AirbayesError
from airbayes.metrics import ece, mce, reliability_bins

HERE = Path(__file__).parent
INPUTS = runpy.run_path(str(HERE / "make_reference.py"))["inputs"]
REFERENCE = json.loads((HERE / "reference_calibration.json").read_text())
SCHEMES = ["equal-width", "equal-mass"]
EPS = 1e-6

jitted_bins = eqx.filter_jit(reliability_bins)


@eqx.filter_jit
def both(probabilities, labels, bins, scheme="equal-width"):
    return jnp.stack([ece(probabilities, labels, bins, scheme), mce(probabilities, labels, bins, scheme)])


def two_class(confidence, correct):
    """Predictions of class 0 with these confidences (rows need not sum to one), right where told."""
    confidence = jnp.asarray(confidence, jnp.float32)
    return jnp.stack([confidence, jnp.zeros_like(confidence)], axis=1), jnp.where(jnp.asarray(correct), 0, 1)


def exact_equal_width(confidence, correct, bins):
    """(count, accuracy, confidence) of each bin, edges as defined, in rational arithmetic; None if empty."""
    edges = [Fraction(float(np.float32(i) / np.float32(bins))) for i in range(bins + 1)]
    rows = [(Fraction(float(c)), bool(r)) for c, r in zip(np.asarray(confidence, np.float32), correct, strict=True)]
    result = []
    for i in range(bins):
        last = i == bins - 1
        members = [(c, r) for c, r in rows if edges[i] <= c and (c <= edges[i + 1] if last else c < edges[i + 1])]
        n = len(members)
        means = (Fraction(sum(r for _, r in members), n), sum(c for c, _ in members) / n) if n else (None, None)
        result.append((n, *means))
    return result


def exact_scores(result):
    total = sum(n for n, _, _ in result)
    gaps = [(n, abs(a - c)) for n, a, c in result if n]
    return float(sum(n * gap for n, gap in gaps) / total), float(max(gap for _, gap in gaps))


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: f"seed{case['seed']}")
@pytest.mark.parametrize(("scheme", "suffix"), [("equal-width", ""), ("equal-mass", "_equal_mass")])
def test_ece_and_mce_agree_with_netcal(case, scheme, suffix):
    probabilities, labels = map(jnp.asarray, INPUTS(case["seed"], case["examples"], case["classes"]))
    expected = [case["ece" + suffix], case["mce" + suffix]]
    np.testing.assert_allclose(both(probabilities, labels, case["bins"], scheme), expected, atol=EPS)


@pytest.mark.parametrize("bins", [1, 3, 10, 15, 16, 49])
def test_a_confidence_on_an_edge_belongs_to_the_upper_bin_and_one_to_the_last(bins):
    edges = np.array([i / bins for i in range(bins + 1)], np.float32)
    below = np.nextafter(edges[1:], np.float32(0))
    confidence = np.concatenate([edges, below])
    where = np.concatenate([np.arange(bins), [bins - 1], np.arange(bins)])  # edge i -> bin i, just below -> i − 1
    probabilities, labels = two_class(confidence, np.ones(len(confidence), bool))
    # One example at a time: a swap between bins cannot hide in the counts.
    tables = jax.vmap(lambda p, y: jitted_bins(p, y, bins))(probabilities[:, None], labels[:, None])
    np.testing.assert_array_equal(np.asarray(tables.count), np.eye(bins, dtype=int)[where])
    np.testing.assert_array_equal(tables.lower[0], edges[:-1])
    np.testing.assert_array_equal(tables.upper[0], edges[1:])


@pytest.mark.parametrize("bins", [1, 4, 10, 15])
def test_bins_equal_exact_arithmetic_on_edges_zero_and_one(bins):
    rng = np.random.default_rng(bins)
    confidence = np.concatenate([np.arange(61) / 60, np.arange(31) / 30, rng.random(40)]).astype(np.float32)
    correct = rng.random(len(confidence)) < 0.6
    exact = exact_equal_width(confidence, correct, bins)
    assert all(count for count, _, _ in exact)
    table = jitted_bins(*two_class(confidence, correct), bins)
    for i, (count, accuracy, mean) in enumerate(exact):
        assert int(table.count[i]) == count
        assert float(table.accuracy[i]) == pytest.approx(float(accuracy), abs=EPS)
        assert float(table.confidence[i]) == pytest.approx(float(mean), abs=EPS)
    assert (float(table.ece()), float(table.mce())) == pytest.approx(exact_scores(exact), abs=EPS)


def test_empty_bins_are_nan_and_contribute_nothing():
    table = jitted_bins(*two_class([0.95, 0.95, 0.15], [True, False, False]), bins=10)
    np.testing.assert_array_equal(table.count, [0, 1, 0, 0, 0, 0, 0, 0, 0, 2])
    empty = np.asarray(table.count) == 0
    assert np.isnan(np.asarray(table.accuracy)[empty]).all()
    assert np.isnan(np.asarray(table.confidence)[empty]).all()
    assert float(table.ece()) == pytest.approx((2 * 0.45 + 0.15) / 3)
    assert float(table.mce()) == pytest.approx(0.45)


def test_ties_in_argmax_go_to_the_first_class_and_rounding_above_one_to_the_last_bin():
    tied = jnp.array([[0.5, 0.5], [0.5, 0.5]])
    assert float(jitted_bins(tied, jnp.array([0, 1]), 10).accuracy[5]) == 0.5
    assert float(jitted_bins(tied, jnp.array([0, 0]), 10).accuracy[5]) == 1.0
    above = np.nextafter(np.float32(1), np.float32(2))
    assert int(jitted_bins(*two_class([above, 0.0], [True, True]), 10).count[9]) == 1


def test_equal_mass_shares_correctness_between_equal_confidences():
    # A collapsed model on a test set sorted by class: 1/4 right, always with confidence 0.25, so calibrated.
    probabilities, labels = jnp.full((40, 4), 0.25), jnp.repeat(jnp.arange(4), 10)
    np.testing.assert_allclose(both(probabilities, labels, 8, "equal-mass"), 0.0, atol=EPS)


def test_equal_mass_with_more_bins_than_examples_leaves_bins_empty():
    table = jitted_bins(*two_class([0.2, 0.9], [False, True]), bins=5, scheme="equal-mass")
    assert int(table.count.sum()) == 2
    assert int(table.count.max()) == 1
    empty = np.asarray(table.count) == 0
    for column in (table.accuracy, table.confidence, table.lower, table.upper):
        assert (np.isnan(np.asarray(column)) == empty).all()
    assert float(table.ece()) == pytest.approx((0.2 + 0.1) / 2)


predictions = st.sampled_from([1, 23]).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 60).map(lambda k: k / 60), min_size=n, max_size=n),  # many ties, many edges
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.permutations(range(n)),
    )
)


@given(predictions, st.sampled_from([1, 4, 15]), st.sampled_from(SCHEMES))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_bounds_permutation_and_counts(drawn, bins, scheme):
    confidence, correct, order = drawn
    probabilities, labels = two_class(confidence, correct)
    table = jitted_bins(probabilities, labels, bins, scheme)
    assert -EPS <= float(table.ece()) <= float(table.mce()) + EPS <= 1 + 2 * EPS
    count = np.asarray(table.count)
    assert count.sum() == len(confidence)
    full = count > 0
    assert (np.asarray(table.lower)[full] <= np.asarray(table.confidence)[full] + EPS).all()
    assert (np.asarray(table.confidence)[full] <= np.asarray(table.upper)[full] + EPS).all()
    total_hits = float(np.nansum(count * np.asarray(table.accuracy)))
    assert total_hits == pytest.approx(sum(correct), abs=1e-4)
    if scheme == "equal-mass":
        assert count.max() - count.min() <= 1
    else:
        exact = exact_scores(exact_equal_width(confidence, correct, bins))
        assert (float(table.ece()), float(table.mce())) == pytest.approx(exact, abs=EPS)
    shuffled = jitted_bins(probabilities[jnp.array(order)], labels[jnp.array(order)], bins, scheme)
    for left, right in zip(jax.tree.leaves(table), jax.tree.leaves(shuffled), strict=True):
        np.testing.assert_allclose(left, right, atol=EPS)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_vmap_equals_the_loop(scheme):
    batches = [INPUTS(seed, 60, 3) for seed in range(3)]
    probabilities, labels = (jnp.stack([jnp.asarray(batch[i]) for batch in batches]) for i in (0, 1))
    mapped = jax.vmap(lambda p, y: jitted_bins(p, y, 7, scheme))(probabilities, labels)
    for i in range(3):
        alone = jitted_bins(probabilities[i], labels[i], 7, scheme)
        for left, right in zip(jax.tree.leaves(mapped), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(left[i], right, rtol=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nan_probabilities_give_nan(scheme):
    probabilities, labels = two_class([0.3, np.nan, 0.8], [True, True, False])
    assert jnp.isnan(both(probabilities, labels, 5, scheme)).all()


def test_nonsense_is_refused():
    with pytest.raises(AirbayesError, match="number of bins must be an integer from 1 on, got 0"):
        ece(*two_class([0.5], [True]), bins=0)
    with pytest.raises(AirbayesError, match=r"'quantile'.*equal-mass"):
        ece(*two_class([0.5], [True]), scheme="quantile")
