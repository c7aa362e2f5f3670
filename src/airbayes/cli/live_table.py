"""A run as a table that fits the terminal: one row a cell, fewer where there are too many; columns as there is room."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from airbayes.cli.progress import notice_of
from airbayes.cli.run_state import COMPILING, DIVERGED, DONE, FAILED, RUNNING, WAITING, CellState, RunState
from airbayes.experiment.cells import Cell
from airbayes.experiment.headline import NAMES, shown_names
from airbayes.text import percent, plural, true_minus

STYLES = {WAITING: "dim", COMPILING: "yellow", RUNNING: "cyan", DONE: "green", DIVERGED: "bold red", FAILED: "bold red"}
GAP, STATUS_WIDTH = 2, 9  # between columns; a width that does not change with every word
AROUND = 6  # lines of the screen that are not rows: title, header, rule, bar, prompt
LEVELS: tuple[Callable[[Cell], tuple], ...] = (
    lambda cell: (cell.variant, cell.topology, cell.snr_db, cell.seed),
    lambda cell: (cell.variant, cell.topology, cell.snr_db),
    lambda cell: (cell.variant, cell.topology),
    lambda cell: (cell.variant,),
)
# Which column goes first when there is no room. The rest is cut.
DROPPED = ("rms(θ)", "steps/s", "seed", "left", "SNR", "graph", "ECE")


@dataclasses.dataclass(frozen=True)
class Row:
    """Some cells that are shown together."""

    cells: list[Cell]
    states: list[CellState]

    @property
    def status(self) -> str:
        """The one that tells most: where the work is."""
        found = {state.status for state in self.states}
        for status in (RUNNING, COMPILING):
            if status in found:
                return status
        if WAITING in found:
            return WAITING if found == {WAITING} else RUNNING  # some are done, the others wait for their batch
        return found.pop() if len(found) == 1 else DONE


class LiveTable:
    """Rendered anew from the state at every refresh, for whatever size the terminal then has."""

    def __init__(self, state: RunState):
        self.state = state

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        height = options.height or console.size.height
        notice = notice_of(console)
        yield render(self.state, options.max_width, height - len(notice))
        yield from notice


def render(state: RunState, width: int, height: int) -> Group:
    rows = choose_rows(state, max(height - AROUND, 1))
    shown, hidden = window(rows, max(height - AROUND, 1))
    parts = [_title(state, width), _table(state, shown, width)]
    if hidden:
        parts.append(Text(f"… and {hidden} more", style="dim", no_wrap=True, overflow="ellipsis"))
    parts.append(_bar(state, width))
    return Group(*parts)


def choose_rows(state: RunState, most: int) -> list[Row]:
    """One row a cell if they fit, else seeds together, then SNRs too, then graphs too."""
    rows: list[Row] = []
    for level in LEVELS:
        groups: dict[tuple, list[Cell]] = {}
        for cell in state.cells:
            groups.setdefault(level(cell), []).append(cell)
        rows = [Row(cells, [state.cells[cell] for cell in cells]) for cells in groups.values()]
        if len(rows) <= most:
            break
    return rows


def window(rows: list[Row], most: int) -> tuple[list[Row], int]:
    """The rows around the one at work, and how many are left out."""
    if len(rows) <= most:
        return rows, 0
    most = max(most - 1, 1)  # a line says that there are more
    at_work = next((i for i, row in enumerate(rows) if row.status in (RUNNING, COMPILING)), 0)
    begin = max(0, min(at_work - most // 2, len(rows) - most))
    return rows[begin : begin + most], len(rows) - most


def _table(state: RunState, rows: list[Row], width: int) -> Table:
    columns = {"method": [row.cells[0].variant for row in rows], "graph": [_graphs(row) for row in rows]}
    columns["SNR"] = [spread({cell.snr_db for cell in row.cells}, _decibel) for row in rows]
    if len({cell.seed for cell in state.cells}) > 1:
        columns["seed"] = [spread({cell.seed for cell in row.cells}, str) for row in rows]
    columns["status"] = [_status(state, row) for row in rows]
    for name in shown_names(state.config):
        columns[NAMES[name]] = [_numbers(row, name) for row in rows]
    batch = set(state.batch)
    at_work = [_at_work(state, row, batch) for row in rows]
    columns["steps/s"] = [short_number(state.rate()) if now else "" for now in at_work]
    columns["left"] = [clock(state.batch_eta_s()) if now else "" for now in at_work]
    for name in ("graph", "SNR"):
        if not any(columns[name]):
            del columns[name]
    keep = fitting(columns, width)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name in keep:
        right = name in ("steps/s", "left", *NAMES.values())
        table.add_column(
            name,
            justify="right" if right else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=STATUS_WIDTH if name == "status" and width > 40 else None,
        )
    for index, row in enumerate(rows):
        status = row.status
        words = [
            Text(columns[name][index], style=STYLES[status] if name == "status" else "dim" if status == WAITING else "")
            for name in keep
        ]
        table.add_row(*words)
    return table


def fitting(columns: dict[str, list[str]], width: int) -> list[str]:
    """Names of the columns that fit side by side; the first and the status stay."""
    keep = list(columns)
    for name in ("", *DROPPED):
        keep = [each for each in keep if each != name]
        wanted = [max(len(each), STATUS_WIDTH * (each == "status"), *map(len, columns[each])) for each in keep]
        if sum(wanted) + GAP * len(keep) - GAP <= width:
            break
    return keep


def _title(state: RunState, width: int) -> Text:
    done = sum(one.status in (DONE, DIVERGED) and one.step >= state.steps for one in state.cells.values())
    lost = sum(one.status == DIVERGED for one in state.cells.values())
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(state.config.name, style="bold")
    text.append(f"  {done} of {plural(len(state.cells), 'cell')} done")
    failed = sum(one.status == FAILED for one in state.cells.values())
    for count, word in ((lost, DIVERGED), (failed, FAILED)):
        if count:
            text.append(f", {count} {word}", style="bold red")
    text.append(f"  {clock(state.elapsed_s)}", style="dim")
    return text


def _bar(state: RunState, width: int) -> Table:
    share, left = state.done_share, clock(state.eta_s())
    words = f"{percent(share):>5}" + (f", about {left} left" if left and share < 1 else "")
    line = Table.grid(padding=(0, 1))
    line.add_column()
    line.add_column(no_wrap=True, overflow="ellipsis")
    line.add_row(ProgressBar(total=1.0, completed=share, width=max(min(40, width - len(words) - 2), 4)), words)
    return line


def _status(state: RunState, row: Row) -> str:
    status = words = row.status
    if status == RUNNING:
        share = sum(one.step for one in row.states) / (state.steps * len(row.states))
        words = percent(share) if share < 1 else "scoring"
    for word in (DIVERGED, FAILED):
        if word != status and (count := sum(one.status == word for one in row.states)):
            words += f", {count} {word}"
    return words


def _at_work(state: RunState, row: Row, batch: set[Cell]) -> bool:
    """Whether its steps are being computed now."""
    running = bool(state.batch) and state.cells[state.batch[0]].step < state.steps
    return running and row.status == RUNNING and any(cell in batch for cell in row.cells)


def _graphs(row: Row) -> str:
    names = list(dict.fromkeys(cell.topology for cell in row.cells if cell.topology))
    return names[0] if len(names) == 1 else f"{len(names)} graphs" if names else ""


def _decibel(snr: float | None) -> str:
    return "" if snr is None else true_minus(f"{snr:g} dB")


def spread(values: set, show: Callable[..., str]) -> str:
    """One value, or the first and the last."""
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return ""
    return show(ordered[0]) if len(ordered) == 1 else f"{show(ordered[0]).removesuffix(' dB')}…{show(ordered[-1])}"


def _numbers(row: Row, name: str) -> str:
    """Of one cell its number, of several the least and the largest."""
    values = [state.numbers[name] for state in row.states if not math.isnan(state.numbers.get(name, math.nan))]
    return number_range(values)


def number_range(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = short_number(min(values)), short_number(max(values))
    return low if low == high else f"{low}…{high}"


def short_number(value: float) -> str:
    """Three digits that mean something."""
    if math.isnan(value):
        return ""
    if abs(value) >= 100 or value == 0:
        return f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.1e}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def clock(seconds: float) -> str:
    """0:07, 12:30, 3:05:00; empty where nothing is known."""
    if not math.isfinite(seconds):
        return ""
    whole = math.ceil(max(seconds, 0.0))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
