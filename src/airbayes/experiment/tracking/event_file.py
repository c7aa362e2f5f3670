"""`events.jsonl` in the results folder: one JSON object a line, appended while a run goes on.

    {"event": "metrics", "method": …, "policy": …, "topology": …, "snr_db": …, "seed": …, "step": 400, "accuracy": …}
    {"event": "result", "method": …, …, "status": "ok", "accuracy": …}

A line is there once: steps that a run repeats after an interruption are recognised. Read it while it grows, for example
with `pandas.read_json("runs/quick/events.jsonl", lines=True)`.
"""

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import IO, Any

from airbayes.errors import ResultsError
from airbayes.experiment.cells import Cell
from airbayes.experiment.results import CellResult
from airbayes.experiment.tracking.base import Tracker
from airbayes.files import read_limited
from airbayes.text import printable

MOST_BYTES = 1 << 30

EVENTS = "events.jsonl"


class EventFile(Tracker):
    """Appends to the file of a folder; what it holds from before is kept, less a last line that was cut off."""

    def __init__(self, folder: Path, *, anew: bool = False):
        self.path = folder / EVENTS
        try:
            if anew:
                self.path.unlink(missing_ok=True)
            self.known = {_key(line) for line in read_events(self.path, repair=True)}
            self.file: IO[str] = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise ResultsError(f"Cannot write {self.path}: {error.strerror or error}.") from error

    def metrics(self, cell: Cell, step: int, values: dict[str, float]) -> None:
        self._append({"event": "metrics"} | dataclasses.asdict(cell) | {"step": step} | values)

    def result(self, result: CellResult) -> None:
        scalars = result.metrics.scalars if result.metrics else {}
        finite = {name: value for name, value in scalars.items() if math.isfinite(value)}
        self._append({"event": "result"} | dataclasses.asdict(result.cell) | {"status": result.status} | finite)

    def _append(self, line: dict[str, Any]) -> None:
        if (key := _key(line)) in self.known:
            return
        self.known.add(key)
        try:
            self.file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
            self.file.flush()
        except OSError as error:
            raise ResultsError(f"Could not write {self.path}: {error.strerror or error}. Free some space.") from error

    def close(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()


def read_events(path: Path, *, repair: bool = False) -> list[dict[str, Any]]:
    """Every whole line. A process that was killed may leave part of one at the end; `repair` takes that away."""
    if not path.exists():
        return []
    content = read_limited(path, MOST_BYTES)
    whole = content.rfind(b"\n") + 1
    if repair and whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    lines = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            lines.append(json.loads(line))
            if not isinstance(lines[-1], dict):
                raise ValueError("no JSON object")
        except (ValueError, RecursionError) as error:
            raise ResultsError(
                f"{path}, line {number}: {printable(str(error), 200)}. Remove the file; a run writes it again from "
                "where it stands."
            ) from None
    return lines


def cell_of(line: dict[str, Any]) -> Cell:
    return Cell(*(line.get(field.name) for field in dataclasses.fields(Cell)))  # pyright: ignore[reportArgumentType]


def _key(line: dict[str, Any]) -> tuple:
    return line.get("event"), cell_of(line), line.get("step")
