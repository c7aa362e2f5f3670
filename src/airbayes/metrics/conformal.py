"""Split conformal prediction: sets of classes that hold the true one with a wanted probability 1 − α.

    scores s_i = s(x_i, y_i) of n calibration objects,   q = their ⌈(n+1)(1−α)⌉-th smallest (∞ if that exceeds n)
    set(x) = { y : s(x, y) ≤ q }

If the calibration objects and the new one are exchangeable, P(y ∈ set(x)) ≥ 1 − α, whatever the model: over the draw of
both. Given the calibration objects, with scores that do not tie, the coverage of new ones is itself a random number,

    coverage ~ Beta(k, n + 1 − k) ,   k = ⌈(n+1)(1−α)⌉ .

    LAC   s = 1 − p_y                                     smallest sets on average
    APS   s = Σ_{c before y} p_c + u p_y                  classes by decreasing p; u uniform in (0, 1], one per object

APS fits the sets better to each object. With u = 1 throughout it is not randomised: as valid, as a rule larger sets.
All kinds may be empty: LAC where no p_y reaches 1 − q, APS where already the first class exceeds q.

On the host, float64.
"""

import math
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from airbayes.errors import AirbayesError
from airbayes.metrics.check import check_labels

Scores = Float[np.ndarray, "object cls"]


def lac_scores(probabilities: Float[np.ndarray, "object cls"]) -> Scores:
    """s(x, y) of every class."""
    return 1.0 - probabilities.astype(np.float64)


def aps_scores(
    probabilities: Float[np.ndarray, "object cls"], uniform: Float[np.ndarray, " object"] | None = None
) -> Scores:
    """s(x, y) of every class; without `uniform` not randomised. Of equal classes the first comes first."""
    exact = probabilities.astype(np.float64)
    order = np.argsort(-exact, axis=1, kind="stable")
    ranked = np.take_along_axis(exact, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    share = 1.0 if uniform is None else uniform[:, None]
    scores = np.empty_like(exact)
    np.put_along_axis(scores, order, before + share * ranked, axis=1)
    return scores


def rank_for(count: int, coverage: float) -> int:
    """k = ⌈(n+1)(1−α)⌉, which may be n + 1."""
    if not 0 < coverage < 1:
        raise AirbayesError(f"A coverage of {coverage}: need a number between 0 and 1, for example 0.9.")
    return math.ceil((count + 1) * coverage - 1e-9)  # 0.9·10 is 9, not 9.000000000000002


def least_for_coverage(coverage: float) -> int:
    """Calibration objects from which on a quantile is finite: the least n with ⌈(n+1)(1−α)⌉ ≤ n."""
    count = max(math.floor(coverage / (1 - coverage)) - 1, 1)
    while rank_for(count, coverage) > count:
        count += 1
    return count


def conformal_quantile(scores: Float[np.ndarray, " object"], coverage: float) -> float:
    """q from the scores of the true classes; inf when there are too few objects for the coverage asked for."""
    if np.isnan(scores).any():
        raise AirbayesError("A conformal score is NaN: the model has no prediction for a calibration object.")
    rank = rank_for(len(scores), coverage)
    return math.inf if rank > len(scores) else float(np.sort(scores)[rank - 1])


def calibrate(scores: Scores, labels: Int[np.ndarray, " object"], coverage: float) -> float:
    """q from the scores of all classes of the calibration objects."""
    check_labels(scores, labels)
    if np.any(labels < 0):
        raise AirbayesError("A negative label marks padding, which calibrates nothing: leave these objects out.")
    return conformal_quantile(scores[np.arange(len(labels)), labels], coverage)


def prediction_sets(scores: Scores, quantile: float) -> Bool[np.ndarray, "object cls"]:
    return scores <= quantile


def coverage_interval(count: int, coverage: float, probability: float = 0.9) -> tuple[float, float]:
    """Where the coverage of new objects lies with this probability over the calibration objects (no ties)."""
    from scipy.special import betaincinv

    rank = rank_for(count, coverage)
    if rank > count:
        return 1.0, 1.0
    tail = (1 - probability) / 2
    low, high = (float(betaincinv(rank, count + 1 - rank, at)) for at in (tail, 1 - tail))
    return low, high


SetKind = Literal["lac", "aps", "aps-randomised"]
SET_KINDS: tuple[SetKind, ...] = ("lac", "aps", "aps-randomised")


def scores_for(kind: SetKind, probabilities: Float[np.ndarray, "object cls"], seed: int = 0) -> Scores:
    """Scores by name. The u of randomised APS follow from `seed`: an answer repeats."""
    if kind == "lac":
        return lac_scores(probabilities)
    if kind == "aps":
        return aps_scores(probabilities)
    if kind != "aps-randomised":
        raise AirbayesError(f"Unknown prediction sets {kind!r}. Choose one of {', '.join(SET_KINDS)}.")
    return aps_scores(probabilities, 1.0 - np.random.default_rng(seed).uniform(size=len(probabilities)))
