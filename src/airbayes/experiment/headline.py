"""The few numbers of a cell that a person wants to see while it runs and when it is done."""

import math
from collections.abc import Mapping

from airbayes.experiment.cells import Cell
from airbayes.experiment.config import SAMPLING_METHODS, ExperimentConfig
from airbayes.experiment.results import CellResult

NAMES = {"accuracy": "accuracy", "ece": "ECE", "w2_agent": "W2", "rms": "rms(θ)"}


def shown_names(config: ExperimentConfig) -> tuple[str, ...]:
    """W2 to the posterior where that is known, else accuracy and calibration; and rms(θ), which the power caps."""
    return ("w2_agent", "rms") if config.problem.kind == "linear" else ("accuracy", "ece", "rms")


def headline_so_far(config: ExperimentConfig, cell: Cell, step: int, values: Mapping[str, float]) -> dict[str, float]:
    """Of a snapshot: a sampler is judged by its mean prediction once it keeps samples, an optimiser by its iterate."""
    averaged = cell.method in SAMPLING_METHODS and step >= config.sampling.burn_in + config.sampling.thin
    prefix = "mean_" if averaged else "sample_"
    found = {name: values.get(name, values.get(prefix + name, math.nan)) for name in shown_names(config)}
    return {name: float(value) for name, value in found.items()}


def headline_of_result(config: ExperimentConfig, result: CellResult) -> dict[str, float]:
    """Of a finished cell; NaN where it diverged."""
    scalars = result.metrics.scalars if result.metrics else {}
    return {name: scalars.get(name, math.nan) for name in shown_names(config)}
