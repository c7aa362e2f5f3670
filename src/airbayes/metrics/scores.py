"""Scores of class predictions p[example, cls] against labels y[example].

    accuracy = mean 1[argmax p = y]      Brier = mean Σ_c (p_c − 1[y = c])²      NLL = −mean log p_y

Labels lie in 0..C−1; under jit nothing can check that. A negative label marks padding, which counts for nothing, so
that test sets of different size can stand in one array. NaN in, NaN out: a diverged model must never look like a poor
one. Ties in argmax go to the first class.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from airbayes.metrics.check import check_labels, check_log_probabilities, check_predictions


def accuracy(probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, ""]:
    """The fraction of examples whose most probable class is the label."""
    check_labels(probabilities, labels)
    return mean_over_real(_hits(probabilities, labels), labels)


def balanced_accuracy(probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, ""]:
    """The mean over classes of the recall; classes without an example are left out."""
    check_labels(probabilities, labels)
    member = _member(labels, probabilities.shape[1])
    count = jnp.sum(member, axis=0)
    hits = jnp.sum(jnp.where(member, _hits(probabilities, labels)[:, None], 0.0), axis=0)
    return jnp.sum(hits / jnp.maximum(count, 1)) / jnp.sum(count > 0)


def brier(probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, ""]:
    """The multi-class Brier score, between 0 and 2; the uniform prediction scores 1 − 1/C."""
    check_predictions(probabilities, labels)
    distance = jnp.sum((probabilities - _member(labels, probabilities.shape[1])) ** 2, axis=1)
    return mean_over_real(distance, labels)


def nll(probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, ""]:
    """The mean negative log-likelihood in nats.

    p_y is raised to the smallest normal float (1.2e-38), because smaller numbers may be flushed to zero: a
    label of probability 0 costs 87.3 nats, not infinity. With log-probabilities at hand use `nll_from_log`.
    """
    check_predictions(probabilities, labels)
    probabilities = jnp.asarray(probabilities)  # of NumPy's float64, whose smallest is 0 in the device's float32
    tiny = jnp.finfo(probabilities.dtype).tiny
    return _nll_of_logs(jnp.log(jnp.maximum(probabilities, tiny)), labels)


def nll_from_log(log_probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, ""]:
    """The mean negative log-likelihood in nats, from normalised log p. Nothing is clipped: inf at p_y = 0."""
    check_labels(log_probabilities, labels)
    check_log_probabilities(log_probabilities)
    return _nll_of_logs(log_probabilities, labels)


def _nll_of_logs(log_probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, ""]:
    return -mean_over_real(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1)[:, 0], labels)


def mean_over_real(values: Float[Array, "*batch example"], labels: Int[Array, " example"]) -> Float[Array, "*batch"]:
    """The mean over the examples that are not padding."""
    return jnp.mean(values, axis=-1, where=labels >= 0)


def confusion_matrix(
    probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]
) -> Int[Array, "cls cls"]:
    """Counts [label, predicted class]. An example with a NaN is left out: the total falls short."""
    check_labels(probabilities, labels)
    num_classes = probabilities.shape[1]
    predicted = jnp.where(jnp.isnan(jnp.max(probabilities, axis=1)), -1, jnp.argmax(probabilities, axis=1))
    # Comparing and summing needs no scatter, hence is deterministic and fuses under vmap.
    pairs = _member(labels, num_classes)[:, :, None] & _member(predicted, num_classes)[:, None, :]
    return jnp.sum(pairs, axis=0)


def _hits(probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, " example"]:
    """1 where argmax p = y, else 0; NaN where p holds a NaN."""
    hit = (jnp.argmax(probabilities, axis=1) == labels).astype(probabilities.dtype)
    return jnp.where(jnp.isnan(jnp.max(probabilities, axis=1)), jnp.nan, hit)


def _member(index: Int[Array, " example"], size: int) -> Bool[Array, "example size"]:
    return index[:, None] == jnp.arange(size)
