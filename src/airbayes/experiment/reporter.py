"""Who is told how a run goes on."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from airbayes.experiment.cells import Cell
from airbayes.experiment.results import CellResult

Values = dict[str, np.ndarray]  # name → [cell]


@runtime_checkable
class Reporter(Protocol):
    """In this order, variant by variant; `resumed`, `advance`, `snapshot` and `failed` are about one batch."""

    def begin(self, variant: str, cells: list[Cell], steps: int) -> None: ...
    def compiled(self, variant: str, seconds: float) -> None: ...
    def resumed(self, cells: list[Cell], step: int) -> None: ...
    def advance(self, cells: list[Cell], step: int) -> None: ...
    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None:
        """Metrics that are stored over iterations, the mean over chains and agents; `lost` [cell]: who has diverged."""
        ...

    def failed(self, cells: list[Cell], text: str) -> None:
        """The batch ended with an error; the others go on, and the end of the variant is told without its cells."""
        ...

    def finish(self, variant: str, results: list[CellResult]) -> None: ...


class Silent:
    """Nobody."""

    def begin(self, variant: str, cells: list[Cell], steps: int) -> None: ...
    def compiled(self, variant: str, seconds: float) -> None: ...
    def resumed(self, cells: list[Cell], step: int) -> None: ...
    def advance(self, cells: list[Cell], step: int) -> None: ...
    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None: ...
    def failed(self, cells: list[Cell], text: str) -> None: ...
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

    def failed(self, cells: list[Cell], text: str) -> None:
        for each in self.reporters:
            each.failed(cells, text)

    def finish(self, variant: str, results: list[CellResult]) -> None:
        for each in self.reporters:
            each.finish(variant, results)


class Marked:
    """One reporter, whose own errors are remembered: they are not the fault of the cells that it is told about."""

    def __init__(self, reporter: Reporter):
        self.reporter = reporter
        self.error: Exception | None = None

    def begin(self, variant: str, cells: list[Cell], steps: int) -> None:
        self._tell(self.reporter.begin, variant, cells, steps)

    def compiled(self, variant: str, seconds: float) -> None:
        self._tell(self.reporter.compiled, variant, seconds)

    def resumed(self, cells: list[Cell], step: int) -> None:
        self._tell(self.reporter.resumed, cells, step)

    def advance(self, cells: list[Cell], step: int) -> None:
        self._tell(self.reporter.advance, cells, step)

    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None:
        self._tell(self.reporter.snapshot, cells, step, values, lost)

    def failed(self, cells: list[Cell], text: str) -> None:
        self._tell(self.reporter.failed, cells, text)

    def finish(self, variant: str, results: list[CellResult]) -> None:
        self._tell(self.reporter.finish, variant, results)

    def _tell(self, method: Callable[..., None], *args: object) -> None:
        try:
            method(*args)
        except Exception as error:
            self.error = error
            raise
