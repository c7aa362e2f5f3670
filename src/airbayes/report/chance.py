"""How good guessing is, and which runs are hardly better: a model that has collapsed has an ECE that means nothing.

A run has collapsed if its accuracy is at most 0.30, or at most 0.10 above chance. Accuracy is balanced over the classes
where that is stored: chance is then 1/C whatever the test set holds most of. Every seed is judged by itself, since the
mean of a seed that guesses and one that learned is neither.
"""

from collections.abc import Container

import numpy as np
import xarray as xr

from airbayes.errors import AirbayesError, ResultsError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.dataset import STATUS_CODES
from airbayes.experiment.toml_io import parse_config
from airbayes.text import printable

MIN_ACCURACY, ABOVE_CHANCE = 0.30, 0.10
MOST_CLASSES = 10_000


def accuracy_name(stored: Container[str] | xr.Dataset) -> str:
    """The accuracy by which runs are judged, of those that a Dataset (or cells of one) has."""
    return "balanced_accuracy" if "balanced_accuracy" in stored else "accuracy"


def floor_above(chance: float) -> float:
    return max(MIN_ACCURACY, chance + ABOVE_CHANCE)


def collapse_floor(dataset: xr.Dataset) -> float:
    """Accuracy at or below which a run has collapsed."""
    try:
        return floor_above(1 / num_classes(dataset))
    except AirbayesError:
        return MIN_ACCURACY


def collapsed_runs(dataset: xr.Dataset) -> xr.DataArray:
    """Which cells ended well and guess."""
    ok = dataset.status == STATUS_CODES["ok"]
    return ok & (dataset[accuracy_name(dataset)] <= collapse_floor(dataset))


def num_classes(dataset: xr.Dataset) -> int:
    """From the attributes, else from the configuration that travels with the results."""
    found: object = dataset.attrs.get("num_classes")
    if found is None and "class_names" in dataset.attrs:  # one a line
        found = len(str(dataset.attrs["class_names"]).splitlines())
    if found is None and "config_toml" in dataset.attrs:
        problem = config_of(dataset).problem
        found = problem.classes if problem.kind in ("softmax", "mlp") else None
    if not isinstance(found, int | np.integer) or not 2 <= found <= MOST_CLASSES:
        raise ResultsError(
            "These results do not say how many classes there are (attribute num_classes: "
            f"{printable(repr(found))}); run them again."
        )
    return int(found)


def config_of(dataset: xr.Dataset) -> ExperimentConfig:
    return parse_config(str(dataset.attrs["config_toml"]), "attribute config_toml")
