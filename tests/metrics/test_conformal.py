"""Conformal sets: the exact law of their coverage, scores against brute force, and mutants that must be caught."""

import math

import numpy as np
import pytest
from scipy import stats

from airbayes.errors import AirbayesError
from airbayes.metrics.conformal import (
    SET_KINDS,
    aps_scores,
    calibrate,
    conformal_quantile,
    coverage_interval,
    lac_scores,
    least_for_coverage,
    prediction_sets,
    rank_for,
    scores_for,
)

FALSE_ALARM = 1e-4
COUNT, COVERAGE = 19, 0.9  # rank 18: coverage ~ Beta(18, 2)


def test_coverage_given_the_calibration_objects_has_its_beta_law():
    """Scores uniform in (0, 1): the coverage of new objects is q itself. 4,000 draws, Kolmogorov–Smirnov."""
    draws = np.random.default_rng(0).uniform(size=(4000, COUNT))
    found = [conformal_quantile(scores, COVERAGE) for scores in draws]
    law = stats.beta(18, 2)
    assert stats.kstest(found, law.cdf).pvalue > FALSE_ALARM
    ranked = np.sort(draws, axis=1)
    for wrong_rank in (17, 19):  # mutants: ⌊n(1−α)⌋ = ⌈n(1−α)⌉ − 1, and one too many
        assert stats.kstest(ranked[:, wrong_rank - 1], law.cdf).pvalue < FALSE_ALARM
    assert coverage_interval(COUNT, COVERAGE) == pytest.approx((law.ppf(0.05), law.ppf(0.95)))


@pytest.mark.parametrize(("count", "coverage", "rank"), [(9, 0.9, 9), (19, 0.9, 18), (99, 0.95, 95), (8, 0.9, 9)])
def test_the_rank_is_the_printed_one(count, coverage, rank):
    """Also where (n+1)(1−α) is whole and floating point says a little more."""
    assert rank_for(count, coverage) == rank
    scores = np.random.default_rng(0).permutation(count) + 1.0
    assert conformal_quantile(scores, coverage) == (rank if rank <= count else math.inf)


def trial(kind: str, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether one new object is covered, and whether it would be with a quantile of rank ⌊n(1−α)⌋. The model is wrong:
    its probabilities are those of other logits than the labels come from."""
    logits = rng.normal(size=(COUNT + 1, 4))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    believed = np.exp(3 * np.roll(logits, 1, axis=1) + logits)
    believed /= believed.sum(axis=1, keepdims=True)
    labels = (true.cumsum(axis=1) < rng.uniform(size=(COUNT + 1, 1))).sum(axis=1)
    scores = scores_for(kind, believed, seed=int(rng.integers(2**31)))  # pyright: ignore[reportArgumentType]
    quantile = calibrate(scores[:-1], labels[:-1], COVERAGE)
    of_truth = np.sort(scores[np.arange(COUNT), labels[:-1]])
    low = of_truth[math.floor(COUNT * COVERAGE) - 1]
    return bool(prediction_sets(scores, quantile)[-1, labels[-1]]), bool(scores[-1, labels[-1]] <= low)


@pytest.mark.parametrize("kind", SET_KINDS)
def test_sets_cover_as_often_as_promised_whatever_the_model(kind):
    """Without ties exactly k/(n+1) = 0.9 of the time; APS that is not randomised ties at 1, and covers more."""
    rng, trials = np.random.default_rng(1), 4000
    found = np.array([trial(kind, rng) for _ in range(trials)]).sum(axis=0)
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], trials, 18 / 20)
    assert low <= found[0]
    if kind != "aps":
        assert found[0] <= high
        assert found[1] < low  # the mutant


def test_aps_scores_are_the_sums_as_printed():
    rng = np.random.default_rng(2)
    probabilities = rng.dirichlet(np.ones(5), 30).astype(np.float32)
    probabilities[0] = 0.2  # all equal: the first comes first
    uniform = rng.uniform(size=30)
    for shares in (None, uniform):
        found = aps_scores(probabilities, shares)
        for row in range(30):
            for label in range(5):
                p = probabilities[row].astype(float)
                before = sum(p[c] for c in range(5) if p[c] > p[label] or (p[c] == p[label] and c < label))
                expected = before + (1 if shares is None else shares[row]) * p[label]
                assert found[row, label] == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(lac_scores(probabilities), 1 - probabilities.astype(float))


def test_sets_may_be_empty_and_say_so():
    """Calibrated where p is 0.6 and right, so q is that of p = 0.6; a surer object is empty in APS, a less sure one in
    LAC. Adding the first class would keep the promise and no longer be the score that was calibrated."""
    unsure, sure, lost = (np.tile(p, (20, 1)) for p in ([0.6, 0.3, 0.1], [0.9, 0.06, 0.04], [0.4, 0.3, 0.3]))
    labels = np.zeros(20, int)
    for kind, empty, single in (("aps", sure, lost), ("lac", lost, sure)):
        quantile = calibrate(scores_for(kind, unsure), labels, 0.9)  # pyright: ignore[reportArgumentType]
        sizes = [prediction_sets(scores_for(kind, p), quantile).sum(axis=1) for p in (empty, unsure, single)]  # pyright: ignore[reportArgumentType]
        assert [set(each.tolist()) for each in sizes] == [{0}, {1}, {1}]


def test_sets_are_nested_and_whole_where_too_little_is_known():
    probabilities = np.random.default_rng(3).dirichlet(np.ones(5), 40)
    labels = np.arange(40) % 5
    for kind in SET_KINDS:
        scores = scores_for(kind, probabilities)
        small, large = (prediction_sets(scores, calibrate(scores, labels, c)) for c in (0.5, 0.8))
        assert (small <= large).all()
        assert small.sum() < large.sum()
        assert calibrate(scores[:8], labels[:8], 0.9) == math.inf
        assert prediction_sets(scores, math.inf).all()
        np.testing.assert_array_equal(scores, scores_for(kind, probabilities))
    assert coverage_interval(8, 0.9) == (1.0, 1.0)
    for coverage, least in ((0.9, 9), (0.99, 99), (0.999, 999), (0.5, 1), (0.1, 1), (2 / 3, 2)):
        assert least_for_coverage(coverage) == least
        assert rank_for(least, coverage) <= least
        assert rank_for(least - 1, coverage) > least - 1
    with pytest.raises(AirbayesError, match=r"coverage of 1\.0"):
        rank_for(5, 1.0)
    with pytest.raises(AirbayesError, match="NaN"):
        conformal_quantile(np.array([0.1, np.nan]), 0.5)
