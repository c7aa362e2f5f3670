"""What a cell's predictions are good for: when to answer, which classes to keep in mind, and how sure that is.

`decisions(predictions)` gives all numbers and figure-ready arrays of one cell as plain JSON. Thresholds and quantiles
come from the validation objects, what they achieve is measured on the test objects.

Views of one physical object are not independent: calibration takes one view of each, drawn at random, and what
thresholds and sets achieve counts every physical object once. So the promises are about a random view of a new physical
object. Accuracy and the risk-coverage curve count every view, as all scores of a run do.
"""

import dataclasses
import decimal
import json
from pathlib import Path

import numpy as np

from airbayes.errors import AirbayesError
from airbayes.experiment.cells import Cell
from airbayes.experiment.prediction_files import CellPredictions, Part
from airbayes.experiment.store import DECISIONS_FILE
from airbayes.files import write_text
from airbayes.metrics.conformal import (
    SET_KINDS,
    SetKind,
    calibrate,
    coverage_interval,
    least_for_coverage,
    prediction_sets,
    scores_for,
)
from airbayes.metrics.ood import uncertainty_scores
from airbayes.metrics.selective import Threshold, least_for_risk, risk_coverage, safest, threshold_for_risk
from airbayes.text import percent, plural

CURVE_POINTS = 200  # of a risk-coverage curve, at most
CALIBRATION_SEED, TEST_SEED, VIEW_SEED = 1, 2, 0  # of what is random: u of APS, and the view of each object


@dataclasses.dataclass(frozen=True)
class Promise:
    """What is asked for."""

    max_error: float = 0.05  # r: at most this share of the answers is wrong ...
    delta: float = 0.1  # ... unless the validation objects were misleading, which has at most this probability
    coverage: float = 0.9  # of the prediction sets

    def __post_init__(self):
        for name, value in dataclasses.asdict(self).items():
            if not 0 < value < 1:
                raise AirbayesError(f"--{name.replace('_', '-')} {value}: need a number between 0 and 1.")


USUAL = Promise()


def decisions(predictions: CellPredictions, promise: Promise = USUAL) -> dict:
    """All numbers of one cell; `threshold` and `sets` are None without validation objects."""
    test, validation = predictions.test, predictions.validation
    held = None if validation is None or not len(validation) else one_view_each(validation)
    curve = risk_coverage(test.confidence.astype(np.float64), test.predicted != test.labels)
    shown = np.unique(np.linspace(0, len(curve.risk) - 1, CURVE_POINTS).round().astype(int))
    return {
        "promise": dataclasses.asdict(promise),
        "objects": {
            "test": len(test),
            "test_instances": len(np.unique(test.group)),
            "test_instances_per_class": [
                len(np.unique(test.group[test.labels == label])) for label in range(test.probabilities.shape[1])
            ],
            "validation": 0 if validation is None else len(validation),
            "validation_instances": 0 if held is None else len(held),
        },
        "accuracy": float(np.mean(test.predicted == test.labels)),
        "uncertainty": _uncertainty(test),
        "risk_coverage": {
            "aurc": curve.aurc,
            "excess_aurc": curve.excess_aurc,
            "coverage": curve.coverage[shown].tolist(),
            "risk": curve.risk[shown].tolist(),
        },
        "threshold": None if held is None else _threshold(held, test, promise),
        "sets": None if held is None else {kind: _sets(kind, held, test, promise.coverage) for kind in SET_KINDS},
    }


def one_view_each(part: Part) -> Part:
    """One view of every physical object, drawn at random."""
    order = np.random.default_rng(VIEW_SEED).permutation(len(part))
    rows = np.sort(order[np.unique(part.group[order], return_index=True)[1]])
    return Part(**{field.name: getattr(part, field.name)[rows] for field in dataclasses.fields(part)})


def chosen_threshold(held: Part, promise: Promise) -> Threshold:
    wrong = held.predicted != held.labels
    return threshold_for_risk(held.confidence.astype(np.float64), wrong, promise.max_error, promise.delta)


def least_error(held: Part, promise: Promise) -> float | None:
    """The smallest rate that can be promised with these objects, whatever was asked for; None where none can."""
    wrong = held.predicted != held.labels
    found = safest(held.confidence.astype(np.float64), wrong, promise.delta)
    return None if found is None else found.bound


