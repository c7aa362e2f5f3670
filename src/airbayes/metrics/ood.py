"""Is this an object of a class that was never learned? Scores that should be higher where it is.

    confidence           1 − max_c p_c
    entropy              H(p)                      all of the uncertainty
    mutual information   H(p) − mean_s H(p_s)      its epistemic part: the samples of θ disagree
    expected entropy     mean_s H(p_s)             its aleatoric part: the samples agree that it is unclear
    energy               −mean_s log Σ_c exp z_sc  of the outputs z before the softmax

    AUROC = P(score of a strange object > score of a known one) + ½ P(equal)

½ is chance. An alarm goes off where a score is at least t. To find a share of the strange objects, t is one of their
scores; to give a known object a false alarm with probability at most a, t is the next float32 above the score of rank
⌈(1 − a)(n + 1)⌉ among n known objects (exchangeable with those to come, as for `metrics.conformal`).

On the host, float64.
"""

import numpy as np
from jaxtyping import Float

from airbayes.errors import AirbayesError


def uncertainty_scores(
    probabilities: Float[np.ndarray, "object cls"], mutual_information: Float[np.ndarray, " object"]
) -> dict[str, Float[np.ndarray, " object"]]:
    """The scores that follow from the predictive mean and the mutual information; name → score."""
    exact = probabilities.astype(np.float64)
    entropy = -np.sum(exact * np.log(np.where(exact > 0, exact, 1.0)), axis=1)
    information = mutual_information.astype(np.float64)
    return {
        "confidence": 1.0 - exact.max(axis=1),
        "entropy": entropy,
        "mutual_information": information,
        "expected_entropy": np.maximum(entropy - information, 0.0),
    }


def energy(scores: Float[np.ndarray, "sample object cls"]) -> Float[np.ndarray, " object"]:
    """−mean_s log Σ_c exp z_sc."""
    exact = scores.astype(np.float64)
    top = exact.max(axis=-1, keepdims=True)
    return -np.mean(top[..., 0] + np.log(np.sum(np.exp(exact - top), axis=-1)), axis=0)


def auroc(known: Float[np.ndarray, " object"], strange: Float[np.ndarray, " other"]) -> float:
    """The probability that a strange object scores higher than a known one; equals count half."""
    _check(known, strange)
    ranked = np.sort(known)
    below, not_above = (np.searchsorted(ranked, strange, side) for side in ("left", "right"))
    return float((below + not_above).sum() / (2 * len(known) * len(strange)))


def false_alarms(
    known: Float[np.ndarray, " object"], strange: Float[np.ndarray, " other"], found: float = 0.95
) -> float:
    """The share of known objects that is flagged when the threshold finds at least `found` of the strange ones."""
    _check(known, strange)
    return float(np.mean(known >= threshold_to_find(strange, found)))


def threshold_to_find(strange: Float[np.ndarray, " object"], found: float = 0.95) -> float:
    """The largest t with at least this share of the strange objects at or above it."""
    needed = int(np.ceil(found * len(strange) - 1e-9))
    return float(np.sort(strange)[len(strange) - needed])


def threshold_for_false_alarms(known: Float[np.ndarray, " object"], rate: float) -> float:
    """The t that a new known object reaches with probability at most `rate`; inf where there are too few to say so."""
    if not 0 < rate < 1:
        raise AirbayesError(f"--false-alarms {rate}: need a number between 0 and 1.")
    rank = int(np.ceil((1 - rate) * (len(known) + 1) - 1e-9))
    below = np.inf if rank > len(known) else np.sort(known)[rank - 1]
    return float(np.nextafter(np.float32(below), np.float32(np.inf)))


def _check(known: np.ndarray, strange: np.ndarray) -> None:
    if not len(known) or not len(strange) or np.isnan(known).any() or np.isnan(strange).any():
        raise AirbayesError(
            "Telling strange objects from known ones needs some of both, without NaN; "
            f"got {len(strange)} and {len(known)}."
        )
