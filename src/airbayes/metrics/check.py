"""Are these probabilities and labels? Asked on the host, of what is known; nothing is asked under jit and vmap.

NaN passes: a diverged model has NaN probabilities, and its scores are NaN.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from airbayes.checks import describe, known
from airbayes.errors import AirbayesError

TOLERANCE = 0.01  # of a sum of rounded probabilities; half precision is off by 1e-3


def check_predictions(probabilities: Float[Array, "example cls"], labels: Int[Array, " example"]) -> None:
    """Rows of probabilities sum to one, and there is a label for each; negative labels are padding."""
    check_labels(probabilities, labels)
    check_probabilities(probabilities)


def check_probabilities(probabilities: Float[Array, "*example cls"]) -> None:
    """Rows along the last axis sum to one, and none has a negative entry."""
    seen = known(probabilities)
    if seen is None:
        return
    seen = seen.reshape(-1, seen.shape[-1])
    total = seen.astype(np.float64).sum(axis=1)
    wrong = np.flatnonzero((seen < -TOLERANCE).any(axis=1) | (np.abs(total - 1) > TOLERANCE))
    if wrong.size:
        row = wrong[0]
        raise AirbayesError(
            f"Row {row} holds no probabilities: its sum is {total[row]:.6g} and its least entry {seen[row].min():.6g}. "
            "Of outputs of a network give jax.nn.softmax(outputs), of log-probabilities jnp.exp(log_probabilities)."
        )


def check_log_probabilities(log_probabilities: Float[Array, "example cls"]) -> None:
    """The exponentials of rows sum to one."""
    seen = known(log_probabilities)
    if seen is None:
        return
    with np.errstate(over="ignore"):
        total = np.exp(seen.astype(np.float64)).sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1) > TOLERANCE)
    if wrong.size:
        raise AirbayesError(
            f"Row {wrong[0]} holds no log-probabilities: the sum of their exponentials is {total[wrong[0]]:.6g}. "
            "Of outputs of a network give jax.nn.log_softmax(outputs), of probabilities jnp.log(probabilities)."
        )


def refuse_probabilities(log_probabilities: Float[Array, "example cls"]) -> None:
    """Where logs or outputs are wanted: rows from 0 to 1 that all sum to one are probabilities."""
    seen = known(log_probabilities)
    if seen is None or not seen.size:
        return
    total = seen.astype(np.float64).sum(axis=-1)
    if (seen >= 0).all() and (np.abs(total - 1) <= TOLERANCE).all():
        raise AirbayesError("These rows are probabilities already. Give jnp.log(probabilities).")


def check_labels(scores: Float[Array | np.ndarray, "example cls"], labels: Int[Array | np.ndarray, " example"]) -> None:
    """A label for each row, below the number of classes."""
    for what, part in (("Predictions", scores), ("Labels", labels)):
        if not hasattr(part, "ndim"):
            raise AirbayesError(f"{what} must be an array, got {describe(part)}. Use jnp.asarray.")
    if scores.ndim != 2 or labels.shape != scores.shape[:1]:
        raise AirbayesError(
            f"Predictions must be [example, class] with one label per example, got shapes {list(scores.shape)} "
            f"and {list(labels.shape)}."
        )
    if not jnp.issubdtype(labels.dtype, jnp.integer):
        raise AirbayesError(f"Labels must be integers, got {labels.dtype}. Use labels.astype(jnp.int32).")
    seen, classes = known(labels), scores.shape[1]
    if seen is not None and seen.size and seen.max() >= classes:
        raise AirbayesError(
            f"Example {seen.argmax()} has the label {seen.max()}: {classes} classes have labels 0 to {classes - 1}. "
            "Number classes from 0; a negative label marks padding."
        )