def why_never(count: int, needed: int, max_error: float, least: float | None, option: str = "--max-error {}") -> str:
    """Which of the two it is, too few validation objects or too many errors, and what can be promised instead."""
    held = plural(count, "validation instance")
    without = f"{percent(max_error, None)} needs {needed:,} even without an error"
    why = f"{held}; {without}" if count < needed else f"too many errors on the {held} ({without})"
    return why + instead(least, option)


def instead(least: float | None, option: str = "--max-error {}") -> str:
    """The rate that can be promised and how to ask for it; rounded up, so that it can be promised all the same.

    Two digits are shown and, just below 1, as many more as leave it there.
    """
    exact = decimal.Decimal(1.0 if least is None else least)
    for digits in range(2, 6):
        rate = float(decimal.Context(digits, decimal.ROUND_CEILING).create_decimal(exact))
        if rate < 1:
            return f"; at most {percent(rate, None)} wrong answers can be promised ({option.format(rate)})"
    return ""


def why_all_classes(held: str, coverage: float) -> str:
    """Of sets that hold every class, because `held`, the validation objects in words, are too few."""
    needed = f"{percent(coverage, None)} needs {least_for_coverage(coverage):,}"
    return f"every class is in every set, for {held} are too few: {needed}"


def _uncertainty(test: Part) -> dict[str, dict[str, float | None]]:
    """Means over the right and over the wrong answers (None if there are none), nats: θ unknown, an unclear object."""
    scores, wrong = uncertainty_scores(test.probabilities, test.mutual_information), test.predicted != test.labels
    return {
        name: {
            "all": float(values.mean()),
            "right": float(values[~wrong].mean()) if (~wrong).any() else None,
            "wrong": float(values[wrong].mean()) if wrong.any() else None,
        }
        for name, values in scores.items()
        if name != "confidence"
    }


def _threshold(held: Part, test: Part, promise: Promise) -> dict:
    found = chosen_threshold(held, promise)
    answered, weight = test.confidence > found.value, _weights(test)
    share = float(weight[answered].sum())
    wrong = float(weight[answered & (test.predicted != test.labels)].sum())
    return {
        "answers": "never" if found.value == np.inf else "always" if found.value == -np.inf else "above",
        "value": found.value if np.isfinite(found.value) else None,
        "bound": found.bound if found.answered else None,  # who never answers promises nothing
        "least_error": least_error(held, promise),  # None: no rate can be promised
        "validation_needed": least_for_risk(promise.max_error, promise.delta),
        "validation_answered": found.answered,
        "validation_wrong": found.wrong,
        "test_coverage": share,
        "test_error": wrong / share if share else None,
    }


def _sets(kind: SetKind, held: Part, test: Part, coverage: float) -> dict:
    quantile = calibrate(scores_for(kind, held.probabilities, CALIBRATION_SEED), held.labels, coverage)
    sets = prediction_sets(scores_for(kind, test.probabilities, TEST_SEED), quantile)
    covered, sizes, weight = sets[np.arange(len(test)), test.labels], sets.sum(axis=1), _weights(test)
    classes = range(test.probabilities.shape[1])

    def mean(values: np.ndarray, where: np.ndarray) -> float | None:
        total = weight[where].sum()
        return float((weight[where] * values[where]).sum() / total) if total else None

    everywhere = np.ones(len(test), bool)
    return {
        "quantile": quantile if np.isfinite(quantile) else None,  # None: too few objects, every class is in every set
        "expected": coverage_interval(len(held), coverage),  # 90 % of calibrations cover between these
        "coverage": mean(covered, everywhere),
        "mean_size": mean(sizes, everywhere),
        "share_of_size": [mean(sizes == size, everywhere) for size in range(len(classes) + 1)],
        "coverage_per_class": [mean(covered, test.labels == label) for label in classes],
        "mean_size_per_class": [mean(sizes, test.labels == label) for label in classes],
    }


def _weights(part: Part) -> np.ndarray:
    """Every physical object counts once; they sum to one."""
    _, where, views = np.unique(part.group, return_inverse=True, return_counts=True)
    weight = 1.0 / views[where]
    return weight / weight.sum()


def write_decisions(folder: Path, class_names: tuple[str, ...], found: dict[Cell, dict]) -> Path:
    """decisions.json: one record per cell."""
    content = {
        "version": 1,
        "class_names": class_names,
        "cells": [{"cell": dataclasses.asdict(cell), **record} for cell, record in found.items()],
    }
    write_text(folder / DECISIONS_FILE, json.dumps(content, allow_nan=False) + "\n")
    return folder / DECISIONS_FILE
