"""What `airbayes predict` promises: a threshold and prediction sets, from the run's validation objects."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from airbayes.experiment.calibration import held_out_objects
from airbayes.experiment.decisions import (
    CALIBRATION_SEED,
    TEST_SEED,
    USUAL,
    Promise,
    chosen_threshold,
    least_error,
    one_view_each,
    why_all_classes,
    why_never,
)
from airbayes.experiment.prediction import Predictions
from airbayes.experiment.prediction_files import Part
from airbayes.experiment.trained import Trained
from airbayes.metrics.conformal import calibrate, prediction_sets, scores_for
from airbayes.metrics.selective import least_for_risk
from airbayes.text import percent, plural

if TYPE_CHECKING:
    from airbayes.cli.predict import PredictOptions


def promised(
    run: Path, trained: Trained, found: Predictions, options: "PredictOptions", notes: Console
) -> tuple[float | None, np.ndarray | None]:
    """The least confidence that answers and the sets that keep what was asked for; `notes` is told how they came."""
    held = one_view_each(held_out_objects(run, trained, "validation").predicted_with(trained, options.draws))
    abstain_below, sets = options.abstain_below, None
    if options.max_error is not None:
        delta = USUAL.delta if options.delta is None else options.delta
        abstain_below = _threshold(held, Promise(max_error=options.max_error, delta=delta), notes)
    if options.coverage is not None:
        kind = options.sets or "lac"
        quantile = calibrate(scores_for(kind, held.probabilities, CALIBRATION_SEED), held.labels, options.coverage)
        sets = prediction_sets(scores_for(kind, found.probabilities, TEST_SEED), quantile)
        says = f"score up to {quantile:.8g}, from {_about(held)}"
        if np.isinf(quantile):
            says = why_all_classes(_about(held), options.coverage)
        notes.print(f"Sets ({kind}): {says}.", markup=False)
    return abstain_below, sets


def _threshold(held: Part, promise: Promise, notes: Console) -> float:
    chosen = chosen_threshold(held, promise)
    if chosen.answered == 0:
        needed = least_for_risk(promise.max_error, promise.delta)
        why = why_never(len(held), needed, promise.max_error, least_error(held, promise))
        notes.print(f"No threshold can promise that, so nothing is answered: {why}.", markup=False)
    else:
        where = "always answer" if np.isneginf(chosen.value) else f"answer above {chosen.value:.8g}"  # all of a float32
        text = f"{where}; {chosen.wrong} of {chosen.answered} wrong there, bound {percent(chosen.bound, 1)}"
        notes.print(f"Threshold from {_about(held)}: {text}.", markup=False)
    # Answers need a confidence above the threshold, a float32: the next one is the least that answers.
    least = float(np.nextafter(np.float32(chosen.value), np.float32(np.inf)))
    return 0.0 if least < 0 else least


def _about(held: Part) -> str:
    return plural(len(held), "validation object")
