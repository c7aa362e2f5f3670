"""Class probabilities of new objects from the stored samples of a trained run.

    p(y | x) = mean_s mean_d p(y | draw_d(x), θ_s)      over samples s and random draws d of the object's points

Entropy is that of p(y | x); mutual information is between the class and θ, so the draws of a sample are averaged first.
"""

import dataclasses
import zlib
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from airbayes import metrics
from airbayes.compiler import check_compiler
from airbayes.data.clouds import draw_cloud
from airbayes.errors import DataError
from airbayes.experiment.predictive_observer import BLOCK
from airbayes.experiment.trained import Trained
from airbayes.models import Classifier


@dataclasses.dataclass(frozen=True)
class Predictions:
    """What a trained run says about objects."""

    probabilities: Float[np.ndarray, "object cls"]
    entropy: Float[np.ndarray, " object"]  # nats
    mutual_information: Float[np.ndarray, " object"]  # nats

    def __len__(self) -> int:
        return len(self.entropy)

    @property
    def predicted(self) -> Int[np.ndarray, " object"]:
        return self.probabilities.argmax(axis=1)

    @property
    def confidence(self) -> Float[np.ndarray, " object"]:
        """The probability of the predicted class."""
        return self.probabilities.max(axis=1)

    def answered(self, abstain_below: float | None) -> Bool[np.ndarray, " object"]:
        """Where the model is confident enough to answer; None always answers."""
        return self.confidence >= (-1.0 if abstain_below is None else abstain_below)


@dataclasses.dataclass(frozen=True)
class Tally:
    """How much was answered, and how much of that was right; labels of learned classes only."""

    objects: int
    answered: int
    labelled: int
    right: int
    labelled_answered: int
    right_answered: int


def predict_clouds(trained: Trained, clouds: Sequence[np.ndarray], draws: int = 1) -> Predictions:
    """Predict objects, each [point, 3] in metres, centred anywhere; every object is drawn from by itself."""
    if draws < 1:
        raise DataError(f"--draws {draws}: need at least 1.")
    check_compiler()
    blocks = [clouds[start : start + BLOCK] for start in range(0, len(clouds), BLOCK)]
    parts = [predict_inputs(trained, draw_inputs(trained, block, draws)) for block in blocks]
    if not parts:
        raise DataError("No objects to predict.")
    return Predictions(*(np.concatenate(columns) for columns in zip(*map(_columns, parts), strict=True)))


def draw_inputs(trained: Trained, clouds: Sequence[np.ndarray], draws: int) -> Float[np.ndarray, "draw object point 3"]:
    """Inputs as in training. An object's own points seed its draws: neighbours and order change nothing."""

    def one(cloud: np.ndarray, draw: int) -> np.ndarray:
        rng = np.random.default_rng([zlib.crc32(cloud.tobytes()), draw])
        return draw_cloud(cloud, trained.points, trained.scale_m, rng)

    return np.stack([np.stack([one(cloud, draw) for cloud in clouds]) for draw in range(draws)])


def predict_inputs(trained: Trained, inputs: Float[np.ndarray, "draw object point 3"]) -> Predictions:
    """Predict inputs that are already drawn, centred and scaled, a block of objects at a time."""
    theta, parts = jnp.asarray(trained.theta), []
    for start in range(0, inputs.shape[1], BLOCK):
        block = inputs[:, start : start + BLOCK]
        used = block.shape[1]
        # Always a whole block: one compiled program, so an object's numbers do not depend on how many others there are.
        padded = np.pad(block, ((0, 0), (0, BLOCK - used), (0, 0), (0, 0)))
        found = _predict_block(trained.model, theta, jnp.asarray(padded))
        parts.append([np.asarray(column)[:used] for column in found])
    return Predictions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def tally(found: Predictions, labels: Int[np.ndarray, " object"], abstain_below: float | None = None) -> Tally:
    """Count answers and, where the label is not -1, those that are right."""
    answered, known, right = found.answered(abstain_below), labels >= 0, found.predicted == labels
    counts = (answered, known, known & right, known & answered, known & right & answered)
    return Tally(len(found), *(int(np.count_nonzero(each)) for each in counts))


@eqx.filter_jit
def _predict_block(
    model: Classifier, theta: Float[Array, "sample param"], inputs: Float[Array, "draw object point 3"]
) -> tuple[Float[Array, "object cls"], Float[Array, " object"], Float[Array, " object"]]:
    """Probabilities, entropy and mutual information; one sample at a time, so many samples need no more memory."""

    def one_sample(one: Float[Array, " param"]) -> Float[Array, "object cls"]:
        return jnp.exp(jax.lax.map(lambda draw: model.log_probs(one, draw), inputs)).mean(axis=0)

    samples = jax.lax.map(one_sample, theta)
    mean = samples.mean(axis=0)
    return mean, metrics.predictive_entropy(mean), metrics.mutual_information(samples)


def _columns(part: Predictions) -> tuple[np.ndarray, ...]:
    return part.probabilities, part.entropy, part.mutual_information
