"""Where a run stands: its cells, their steps and numbers, how fast it goes and how long it will take."""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.headline import headline_of_result, headline_so_far
from airbayes.experiment.reporter import Values
from airbayes.experiment.results import CellResult

WAITING, COMPILING, RUNNING, DONE, DIVERGED = "waiting", "compiling", "running", "done", "diverged"
FAILED = "failed"  # its batch ended with an error


@dataclasses.dataclass
class CellState:
    status: str = WAITING
    step: int = 0
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)


class RunState:
    """A reporter that remembers. `clock` gives seconds."""

    def __init__(self, config: ExperimentConfig, cells: Sequence[Cell], clock: Callable[[], float] = time.monotonic):
        self.config, self.steps, self.clock = config, config.sampling.steps, clock
        self.cells = {cell: CellState() for cell in cells}
        self.begun = clock()
        self.batch: list[Cell] = []  # the one that runs
        self.batch_step, self.batch_begun = 0, self.begun  # where and when its steps began
        self.spent: dict[str, tuple[float, int]] = {}  # variant → seconds, and cell-steps done in them

    def begin(self, variant: str, cells: list[Cell], steps: int) -> None:
        self.steps = steps
        for cell in cells:
            self.cells.setdefault(cell, CellState()).status = COMPILING

    def compiled(self, variant: str, seconds: float) -> None:
        for cell in self.batch:  # an earlier batch of this variant, whose results come with the last one
            if self.cells[cell].status == RUNNING:
                self.cells[cell].status = DONE
        self.batch, self.batch_step, self.batch_begun = [], 0, self.clock()

    def resumed(self, cells: list[Cell], step: int) -> None:
        self.batch_step = step
        for cell in cells:
            state = self.cells[cell]
            state.step, state.status = step, DONE if step >= self.steps else RUNNING

    def advance(self, cells: list[Cell], step: int) -> None:
        self.batch = cells
        for cell in cells:
            state = self.cells[cell]
            state.step = step
            if state.status != DIVERGED:
                state.status = RUNNING
        if step >= self.steps:
            self._batch_ended()

    def snapshot(self, cells: list[Cell], step: int, values: Values, lost: np.ndarray) -> None:
        for index, cell in enumerate(cells):
            mine = {name: float(seen[index]) for name, seen in values.items()}
            state = self.cells[cell]
            state.numbers = headline_so_far(self.config, cell, step, mine)
            if lost[index]:
                state.status = DIVERGED

    def failed(self, cells: list[Cell], text: str) -> None:
        for cell in cells:
            self.cells[cell].status = FAILED
        self.batch = []

    def finish(self, variant: str, results: list[CellResult]) -> None:
        for result in results:
            state = self.cells[result.cell]
            state.status = DONE if result.diverged is None else DIVERGED
            state.step = self.steps
            state.numbers = headline_of_result(self.config, result)
        self.batch = []

    def _batch_ended(self) -> None:
        seconds, count = self.spent.get(self.batch[0].variant, (0.0, 0))
        seconds += self.clock() - self.batch_begun
        self.spent[self.batch[0].variant] = seconds, count + (self.steps - self.batch_step) * len(self.batch)

    @property
    def done_share(self) -> float:
        """Of all cell-steps."""
        total = self.steps * len(self.cells)
        return sum(state.step for state in self.cells.values()) / total if total else 1.0

    @property
    def elapsed_s(self) -> float:
        return self.clock() - self.begun

    def rate(self) -> float:
        """Steps a second of the batch that runs; NaN before its first."""
        if not self.batch:
            return math.nan
        seconds = self.clock() - self.batch_begun
        steps = self.cells[self.batch[0]].step - self.batch_step
        return steps / seconds if steps > 0 and seconds > 0 else math.nan

    def batch_eta_s(self) -> float:
        """Seconds until the batch that runs is done."""
        return (self.steps - self.cells[self.batch[0]].step) / self.rate() if self.batch else math.nan

    def more_than(self, cells: Sequence[Cell]) -> bool:
        """Whether other cells are still to be computed."""
        mine = set(cells)
        return any(
            state.status not in (DONE, FAILED) and state.step < self.steps
            for cell, state in self.cells.items()
            if cell not in mine
        )

    def eta_s(self) -> float:
        """Seconds until all is done, without compiling; of methods that have not run yet, as slow as the others."""
        pace = dict(self.spent)
        if self.batch and not math.isnan(self.rate()):
            seconds, count = pace.get(self.batch[0].variant, (0.0, 0))
            steps = (self.cells[self.batch[0]].step - self.batch_step) * len(self.batch)
            pace[self.batch[0].variant] = seconds + self.clock() - self.batch_begun, count + steps
        known = {variant: seconds / count for variant, (seconds, count) in pace.items() if count}
        if not known:
            return math.nan
        usual = sum(seconds for seconds, _ in pace.values()) / max(sum(count for _, count in pace.values()), 1)
        left = [
            (self.steps - state.step) * known.get(cell.variant, usual)
            for cell, state in self.cells.items()
            if state.status != FAILED and (state.status not in (DONE, DIVERGED) or state.step < self.steps)
        ]
        return sum(left, 0.0)
