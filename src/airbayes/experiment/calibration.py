"""The held-out objects of a trained run, predicted again with its stored samples: what new objects are measured by.

A promise about new objects needs calibration objects that went through the very same predictor. The stored predictions
are means over all kept samples, `airbayes predict` uses the stored samples only; so the objects themselves are found
again in the run's data source, and predicted as a new object would be.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from airbayes.errors import AirbayesError, ResultsError
from airbayes.experiment.prediction import Predictions, draw_inputs, predict_clouds
from airbayes.experiment.prediction_files import Part, read_prediction, stored_predictions
from airbayes.experiment.predictive_observer import BLOCK
from airbayes.experiment.trained import Trained
from airbayes.metrics.ood import energy, uncertainty_scores
from airbayes.models import PointNetClassifier
from airbayes.models.max_pool import dense_max_pool_plain


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Held-out objects of a run: their points, and what was stored about them."""

    clouds: list[np.ndarray]
    stored: Part

    def predicted_with(self, trained: Trained, draws: int = 1) -> Part:
        """As a Part, with the probabilities that `airbayes predict` gives."""
        found = predict_clouds(trained, self.clouds, draws)
        return dataclasses.replace(
            self.stored, probabilities=found.probabilities, mutual_information=found.mutual_information
        )


def held_out_objects(folder: Path, trained: Trained, which: str) -> HeldOut:
    """The validation or the test objects of the trained model's cell."""
    rows = [row for row in stored_predictions(folder) if row.cell == trained.stored.cell]
    if not rows:
        raise ResultsError(
            f"{folder} stores no predictions of {trained.stored.cell}, so its held-out objects are not known. Run the "
            "experiment again: since they are stored, --saved-predictions is on unless it is switched off."
        )
    found = read_prediction(folder, rows[0])
    part = found.validation if which == "validation" else found.test
    if part is None or not len(part):
        raise ResultsError(f"{folder} has no {which} objects; runs with lidar.evaluate_on = 'test' have.")
    try:
        source = trained.source.objects(trained.stored.seed)
    except AirbayesError as error:
        raise ResultsError(f"The {which} objects of {folder} are not at hand: {error}") from None
    if part.index.max() >= len(source) or part.index.min() < 0:
        raise ResultsError(f"The data source of {folder} has changed since the run: {len(source):,} objects are left.")
    names = [source.class_names[label] for label in source.label[part.index]]
    if names != [trained.class_names[label] for label in part.labels]:
        raise ResultsError(f"The data source of {folder} has changed since the run: its labels are others.")
    return HeldOut([source.cloud(index) for index in part.index.tolist()], part)


def all_scores(trained: Trained, clouds: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Every score of `metrics.ood`, higher where an object is stranger."""
    found: Predictions = predict_clouds(trained, clouds)
    # One θ cannot disagree with itself: not even by rounding, which would order the objects.
    disagreement = found.mutual_information if len(trained.theta) > 1 else np.zeros(len(clouds), np.float32)
    scores = uncertainty_scores(found.probabilities, disagreement)
    return scores | {"energy": energy(network_outputs(trained, draw_inputs(trained, clouds, 1)[0]))}


def network_outputs(
    trained: Trained, inputs: Float[np.ndarray, "object point 3"]
) -> Float[np.ndarray, "sample object cls"]:
    """The network's outputs before the softmax, for inputs that are drawn, centred and scaled."""
    assert isinstance(trained.model, PointNetClassifier)
    theta, parts = jnp.asarray(trained.theta), []
    for start in range(0, len(inputs), BLOCK):
        block = inputs[start : start + BLOCK]
        padded = np.pad(block, ((0, BLOCK - len(block)), (0, 0), (0, 0)))
        parts.append(np.asarray(_output_block(trained.model, theta, jnp.asarray(padded)))[:, : len(block)])
    return np.concatenate(parts, axis=1)


@eqx.filter_jit
def _output_block(
    model: PointNetClassifier, theta: Float[Array, "sample param"], inputs: Float[Array, "object point 3"]
) -> Float[Array, "sample object cls"]:
    return jax.lax.map(lambda one: model.unravel(one)(dense_max_pool_plain, inputs), theta)
