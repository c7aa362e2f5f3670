"""Who is told how a run goes on."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from airbayes.experiment.cells import Cell
from airbayes.experiment.results import CellResult

Values = dict[str, np.ndarray]  # name → [cell]


@runtime_checkable
class Reporter(Protocol):
    """In this order, variant by variant; `resumed`, `advance` and `snapshot` are about the cells of one batch."""

    def begin(self, variant: str, cells: list[Cell], steps: int) -> None: ...
    def compiled(self, variant: str, seconds: float) -> None: ...
    def resumed(self, cells: list[Cell], step: int) -> None: ...
    def advance(self, cells: list[Cell], step: int) -> None: ...
    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None:
        """Metrics that are stored over iterations, the mean over chains and agents; `lost` [cell]: who has diverged."""
        ...

    def finish(self, variant: str, results: list[CellResult]) -> None: ...


class Silent:
    """Nobody."""

    def begin(self, variant: str, cells: list[Cell], steps: int) -> None: ...
    def compiled(self, variant: str, seconds: float) -> None: ...
    def resumed(self, cells: list[Cell], step: int) -> None: ...
    def advance(self, cells: list[Cell], step: int) -> None: ...
    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None: ...
    def finish(self, variant: str, results: list[CellResult]) -> None: ...


class Several:
    """Everybody in a list, in its order."""

    def __init__(self, reporters: Sequence[Reporter]):
        self.reporters = reporters

    def begin(self, variant: str, cells: list[Cell], steps: int) -> None:
        for each in self.reporters:
            each.begin(variant, cells, steps)

    def compiled(self, variant: str, seconds: float) -> None:
        for each in self.reporters:
            each.compiled(variant, seconds)

    def resumed(self, cells: list[Cell], step: int) -> None:
        for each in self.reporters:
            each.resumed(cells, step)

    def advance(self, cells: list[Cell], step: int) -> None:
        for each in self.reporters:
            each.advance(cells, step)

    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None:
        for each in self.reporters:
            each.snapshot(cells, step, values, lost)

    def finish(self, variant: str, results: list[CellResult]) -> None:
        for each in self.reporters:
            each.finish(variant, results)
