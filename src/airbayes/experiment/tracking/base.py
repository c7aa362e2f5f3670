"""What a tracker is told, and the reporter that tells it."""

import abc
from collections.abc import Sequence

import numpy as np

from airbayes.experiment.cells import Cell
from airbayes.experiment.reporter import Silent, Values
from airbayes.experiment.results import CellResult


class Tracker(abc.ABC):
    """Keeps metrics of cells over steps. After an interruption a step may be told again: it is to be kept once."""

    @abc.abstractmethod
    def metrics(self, cell: Cell, step: int, values: dict[str, float]) -> None:
        """Stored metrics of a cell, the mean over chains and agents; only finite ones."""

    @abc.abstractmethod
    def result(self, result: CellResult) -> None:
        """A cell that is finished."""

    @abc.abstractmethod
    def close(self) -> None:
        """Everything is on disk, or sent."""


class TrackingReporter(Silent):
    """Tells trackers about snapshots and results."""

    def __init__(self, trackers: Sequence[Tracker]):
        self.trackers = trackers

    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None:
        for index, cell in enumerate(cells):
            mine = {name: float(seen[index]) for name, seen in values.items() if np.isfinite(seen[index])}
            for tracker in self.trackers:
                tracker.metrics(cell, step, mine)

    def finish(self, variant: str, results: list[CellResult]) -> None:
        for result in results:
            for tracker in self.trackers:
                tracker.result(result)
