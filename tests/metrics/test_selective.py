"""Selective prediction against brute force, closed forms, and a model whose risk is known."""

import itertools

import numpy as np
import pytest
from scipy import stats

from airbayes.errors import AirbayesError
from airbayes.metrics.selective import (
    CANDIDATES,
    Threshold,
    candidates,
    clopper_pearson_upper,
    least_for_risk,
    risk_coverage,
    safest,
    threshold_for_risk,
)

FALSE_ALARM = 1e-4


def test_the_curve_is_the_mean_over_all_orders_of_equals():
    confidence = np.array([0.9, 0.5, 0.5, 0.5, 0.7, 0.2])
    wrong = np.array([False, True, False, True, True, False])
    curves = []
    for order in itertools.permutations(range(6)):
        if (np.diff(confidence[list(order)]) <= 0).all():
            curves.append(np.cumsum(wrong[list(order)]) / np.arange(1, 7))
    found = risk_coverage(confidence, wrong)
    assert len(curves) == 6
    np.testing.assert_allclose(found.risk, np.mean(curves, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.coverage, np.arange(1, 7) / 6)
    assert found.aurc == pytest.approx(np.mean(curves))


def test_the_area_of_orders_that_are_known():
    wrong = np.repeat([False, True], [60, 40])
    best = risk_coverage(1.0 - wrong, wrong)  # two values only: ties within the right and within the wrong
    assert best.excess_aurc == pytest.approx(0, abs=1e-12)
    assert best.aurc == pytest.approx(sum((k - 60) / k for k in range(61, 101)) / 100)
    blind = risk_coverage(np.full(100, 0.3), wrong)
    np.testing.assert_allclose(blind.risk, 0.4)
    assert risk_coverage(wrong * 1.0, wrong).aurc > blind.aurc > best.aurc
    assert risk_coverage(np.ones(5), np.zeros(5, bool)).excess_aurc == 0
    for confidence in (np.array([]), np.array([0.5, np.nan])):
        with pytest.raises(AirbayesError, match="NaN"):
            risk_coverage(confidence, np.zeros(len(confidence), bool))


@pytest.mark.parametrize(("wrong", "count", "delta"), [(0, 59, 0.05), (3, 100, 0.01), (99, 100, 0.2)])
def test_the_bound_leaves_exactly_delta_below(wrong, count, delta):
    bound = clopper_pearson_upper(wrong, count, delta)
    assert stats.binom.cdf(wrong, count, bound) == pytest.approx(delta, rel=1e-6)


def test_the_bound_without_anything_known():
    assert clopper_pearson_upper(5, 5, 0.1) == clopper_pearson_upper(0, 0, 0.1) == 1.0


@pytest.mark.parametrize(("max_risk", "delta", "least"), [(0.05, 0.1, 92), (0.01, 0.1, 468), (0.5, 0.9, 4)])
def test_fewer_than_the_least_cannot_promise_anything(max_risk, delta, least):
    assert least_for_risk(max_risk, delta) == least
    for count, answers in ((least - 1, False), (least, True)):
        found = threshold_for_risk(np.linspace(0.5, 1, count), np.zeros(count, bool), max_risk, delta)
        assert (found.value < np.inf) == answers


@pytest.mark.parametrize("seed", range(20))
def test_the_safest_has_the_least_bound_and_may_be_asked_for(seed):
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(size=rng.integers(0, 150)).round(int(rng.integers(1, 4)))  # with ties
    wrong, delta = rng.uniform(size=len(confidence)) > confidence, rng.uniform(0.01, 0.5)
    found, all_of_them = safest(confidence, wrong, delta), candidates(confidence, wrong, delta)
    least = min(each.bound for each in all_of_them)
    if found is None:
        assert least == 1
        return
    assert found.bound == least < 1
    assert found.answered == max(each.answered for each in all_of_them if each.bound == least) > 0
    assert threshold_for_risk(confidence, wrong, least, delta).bound == least
    assert threshold_for_risk(confidence, wrong, least * (1 - 1e-9), delta).answered == 0


def test_nothing_is_safe_where_nothing_is_known():
    assert safest(np.array([]), np.zeros(0, bool), 0.1) is None
    assert safest(np.array([0.2, 0.9]), np.ones(2, bool), 0.1) is None
    bound = clopper_pearson_upper(0, 40, 0.1 / (CANDIDATES + 1))
    everything = Threshold(-np.inf, bound, 40, 0)  # all of them right
    assert safest(np.linspace(0.5, 1, 40), np.zeros(40, bool), 0.1) == everything


def violations(choose, trials=3000, count=200, max_risk=0.2) -> int:
    """How often the true risk is above what was asked for; κ is uniform, P(wrong | κ) = 1 − κ, risk(t) = (1 − t)/2."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(trials):
        confidence = rng.uniform(size=count)
        wrong = rng.uniform(size=count) > confidence
        value = choose(confidence, wrong, max_risk)
        found += value < 1 and (1 - max(value, 0.0)) / 2 > max_risk
    return found


def safest_violations(delta: float, trials: int = 3000, count: int = 100) -> int:
    """How often the true risk of the safest candidate is above its bound, in the same model."""
    rng = np.random.default_rng(1)
    broken = 0
    for _ in range(trials):
        confidence = rng.uniform(size=count)
        found = safest(confidence, rng.uniform(size=count) > confidence, delta)
        broken += found is not None and (1 - max(found.value, 0.0)) / 2 > found.bound
    return broken


def test_the_promise_holds_where_the_risk_is_known():
    """At most δ of the choices may break it: 3,000 independent choices, false alarms 1e-4."""
    delta = 0.1
    limit = stats.binom.ppf(1 - FALSE_ALARM, 3000, delta)
    broken = violations(lambda kappa, wrong, risk: threshold_for_risk(kappa, wrong, risk, delta).value)
    assert broken <= limit
    assert safest_violations(delta) <= limit

    def by_the_empirical_risk(confidence, wrong, max_risk):  # a mutant: what was seen, without a bound
        good = [t for t in np.sort(confidence)[:-1] if wrong[confidence > t].mean() <= max_risk]
        return min(good, default=np.inf)

    assert violations(by_the_empirical_risk, 300) > stats.binom.ppf(1 - FALSE_ALARM, 300, delta)


def test_a_threshold_answers_as_much_as_it_may():
    confidence = np.arange(200) / 200
    wrong = confidence < 0.3
    found = threshold_for_risk(confidence, wrong, 0.05, 0.1)
    above = confidence > found.value
    assert (found.answered, found.wrong) == (above.sum(), (above & wrong).sum())
    assert found.bound <= 0.05
    assert found.bound == clopper_pearson_upper(found.wrong, found.answered, 0.1 / (CANDIDATES + 1))
    assert 0.6 < above.mean() < 0.75  # the candidates are tenths
    always = threshold_for_risk(confidence, np.zeros(200, bool), 0.05, 0.1)
    assert always.value == -np.inf
    assert always.answered == 200
    never = threshold_for_risk(confidence[:40], np.zeros(40, bool), 0.05, 0.1)  # too few to promise 5 %
    assert never == Threshold(np.inf, 0.0, 0, 0)
    assert threshold_for_risk(np.array([]), np.zeros(0, bool), 0.05, 0.1) == never
    with pytest.raises(AirbayesError, match=r"1\.5"):
        threshold_for_risk(confidence, wrong, 1.5, 0.1)
