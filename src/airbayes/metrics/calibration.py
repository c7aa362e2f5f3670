"""Calibration: does a confidence of 0.8 come true 80 % of the time?

    ECE = Σ_b (n_b/n) |acc_b − conf_b|      MCE = max_b |acc_b − conf_b|

The confidence of an example is max_c p_c; it is right when argmax_c p_c (the first of equals) is its label. A negative
label marks padding, which no equal-width bin holds (equal-mass bins take no padding).
Bins over the confidence, T of them:

- equal-width: bin i is [e_i, e_{i+1}), the last closed, with e_i the float32 nearest to i/T. So float32(0.7),
  a little below 7/10, stands *on* the edge 7/10 and belongs to the upper bin, as one expects of 0.7.
- equal-mass: examples sorted by confidence and cut at ranks ⌊i·n/T⌋: sizes differ by at most one. Equal
  confidences share their mean correctness before the cut, so the order of the examples never matters. (Cut
  in order of appearance, a collapsed model on a test set sorted by class would look badly calibrated.)
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from airbayes.checks import check_count
from airbayes.errors import AirbayesError
from airbayes.metrics.check import check_predictions

SCHEMES = ("equal-width", "equal-mass")


class ReliabilityBins(eqx.Module):
    """What a reliability diagram shows. Empty bins have count 0 and NaN accuracy and confidence."""

    count: Int[Array, " bin"]
    accuracy: Float[Array, " bin"]
    confidence: Float[Array, " bin"]
    lower: Float[Array, " bin"]  # equal-width: edges; equal-mass: least and largest confidence, NaN if empty
    upper: Float[Array, " bin"]

    def ece(self) -> Float[Array, ""]:
        """The expected calibration error; empty bins contribute nothing."""
        return jnp.sum(self.count * self._gap()) / jnp.sum(self.count)

    def mce(self) -> Float[Array, ""]:
        """The largest calibration error of the bins that hold an example."""
        return jnp.max(self._gap())

    def _gap(self) -> Float[Array, " bin"]:
        return jnp.where(self.count > 0, jnp.abs(self.accuracy - self.confidence), 0.0)


def reliability_bins(
    probabilities: Float[Array, "example cls"],
    labels: Int[Array, " example"],
    bins: int = 15,
    scheme: str = "equal-width",
) -> ReliabilityBins:
    """Accuracy and mean confidence by bin of confidence. `bins` and `scheme` are static under jit."""
    check_count("The number of bins", bins, fix="The usual one is 15.")
    if scheme not in SCHEMES:
        raise AirbayesError(f"Unknown binning {scheme!r}. Choose one of {', '.join(SCHEMES)}.")
    check_predictions(probabilities, labels)
    confidence = jnp.max(probabilities, axis=1)
    correct = jnp.argmax(probabilities, axis=1) == labels
    if scheme == "equal-width":
        # Correctly rounded in float32. Only inner edges are compared, so 1 + ε stays in the last bin.
        edges = np.arange(bins + 1, dtype=np.float32) / np.float32(bins)
        index = jnp.sum(confidence[:, None] >= edges[1:-1], axis=1)
        value, real = correct.astype(confidence.dtype), labels >= 0
        lower, upper = jnp.asarray(edges[:-1]), jnp.asarray(edges[1:])
    else:
        confidence, value = _sort_by_confidence(confidence, correct.astype(jnp.int32))
        real = jnp.ones(len(confidence), bool)
        cuts = np.arange(bins + 1) * len(confidence) // bins
        index = jnp.asarray(np.repeat(np.arange(bins), np.diff(cuts)))
        lower, upper = (
            jnp.take(confidence, np.where(np.diff(cuts) > 0, ends, len(confidence)), mode="fill")
            for ends in (cuts[:-1], cuts[1:] - 1)
        )
    member = (index[:, None] == jnp.arange(bins)) & real[:, None]
    count = jnp.sum(member, axis=0)

    def bin_mean(of: Float[Array, " example"]) -> Float[Array, " bin"]:
        return jnp.sum(jnp.where(member, of[:, None], 0.0), axis=0) / count  # 0/0 = NaN where empty

    return ReliabilityBins(count, bin_mean(value), bin_mean(confidence), lower, upper)


def ece(
    probabilities: Float[Array, "example cls"],
    labels: Int[Array, " example"],
    bins: int = 15,
    scheme: str = "equal-width",
) -> Float[Array, ""]:
    """The expected calibration error Σ_b (n_b/n) |acc_b − conf_b|, between 0 and 1.

    `scheme` is "equal-width" or "equal-mass": bins of confidences, or of numbers of examples.
    """
    return reliability_bins(probabilities, labels, bins, scheme).ece()


def mce(
    probabilities: Float[Array, "example cls"],
    labels: Int[Array, " example"],
    bins: int = 15,
    scheme: str = "equal-width",
) -> Float[Array, ""]:
    """The maximum calibration error, between ECE and 1."""
    return reliability_bins(probabilities, labels, bins, scheme).mce()


def _sort_by_confidence(
    confidence: Float[Array, " example"], correct: Int[Array, " example"]
) -> tuple[Float[Array, " example"], Float[Array, " example"]]:
    """Confidences in increasing order, with the mean correctness of each run of equal confidences."""
    order = jnp.argsort(confidence)
    ranked = confidence[order]
    first, end = (jnp.searchsorted(ranked, ranked, side=side) for side in ("left", "right"))
    hits = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(correct[order])])
    return ranked, (hits[end] - hits[first]) / (end - first)
