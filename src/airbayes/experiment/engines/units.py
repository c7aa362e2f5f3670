"""The units of a sweep: batches of cells that the configuration alone fixes, the same for every engine."""

import dataclasses
from collections.abc import Sequence

from airbayes.experiment.cells import Cell, enumerate_cells, group_by_variant
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.grid import batches_of
from airbayes.text import plural


@dataclasses.dataclass(frozen=True)
class Unit:
    """Cells that run together in one program."""

    number: int
    cells: tuple[int, ...]  # their places in the grid
    variant: str

    def __str__(self) -> str:
        count = len(self.cells)
        return f"unit {self.number} ({self.variant}, {count} cell{'s' if count > 1 else ''})"


def units_of(config: ExperimentConfig) -> list[Unit]:
    cells = enumerate_cells(config)
    place = {cell: index for index, cell in enumerate(cells)}
    batches = (
        batch for group in group_by_variant(cells).values() for batch in batches_of(group, config.cells_per_batch)
    )
    return [
        Unit(number, tuple(place[cell] for cell in batch), batch[0].variant) for number, batch in enumerate(batches)
    ]


def cells_at(config: ExperimentConfig, places: Sequence[int]) -> list[Cell]:
    cells = enumerate_cells(config)
    return [cells[place] for place in places]


def share_of(units: list[Unit], index: int, count: int) -> list[Unit]:
    """Every count-th unit: neighbours, which cost about the same, go to different shares."""
    return units[index::count]


def too_few_units(config: ExperimentConfig, units: int, workers: int) -> str | None:
    """What to say when workers would have nothing to do."""
    if units >= workers:
        return None
    most = max(len(group) for group in group_by_variant(enumerate_cells(config)).values())
    text = f"{plural(units, 'unit')} of work for {workers} workers: {workers - units} will be idle."
    if config.cells_per_batch == 0:
        text += " With cells_per_batch = 0 a method is one unit."
    if most > 1 and config.cells_per_batch != 1:
        text += " Set a smaller --cells-per-batch for more units: another configuration, with a folder of its own."
    return text
