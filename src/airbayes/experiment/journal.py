"""What a run has done so far, on disk: finished batches of cells, and where the unfinished ones stand.

    progress/begun                   the configuration, checksums of the files it names, and a name of its own
    progress/BATCH/done              the results of a finished batch
    progress/BATCH/step-000012000    everything it needs to go on from there; the last three are kept

A batch is what runs in one program; which cells it holds depends on the configuration alone. Records that are damaged,
or belong to other cells, are passed over and named, and the next older one is taken: work is repeated, never guessed.
"""

import dataclasses
import hashlib
import json
import re
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from airbayes import __version__
from airbayes.errors import AirbayesError, ResultsError
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.results import CellResult, pack_results, unpack_results
from airbayes.experiment.toml_io import changed_fields, dump_config, parse_config
from airbayes.folders import PROGRESS
from airbayes.records import read_record, write_record
from airbayes.text import plural, printable

KEEP = 3  # states of a batch
EVERY_S = 60.0  # seconds between two states


class Stopped(Exception):
    """A run that was asked to stop and has saved what it had."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


@dataclasses.dataclass(frozen=True)
class SavedState:
    """Where an unfinished batch stands."""

    step: int
    leaves: list[np.ndarray]  # of the carry
    snapshots: list[dict[str, np.ndarray]]  # metrics stored over iterations so far


def never() -> str | None:
    """No reason to stop."""
    return None


class Journal:
    """Saves and finds the progress of a run in its folder."""

    def __init__(
        self,
        folder: Path,
        every_s: float = EVERY_S,
        stop: Callable[[], str | None] = never,  # the reason to stop, once there is one
        tell: Callable[[str], None] = lambda text: None,
    ):
        self.folder, self.every_s, self.stop, self.tell = folder / PROGRESS, every_s, stop, tell
        self.last_saved = time.monotonic()
        self.run = ""  # tells apart runs that were started over in one folder: records of others are never taken

    def begin(self, config: ExperimentConfig) -> bool:
        """Whether there is progress of this very run to go on from; that of another run is refused."""
        path = self.folder / "begun"
        if not path.exists():
            self.clear()  # of what a run left that was killed before it began, nothing can be used
            self.run = uuid.uuid4().hex[:12]
            write_record(path, {}, {"config": dump_config(config), "inputs": _inputs(config), "run": self.run})
            return False
        self.join(config)
        return True

    def join(self, config: ExperimentConfig) -> None:
        """Take part in the run that has begun; that of another configuration, or of other files, is refused."""
        try:
            _, facts = read_record(self.folder / "begun")
            found, inputs, self.run = parse_config(facts["config"]), facts["inputs"], facts.get("run", "")
            if not (isinstance(inputs, dict) and isinstance(self.run, str)):
                raise ResultsError(f"{self.folder / 'begun'} holds no table of inputs.")
        except (AirbayesError, KeyError) as error:
            raise ResultsError(f"{self.folder} cannot be read ({error}). Use --force to start over.") from None
        changed = changed_fields(found, config)
        changed += [
            f"the file {name} has changed" for name, digest in _inputs(config).items() if inputs.get(name) != digest
        ]
        if changed:
            listed = "\n  ".join(changed)
            raise ResultsError(
                f"{self.folder.parent} holds an unfinished run of another configuration. Use another --out, or --force "
                f"to discard it (from Python: another folder, or remove this one). Changed:\n  {listed}"
            )

    def place(self, cells: list[Cell]) -> Path:
        """The folder of a batch, named for its variant, and for the run and exactly these cells."""
        digest = hashlib.sha256((json.dumps(_described(cells)) + self.run).encode()).hexdigest()[:12]
        return self.folder / f"{re.sub(r'[^A-Za-z0-9_-]', '-', cells[0].variant)}-{digest}"

    def finished(self, cells: list[Cell]) -> list[CellResult] | None:
        """The results of a batch that was finished before."""
        path = self.place(cells) / "done"
        if not path.exists():
            return None
        try:
            arrays, facts = self._read(path, cells)
            return unpack_results(cells, arrays, facts)
        except (ResultsError, KeyError, ValueError, TypeError, AttributeError) as error:
            self.tell(f"{error} {plural(len(cells), 'cell')}: computed again.")
            return None

    def finish(self, cells: list[Cell], results: list[CellResult]) -> None:
        """Store the results of a batch; its states are not needed any more."""
        place = self.place(cells)
        arrays, facts = pack_results(results)
        write_record(place / "done", arrays, facts | self._about(cells))
        for old in _states(place):
            shutil.rmtree(old, ignore_errors=True)

    def latest(self, cells: list[Cell]) -> SavedState | None:
        """The newest state of a batch that is whole."""
        for path in reversed(_states(self.place(cells))):
            try:
                arrays, facts = self._read(path, cells)
                leaves = [arrays[f"carry/{index}"] for index in range(facts["leaves"])]
                names, count = facts["snapshots"], facts["count"]
                snapshots = [{name: arrays[f"history/{name}"][i] for name in names} for i in range(count)]
                if not isinstance(facts["step"], int) or facts["step"] < 1:
                    raise ResultsError(f"{path} says it is of step {printable(repr(facts['step']))}.")
                return SavedState(facts["step"], leaves, snapshots)
            except (ResultsError, KeyError, ValueError, TypeError, IndexError) as error:
                self.tell(f"{error} Going on from an older state.")
        return None

    def standing(self) -> frozenset[Path]:
        """All records of batches: one more, or others, where something was computed."""
        return frozenset(path for name in ("done", "step-*") for path in self.folder.glob(f"*/{name}"))

    def check(self) -> None:
        """Stop the run where that loses nothing."""
        if (reason := self.stop()) is not None:
            raise Stopped(reason)

    def is_due(self) -> bool:
        """Whether the last state is old enough for another."""
        return time.monotonic() - self.last_saved >= self.every_s

    def after_chunk(self, cells: list[Cell], step: int, carry, snapshots: list[dict[str, np.ndarray]]) -> None:
        """Save the state now and then, and at once when the run is to stop; then stop it."""
        reason = self.stop()
        if reason is None and not self.is_due():
            return
        self.save(cells, step, carry, snapshots)
        if reason is not None:
            raise Stopped(reason)

    def save(self, cells: list[Cell], step: int, carry, snapshots: list[dict[str, np.ndarray]]) -> None:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(carry)]
        arrays = {f"carry/{index}": leaf for index, leaf in enumerate(leaves)}
        names = sorted(snapshots[0]) if snapshots else []
        arrays |= {f"history/{name}": np.stack([snapshot[name] for snapshot in snapshots]) for name in names}
        facts = {"step": step, "leaves": len(leaves), "snapshots": names, "count": len(snapshots)}
        place = self.place(cells)
        now = place / f"step-{step:09d}"
        write_record(now, arrays, facts | self._about(cells))
        states = _states(place)
        known = states.index(now) + 1  # later ones were passed over: they must not crowd out those that are of use
        for old in states[: max(known - KEEP, 0)] + states[known:]:
            shutil.rmtree(old, ignore_errors=True)
        self.last_saved = time.monotonic()

    def clear(self) -> None:
        """Forget all progress: the run is complete, or starts over.

        `begun` goes first: without it, what a process leaves that is killed on the way counts for nothing.
        """
        shutil.rmtree(self.folder / "begun", ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, path: Path, cells: list[Cell]) -> tuple[dict[str, np.ndarray], dict]:
        arrays, facts = read_record(path)
        if facts.get("cells") != _described(cells):
            raise ResultsError(f"{path} belongs to other cells.")
        if (found := facts.get("made_by")) != _made_by():
            self.tell(f"{path.parent.name} was begun with {found}; with {_made_by()} the last bits may differ.")
        return arrays, facts

    def _about(self, cells: list[Cell]) -> dict:
        return {"cells": _described(cells), "made_by": _made_by()}


def _inputs(config: ExperimentConfig) -> dict[str, str]:
    """The files that decide the results, with their checksums."""
    named = [name for name in config.network.topologies if name.endswith(".csv")]
    if config.problem.kind == "pointnet" and config.lidar.source != "simulated":
        named.append(config.lidar.source)
    found = {}
    for name in named:
        try:
            with open(name, "rb") as handle:
                found[name] = hashlib.file_digest(handle, "sha256").hexdigest()
        except OSError as error:
            raise ResultsError(f"Cannot read {name}: {error.strerror or error}.") from None
    return found


def _described(cells: list[Cell]) -> list[dict]:
    return [dataclasses.asdict(cell) for cell in cells]


def _made_by() -> str:
    """What decides the last bits of a result."""
    return f"airbayes {__version__}, jax {jax.__version__} on {jax.default_backend()}"


def _states(place: Path) -> list[Path]:
    """Oldest first; the number in the name has a fixed width."""
    return sorted(place.glob("step-*"))
