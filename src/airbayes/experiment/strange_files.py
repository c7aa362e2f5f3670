"""Scores of objects of classes that were never learned, beside those of the test objects, on disk.

strange/manifest.json            which file belongs to which cell, sha256 of each, the classes and how many objects
strange/<cell>.npz               known [score, object], strange [score, object]: f32, in the order of SCORES

No point of any object is stored.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float

from airbayes.data.object_file import read_arrays
from airbayes.errors import DataError, ResultsError
from airbayes.experiment.cells import Cell
from airbayes.experiment.sample_files import MANIFEST, StoredCell, pack, replace_cell_files
from airbayes.experiment.store import STRANGE
from airbayes.files import read_limited
from airbayes.metrics.ood import auroc, false_alarms, threshold_for_false_alarms, threshold_to_find
from airbayes.text import is_name, printable

SCORES = ("confidence", "entropy", "mutual_information", "expected_entropy", "energy")
MOST_BYTES, MOST_MANIFEST = 2**28, 2**24


@dataclasses.dataclass(frozen=True)
class StrangeScores:
    """Of one cell; higher should mean stranger. `metrics.ood` has the equations."""

    known: Float[np.ndarray, "score object"]
    strange: Float[np.ndarray, "score other"]

    def told_apart(self) -> dict[str, dict[str, float]]:
        """Score → AUROC; the false alarms when 95 % of the strange objects are found, and the score from which on."""
        return {
            name: {
                "auroc": auroc(known, strange),
                "false_alarms_at_95": false_alarms(known, strange),
                "threshold_at_95": threshold_to_find(strange),
            }
            for name, known, strange in zip(SCORES, self.known, self.strange, strict=True)
        }

    def alarms(self, rate: float) -> dict[str, dict[str, float | None]]:
        """Score → from which value on to raise an alarm, for at most this share of false ones, and the share of the
        strange objects found; None where the known objects are too few for such a rate."""
        found = {}
        for name, known, strange in zip(SCORES, self.known, self.strange, strict=True):
            limit = threshold_for_false_alarms(known, rate)
            none = limit == np.inf
            found[name] = {
                "threshold": None if none else limit,
                "found": None if none else float(np.mean(strange >= limit)),
            }
        return found


@dataclasses.dataclass(frozen=True)
class StrangeFolder:
    classes: dict[str, int]  # never learned → how many objects
    cells: dict[Cell, StrangeScores]


def write_strange(folder: Path, classes: Mapping[str, int], found: Mapping[Cell, StrangeScores]) -> None:
    """Replace what is stored."""
    packed = (
        (cell, pack({"known": each.known.astype("f4"), "strange": each.strange.astype("f4")}, compress=True))
        for cell, each in found.items()
    )
    replace_cell_files(folder / STRANGE, packed, {"version": 1, "classes": dict(classes)})


def read_strange(folder: Path) -> StrangeFolder | None:
    """None for a run without; each file is checked against its checksum."""
    path = folder / STRANGE / MANIFEST
    if not path.exists():
        return None
    try:
        content = json.loads(read_limited(path, MOST_MANIFEST).decode("utf-8"))
        if content["version"] != 1:
            raise ResultsError(f"{path} has version {content['version']}; this airbayes reads version 1.")
        rows, classes = [StoredCell(**row) for row in content["cells"]], content["classes"]
        counted = isinstance(classes, dict) and all(is_name(n) and type(c) is int for n, c in classes.items())
        if not counted or not all(row.has_right_types() for row in rows):
            raise ValueError("a field has the wrong type")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultsError(f"{path} is damaged ({printable(str(error), 200)}). {_AGAIN}") from None
    return StrangeFolder(classes, {row.cell: _read_cell(folder, row) for row in rows})


_AGAIN = "Measure again: `airbayes decide RUN --strange FILE`."


def _read_cell(folder: Path, stored: StoredCell) -> StrangeScores:
    path = folder / STRANGE / Path(stored.file).name  # a manifest cannot point outside its folder
    if hashlib.sha256(read_limited(path, MOST_BYTES)).hexdigest() != stored.sha256:
        raise ResultsError(f"{path} has changed since it was written (sha256 differs). {_AGAIN}")
    try:
        arrays = read_arrays(path, MOST_BYTES)
        for name in ("known", "strange"):
            values = arrays[name]
            if values.dtype != np.float32 or values.ndim != 2 or len(values) != len(SCORES) or not values.shape[1]:
                raise ValueError(f"{name} is {values.dtype} {values.shape}")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} is not finite")
    except (KeyError, ValueError, DataError) as error:
        raise ResultsError(f"{path} holds no scores ({error}). {_AGAIN}") from None
    return StrangeScores(arrays["known"].astype(np.float64), arrays["strange"].astype(np.float64))
