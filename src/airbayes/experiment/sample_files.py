"""Samples of θ on disk, so that a trained run can be used: one .npz per cell and a manifest with checksums.

samples/manifest.json            which file belongs to which cell, sha256 of each, what the model needs as input
samples/<cell>.npz               theta, f32 [sample, agent, param]
"""

import dataclasses
import hashlib
import io
import itertools
import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from airbayes.data.object_file import MAX_BYTES, read_arrays
from airbayes.errors import ResultsError
from airbayes.experiment.cells import Cell
from airbayes.files import read_limited, write_atomically, write_text
from airbayes.text import printable

FOLDER, MANIFEST = "samples", "manifest.json"
MOST_MANIFEST = 64 << 20  # bytes


@dataclasses.dataclass(frozen=True)
class StoredCell:
    """One row of the manifest."""

    method: str
    policy: str | None
    topology: str | None
    snr_db: float | None  # None: ideal links
    seed: int
    file: str
    sha256: str

    def has_right_types(self) -> bool:
        """Of a row that came from a file."""
        texts = all(isinstance(value, str) for value in (self.method, self.file, self.sha256))
        maybe_texts = all(isinstance(value, str | None) for value in (self.policy, self.topology))
        snr_is_right = self.snr_db is None or (_is_number(self.snr_db) and abs(self.snr_db) <= 1e6)
        return texts and maybe_texts and snr_is_right and isinstance(self.seed, int) and abs(self.seed) < 2**63

    @property
    def cell(self) -> Cell:
        return Cell(self.method, self.policy, self.topology, self.snr_db, self.seed)


def write_samples(folder: Path, samples: dict[Cell, np.ndarray], attributes: dict[str, str | int]) -> None:
    """Replace the stored samples of a run."""
    packed = ((cell, pack({"theta": theta.astype(np.float32)})) for cell, theta in samples.items())
    replace_cell_files(folder / FOLDER, packed, {"version": 1, "attributes": attributes})


def pack(arrays: dict[str, np.ndarray], compress: bool = False) -> bytes:
    """An .npz file."""
    buffer = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(buffer, **arrays)  # pyright: ignore[reportArgumentType]
    return buffer.getvalue()


def replace_cell_files(place: Path, packed: Iterable[tuple[Cell, bytes]], facts: dict) -> None:
    """One file per cell instead of what was there; the manifest, `facts` and a row for each, comes last, so what it
    names is there. A folder that would stay empty is not made."""
    cells = iter(packed)
    first = next(cells, None)
    if first is None and not place.exists():
        return
    place.mkdir(exist_ok=True)
    (place / MANIFEST).unlink(missing_ok=True)
    for old in place.glob("*.npz"):
        old.unlink()
    stored = []
    for cell, raw in [] if first is None else itertools.chain([first], cells):
        name = f"{file_stem(cell)}.npz"
        write_atomically(place / name, lambda path, raw=raw: path.write_bytes(raw))
        row = StoredCell(**dataclasses.asdict(cell), file=name, sha256=hashlib.sha256(raw).hexdigest())
        stored.append(dataclasses.asdict(row))
    write_text(place / MANIFEST, json.dumps(facts | {"cells": stored}, indent=1, allow_nan=False) + "\n")


def read_manifest(folder: Path) -> tuple[dict[str, str | int], list[StoredCell]]:
    """The attributes of the model, and the cells that have samples."""
    path = folder / FOLDER / MANIFEST
    if not path.exists():
        raise ResultsError(
            f"{folder} holds no samples of θ. Run the experiment with --saved-samples 20 (or more) to store some."
        )
    try:
        content = json.loads(read_limited(path, MOST_MANIFEST).decode("utf-8"))
        if content["version"] != 1:
            raise ResultsError(f"{path} has version {content['version']}; this airbayes reads version 1.")
        stored = [StoredCell(**row) for row in content["cells"]]
        wrong = [row for row in stored if not row.has_right_types()]
        if wrong or not isinstance(content["attributes"], dict):
            raise ValueError("a field has the wrong type")
        return content["attributes"], stored
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ResultsError(
            f"{path} is damaged ({printable(str(error), 200)}). Run the experiment again with --force."
        ) from None


def read_samples(folder: Path, stored: StoredCell) -> np.ndarray:
    """θ [sample, agent, param], checked against its checksum."""
    path = folder / FOLDER / Path(stored.file).name  # a manifest cannot point outside its folder
    raw = read_limited(path, MAX_BYTES)
    if hashlib.sha256(raw).hexdigest() != stored.sha256:
        raise ResultsError(
            f"{path} has changed since it was written (sha256 differs). Run the experiment again with --force."
        )
    theta = read_arrays(path, len(raw)).get("theta")  # stored, not packed: no larger than the file
    if theta is None or theta.ndim != 3:
        raise ResultsError(f"{path} holds no theta [sample, agent, param]. Run the experiment again with --force.")
    return theta


def file_stem(cell: Cell) -> str:
    """A readable name that is a safe file name, too."""
    topology = "no-network" if cell.topology is None else _short(cell.topology)
    snr = "ideal" if cell.snr_db is None else f"{cell.snr_db:g}dB"
    name = f"{cell.variant}_{topology}_{snr}_seed{cell.seed}"
    # The cell's own number tells apart what looks alike: `full` and `full.csv`, 0.1 dB and 0.1000001 dB.
    return f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)}_{cell.stream:08x}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(topology: str) -> str:
    """An edge list's name without its folder; of a scenario all of it: `.3` of a fault rate is no file ending."""
    return Path(topology).stem if topology.endswith(".csv") else topology
