"""What every cell predicted for the objects held out, on disk: one .npz per cell and a manifest with checksums.

    predictions/manifest.json        which file belongs to which cell, sha256 of each
    predictions/<cell>.npz           test_* and, where there is a validation set, validation_*: the arrays of a Part

The predictions are those of agent 0, first chain. No point of any object is stored: `Part.index` says where it is.
"""

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from airbayes.data.object_file import read_arrays
from airbayes.errors import DataError, ResultsError
from airbayes.experiment.cells import Cell
from airbayes.experiment.sample_files import MANIFEST, StoredCell, pack, replace_cell_files
from airbayes.files import read_limited
from airbayes.text import printable

FOLDER = "predictions"
MOST_BYTES, MOST_MANIFEST = 2**30, 64 * 2**20  # of one cell's arrays, and of the manifest


@dataclasses.dataclass(frozen=True)
class Part:
    """Predictions for the objects of one set, in the set's order."""

    probabilities: Float[np.ndarray, "object cls"]  # f32, mean over samples; of an optimiser, of its last iterate
    labels: Int[np.ndarray, " object"]
    mutual_information: Float[np.ndarray, " object"]  # f32, nats; 0 of an optimiser, which has one θ
    index: Int[np.ndarray, " object"]  # row in the seed's data source: `lidar_data.source_objects(config, seed)`
    group: Int[np.ndarray, " object"]  # the physical object: equal numbers are views of one

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def predicted(self) -> Int[np.ndarray, " object"]:
        return self.probabilities.argmax(axis=1)

    @property
    def confidence(self) -> Float[np.ndarray, " object"]:
        """The probability of the predicted class."""
        return self.probabilities.max(axis=1)


@dataclasses.dataclass(frozen=True)
class CellPredictions:
    """Of one cell."""

    test: Part  # the objects that are scored; with lidar.evaluate_on = "validation" these are the validation objects
    validation: Part | None  # neither trained on nor scored: thresholds are chosen here


FIELDS = {"probabilities": "f4", "labels": "i4", "mutual_information": "f4", "index": "i8", "group": "i4"}


def to_arrays(predictions: CellPredictions) -> dict[str, np.ndarray]:
    parts = {"test": predictions.test} | ({"validation": predictions.validation} if predictions.validation else {})
    return {
        f"{name}_{field}": np.asarray(getattr(part, field), kind)
        for name, part in parts.items()
        for field, kind in FIELDS.items()
    }


def from_arrays(arrays: dict[str, np.ndarray]) -> CellPredictions:
    """What `to_arrays` made. Anything else raises a KeyError or ValueError."""
    test = _part(arrays, "test")
    validation = _part(arrays, "validation") if "validation_labels" in arrays else None
    if validation is not None and validation.probabilities.shape[1] != test.probabilities.shape[1]:
        raise ValueError("validation and test have different numbers of classes")
    return CellPredictions(test, validation)


def _part(arrays: dict[str, np.ndarray], name: str) -> Part:
    found = {field: arrays[f"{name}_{field}"] for field in FIELDS}
    count = len(found["labels"]) if found["labels"].ndim == 1 else -1
    classes = found["probabilities"].shape[-1] if found["probabilities"].ndim == 2 else -1
    for field, kind in FIELDS.items():
        shape = (count, classes) if field == "probabilities" else (count,)
        if found[field].dtype != np.dtype(kind) or found[field].shape != shape:
            raise ValueError(f"{name}_{field} is {found[field].dtype} {found[field].shape}")
    if not ((found["labels"] >= 0) & (found["labels"] < classes)).all():
        raise ValueError(f"{name}_labels are outside the {classes} classes")
    return Part(**found)


def write_predictions(folder: Path, predictions: dict[Cell, CellPredictions]) -> None:
    """Replace the stored predictions of a run."""
    packed = ((cell, pack(to_arrays(each), compress=True)) for cell, each in predictions.items())
    replace_cell_files(folder / FOLDER, packed, {"version": 1})


def read_predictions(folder: Path) -> dict[Cell, CellPredictions]:
    """Of every cell that has some; empty for a run without, such as one from before they were stored."""
    return {row.cell: read_prediction(folder, row) for row in stored_predictions(folder)}


def stored_predictions(folder: Path) -> list[StoredCell]:
    """The cells that have predictions."""
    path = folder / FOLDER / MANIFEST
    if not path.exists():
        return []
    try:
        content = json.loads(read_limited(path, MOST_MANIFEST).decode("utf-8"))
        if content["version"] != 1:
            raise ResultsError(f"{path} has version {content['version']}; this airbayes reads version 1.")
        stored = [StoredCell(**row) for row in content["cells"]]
        if not all(row.has_right_types() for row in stored):
            raise ValueError("a field has the wrong type")
        return stored
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultsError(
            f"{path} is damaged ({printable(str(error), 200)}). Run the experiment again with --force."
        ) from None


def read_prediction(folder: Path, stored: StoredCell) -> CellPredictions:
    """The predictions of one cell, checked against their checksum."""
    path = folder / FOLDER / Path(stored.file).name  # a manifest cannot point outside its folder
    if hashlib.sha256(read_limited(path, MOST_BYTES)).hexdigest() != stored.sha256:
        raise ResultsError(
            f"{path} has changed since it was written (sha256 differs). Run the experiment again with --force."
        )
    try:
        return from_arrays(read_arrays(path, MOST_BYTES))
    except (KeyError, ValueError, DataError) as error:
        raise ResultsError(f"{path} holds no predictions ({error}). Run the experiment again with --force.") from None
