"""What a section hands to the page: words, tables, and figures as plain data that the browser draws.

A figure has `frames`: lists of panels, one list for every setting of its `controls` (none: the only key is ""). All
panels of a figure stand in a grid of `columns`. `assets/panels_*.js` draw one type of panel each.
"""

import dataclasses
from typing import Any, Literal

Panel = dict[str, Any]
Tone = Literal["good", "bad", "open", "dim"]


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    method: str | None = None  # a variant, shown with its colour
    tone: Tone | None = None


@dataclasses.dataclass(frozen=True)
class Table:
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    words: tuple[int, ...] = (0,)  # columns with words, the others are numbers


@dataclasses.dataclass(frozen=True)
class Control:
    """What a reader can set: a slider where the options are ordered, else a menu."""

    name: str
    options: tuple[str, ...]
    start: int = 0
    slider: bool = False


@dataclasses.dataclass(frozen=True)
class Entry:
    """A line of the legend; curves that carry its key are shown and hidden with it."""

    key: str
    name: str
    method: str | None = None
    dash: int = 0


@dataclasses.dataclass(frozen=True)
class Figure:
    label: str  # for those who cannot see it
    frames: dict[str, list[Panel]]  # "0|2" → panels, for option 0 of the first control and 2 of the second
    columns: int = 1
    controls: tuple[Control, ...] = ()
    legend: tuple[Entry, ...] = ()

    def spec(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "columns": self.columns,
            "controls": [dataclasses.asdict(control) for control in self.controls],
            "legend": [dataclasses.asdict(entry) for entry in self.legend],
            "frames": self.frames,
        }


@dataclasses.dataclass(frozen=True)
class Section:
    name: str  # its anchor
    title: str
    text: str  # two sentences for someone who has not read the paper
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    listing: tuple[tuple[str, str], ...] = ()  # (title, preformatted text), folded
