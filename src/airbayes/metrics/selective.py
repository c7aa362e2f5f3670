"""Selective prediction: answer where the confidence κ is high enough, and leave the rest to somebody else.

    coverage(t) = P(κ > t)        risk(t) = P(wrong | κ > t)

Risk–coverage curve: objects by decreasing κ; risk_k is the share of wrong ones among the first k of n.

    AURC = (1/n) Σ_k risk_k ,     excess AURC = AURC − that of an order with all wrong ones last

Equal confidences come in no order: their errors are shared evenly among them.

A threshold that keeps risk(t) ≤ r with probability 1 − δ over the n validation objects (IID, and like those to come):
candidates are the confidences at ranks k_j = ⌈jn/m⌉, j = 1..m, and "everything". Given the value at rank k, the k − 1
objects above it are an IID sample of {κ > t}, so with e of them wrong

    risk(t) ≤ the (1 − δ_j) quantile of Beta(e + 1, k − 1 − e)      (Clopper–Pearson),  with probability 1 − δ_j

and δ_j = δ/(m + 1) makes all of these bounds hold at once: the most answering candidate that is good enough may be
taken. The ranks do not depend on what the objects are, which is what makes this exact. (Searching for the rank on the
same objects, with δ shared among the steps of the search only, is not.)

On the host, float64.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from airbayes.errors import AirbayesError

CANDIDATES = 10  # m


@dataclasses.dataclass(frozen=True)
class RiskCoverage:
    """The curve after each object, most confident first."""

    coverage: Float[np.ndarray, " object"]  # k/n
    risk: Float[np.ndarray, " object"]

    @property
    def aurc(self) -> float:
        return float(self.risk.mean())

    @property
    def excess_aurc(self) -> float:
        count = len(self.risk)
        wrong = round(float(self.risk[-1]) * count)
        last = np.maximum(np.arange(1, count + 1) - (count - wrong), 0) / np.arange(1, count + 1)
        return max(self.aurc - float(last.mean()), 0.0)


@dataclasses.dataclass(frozen=True)
class Threshold:
    """Answer where κ > `value`. Then the risk is at most `bound`, with the probability asked for."""

    value: float  # inf: never answer, no candidate was good enough; -inf: always answer
    bound: float
    answered: int  # validation objects above it
    wrong: int  # of them


def risk_coverage(confidence: Float[np.ndarray, " object"], wrong: Bool[np.ndarray, " object"]) -> RiskCoverage:
    """The curve of a set of answers; NaN confidences, which no threshold can order, are refused."""
    if not len(confidence) or np.isnan(confidence).any():
        raise AirbayesError("A risk-coverage curve needs at least one object, and no NaN among the confidences.")
    order = np.argsort(-confidence, kind="stable")
    ranked, errors = confidence[order], wrong[order].astype(np.float64)
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    sizes = np.diff(np.concatenate([starts, [len(ranked)]]))
    shared = np.repeat(np.add.reduceat(errors, starts) / sizes, sizes)
    rank = np.arange(1, len(ranked) + 1)
    return RiskCoverage(rank / len(ranked), np.cumsum(shared) / rank)


def clopper_pearson_upper(wrong: int, count: int, delta: float) -> float:
    """An upper bound of a probability from `wrong` in `count` trials, too low with probability at most δ."""
    from scipy.special import betaincinv

    return 1.0 if wrong >= count else float(betaincinv(wrong + 1, count - wrong, 1 - delta))


def least_for_risk(max_risk: float, delta: float) -> int:
    """Answered validation objects, none of them wrong, that promise a risk: 1 − (δ/(m + 1))^(1/k) ≤ r. Fewer cannot."""
    count = max(int(np.log(delta / (CANDIDATES + 1)) / np.log1p(-max_risk)) - 1, 1)
    while clopper_pearson_upper(0, count, delta / (CANDIDATES + 1)) > max_risk:
        count += 1
    return count


def candidates(
    confidence: Float[np.ndarray, " object"], wrong: Bool[np.ndarray, " object"], delta: float
) -> list[Threshold]:
    """Those of the head of this file, from the one that answers least; with probability 1 − δ all bounds hold."""
    if not 0 < delta < 1:
        raise AirbayesError(f"δ = {delta} must lie between 0 and 1.")
    if np.isnan(confidence).any():
        raise AirbayesError("A confidence is NaN: no threshold can be chosen.")
    count = len(confidence)
    ranked = -np.sort(-confidence)
    ranks = {-(-j * count // CANDIDATES) for j in range(1, CANDIDATES + 1) if count}
    found = []
    for value in [float(ranked[rank - 1]) for rank in sorted(ranks)] + [-np.inf]:
        above = confidence > value
        answered, errors = int(above.sum()), int((above & wrong).sum())
        bound = clopper_pearson_upper(errors, answered, delta / (CANDIDATES + 1))
        found.append(Threshold(value, bound, answered, errors))
    return found


def threshold_for_risk(
    confidence: Float[np.ndarray, " object"], wrong: Bool[np.ndarray, " object"], max_risk: float, delta: float
) -> Threshold:
    """The candidate that answers most with a bound of at most `max_risk`; `inf` where none has."""
    if not (0 < max_risk < 1 and 0 < delta < 1):
        raise AirbayesError(f"A wanted error of {max_risk} at δ = {delta}: both must lie between 0 and 1.")
    good = [each for each in candidates(confidence, wrong, delta) if each.bound <= max_risk]
    return good[-1] if good else Threshold(np.inf, 0.0, 0, 0)  # who never answers is never wrong


def safest(
    confidence: Float[np.ndarray, " object"], wrong: Bool[np.ndarray, " object"], delta: float
) -> Threshold | None:
    """The candidate with the least bound, of equals the one that answers most; None where nothing can be promised.

    All bounds hold at once, so this one holds as well, although it is named after looking at them.
    """
    best = min(candidates(confidence, wrong, delta), key=lambda each: (each.bound, -each.answered))
    return best if best.bound < 1 else None
