"""`--json`: a run as one JSON object a line, for other programs (docs/terminal.md).

    {"event": "begin", "time": …, "variant": …, "cells": 9, "steps": 5000}
    {"event": "compiled", "time": …, "variant": …, "seconds": 3.2}
    {"event": "progress", "time": …, "variant": …, "step": 400, "steps": 5000, "steps_per_s": …, "left_s": …,
     "left_all_s": …, "cells": […]}
    {"event": "failed", "time": …, "variant": …, "cells": […], "error": "ValueError: …"}
    {"event": "finish", "time": …, "variant": …, "cells": […]}
    {"event": "done", "time": …, "status": "complete", "folder": …, "files": […]}

What is not known is null, and so is what is not finite: every line is strict JSON.
"""

import io
import json
import math
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import numpy as np

from airbayes.cli.run_state import RunState
from airbayes.experiment.cells import Cell
from airbayes.experiment.reporter import Values
from airbayes.experiment.results import CellResult

EVERY_S = 1.0  # least time between two lines of progress without metrics


class JsonReporter:
    """Writes events; it speaks of `state`, which is told before."""

    def __init__(self, state: RunState, stream: io.TextIOBase | TextIO | None = None):
        self.state, self.stream = state, stream or sys.stdout
        self.seen: list[dict] | None = None  # metrics that go out with the next line of progress
        self.last = -math.inf

    def begin(self, variant: str, cells: list[Cell], steps: int) -> None:
        self.seen = None
        self.write("begin", variant=variant, cells=len(cells), steps=steps)

    def compiled(self, variant: str, seconds: float) -> None:
        self.write("compiled", variant=variant, seconds=seconds)

    def resumed(self, cells: list[Cell], step: int) -> None:
        self.seen = None
        self.write("resumed", variant=cells[0].variant, cells=[about(cell) for cell in cells], step=step)

    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None:
        self.seen = [
            about(cell)
            | {"status": "diverged" if lost[index] else "running"}
            | {"metrics": {name: float(found[index]) for name, found in values.items()}}
            for index, cell in enumerate(cells)
        ]

    def advance(self, cells: list[Cell], step: int) -> None:
        now = time.monotonic()
        if self.seen is None and now - self.last < EVERY_S:
            return
        self.last = now
        state = self.state
        self.write(
            "progress",
            variant=cells[0].variant,
            step=step,
            steps=state.steps,
            steps_per_s=state.rate(),
            left_s=state.batch_eta_s(),
            left_all_s=state.eta_s(),
            cells=self.seen or [],
        )
        self.seen = None

    def failed(self, cells: list[Cell], text: str) -> None:
        self.seen = None
        self.write("failed", variant=cells[0].variant, cells=[about(cell) for cell in cells], error=text)

    def finish(self, variant: str, results: list[CellResult]) -> None:
        cells = []
        for result in results:
            metrics = result.metrics.scalars if result.metrics else {}
            cells.append(about(result.cell) | {"status": result.status, "metrics": metrics})
        self.write("finish", variant=variant, cells=cells)

    def write(self, event: str, **facts: Any) -> None:
        self.stream.write(json_line(event, facts))
        self.stream.flush()


def about(cell: Cell) -> dict[str, Any]:
    return {
        "method": cell.method,
        "policy": cell.policy,
        "topology": cell.topology,
        "snr_db": cell.snr_db,
        "seed": cell.seed,
    }


def json_line(event: str, facts: Mapping[str, Any]) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"event": event, "time": now} | _strict(facts), ensure_ascii=False, allow_nan=False) + "\n"


def _strict(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, Mapping):
        return {str(name): _strict(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
