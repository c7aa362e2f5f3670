"""How well are objects of classes that were never learned told from test objects? Measured with the stored samples.

The objects come from files (`airbayes decide --strange`), or, when a run ends, from its own data source where that has
classes that were left out of `lidar.classes`.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from airbayes.data import ObjectSet
from airbayes.errors import DataError, ResultsError
from airbayes.experiment.calibration import all_scores, held_out_objects
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.lidar_data import class_names, source_objects
from airbayes.experiment.sample_files import FOLDER as SAMPLES
from airbayes.experiment.sample_files import StoredCell, read_manifest
from airbayes.experiment.strange_files import SCORES, StrangeScores, write_strange
from airbayes.experiment.trained import Wanted, choose, open_trained
from airbayes.text import printable

ENOUGH = 500  # strange objects of a run's own source: more would make its end wait, and tell nothing new


@dataclasses.dataclass(frozen=True)
class StrangeObjects:
    clouds: list[np.ndarray]
    classes: dict[str, int]  # name → how many


def unlearned(sets: Iterable[ObjectSet], learned: Sequence[str], most: int | None = None) -> StrangeObjects:
    """The objects whose class is not among the learned ones; of more than `most`, every so manieth."""
    found = [
        (objects, int(row))
        for objects in sets
        for row in np.flatnonzero([objects.class_names[label] not in learned for label in objects.label])
    ]
    if most is not None and len(found) > most:
        found = [found[place] for place in np.linspace(0, len(found) - 1, most).round().astype(int)]
    names = [objects.class_names[objects.label[row]] for objects, row in found]
    return StrangeObjects(
        [objects.cloud(row) for objects, row in found], {name: names.count(name) for name in dict.fromkeys(names)}
    )


def learned_classes(folder: Path) -> tuple[str, ...]:
    return open_trained(folder).class_names


def best_cells(folder: Path) -> list[Cell]:
    """Of every method with stored samples the most trustworthy cell: highest SNR, full graph first, lowest seed."""
    _, rows = read_manifest(folder)
    by_method: dict[str, list[StoredCell]] = {}
    for row in rows:
        by_method.setdefault(row.cell.variant, []).append(row)
    return [choose(mine, Wanted(), folder).cell for mine in by_method.values()]


def measure_strange(
    folder: Path, objects: StrangeObjects, cells: Sequence[Cell], source: Path | None = None
) -> dict[Cell, StrangeScores]:
    """The scores of these cells for the test objects and the strange ones; written beside the run. `source` is where
    the run's own object set is now, if it is not where it was."""
    if not objects.clouds:
        listed = ", ".join(printable(name, 20) for name in learned_classes(folder))
        raise DataError(f"All objects are of classes that the run has learned ({listed}); give others.")
    found = {cell: _scores(folder, cell, objects.clouds, source) for cell in dict.fromkeys(cells)}
    write_strange(folder, objects.classes, found)
    return found


def measure_own_strange(folder: Path, config: ExperimentConfig) -> bool:
    """When a run ends: with the objects of its own source that it was not to learn. False where there are none."""
    if config.problem.kind != "pointnet" or not config.lidar.classes or not (folder / SAMPLES).is_dir():
        return False
    objects = unlearned([source_objects(config, config.first_seed)], class_names(config.lidar), ENOUGH)
    cells = best_cells(folder)
    if not objects.clouds or not cells:
        return False
    measure_strange(folder, objects, cells)
    return True


def _scores(folder: Path, cell: Cell, strange: Sequence[np.ndarray], source: Path | None) -> StrangeScores:
    snr = math.inf if cell.snr_db is None else cell.snr_db
    try:
        trained = open_trained(folder, Wanted(cell.variant, cell.topology or "none", snr, cell.seed), source)
    except ResultsError as error:
        raise ResultsError(f"{error}\n  Samples of θ are needed: run with --saved-samples 20.") from None
    known = held_out_objects(folder, trained, "test").clouds
    of_known, of_strange = (all_scores(trained, clouds) for clouds in (known, strange))
    return StrangeScores(*(np.stack([found[name] for name in SCORES]) for found in (of_known, of_strange)))
