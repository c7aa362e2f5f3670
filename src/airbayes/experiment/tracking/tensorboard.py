"""TensorBoard: a folder beside the results, one run a cell. `tensorboard --logdir runs/quick/tensorboard` shows it.

TensorBoard cannot be told to forget a point, so the folder is written anew from events.jsonl whenever a run goes on.
"""

import re
import shutil
import time
from pathlib import Path
from typing import Any

from airbayes.experiment.cells import Cell
from airbayes.experiment.results import CellResult
from airbayes.experiment.tracking.base import Tracker
from airbayes.experiment.tracking.event_file import cell_of, read_events

FOLDER = "tensorboard"
IDENTITY = ("event", "method", "policy", "topology", "snr_db", "seed", "step", "status")


def run_name(cell: Cell) -> str:
    """A folder name for a cell, readable in TensorBoard's list."""
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", str(cell))


class TensorBoard(Tracker):
    def __init__(self, folder: Path, events: Path):
        self.folder = folder / FOLDER
        shutil.rmtree(self.folder, ignore_errors=True)
        self.known: set[tuple[Cell, int]] = set()
        for line in read_events(events):
            if line["event"] == "metrics":
                values = {name: value for name, value in line.items() if name not in IDENTITY}
                self.metrics(cell_of(line), line["step"], values)

    def metrics(self, cell: Cell, step: int, values: dict[str, float]) -> None:
        if (cell, step) in self.known:
            return
        from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

        self.known.add((cell, step))
        scalars = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._append(cell, Event(wall_time=time.time(), step=step, summary=Summary(value=scalars)))

    def _append(self, cell: Cell, event: Any) -> None:
        """Opened anew for every point: a study has hundreds of cells, more than a process may hold files open."""
        from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboard.summary.writer.record_writer import RecordWriter

        place = self.folder / run_name(cell)
        place.mkdir(parents=True, exist_ok=True)
        path = place / "events.out.tfevents.0.airbayes"
        is_new = not path.exists()
        with path.open("ab") as file:
            records = RecordWriter(file)
            if is_new:
                records.write(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
            records.write(event.SerializeToString())
            records.flush()

    def result(self, result: CellResult) -> None:
        """Its last metrics are there already."""

    def close(self) -> None:
        """Nothing is open."""
