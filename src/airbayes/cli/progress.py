"""How a run shows itself: a live table on a terminal, plain lines elsewhere."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from airbayes.text import plural, printable

if TYPE_CHECKING:
    import numpy as np
    from rich.live import Live

    from airbayes.cli.run_state import RunState
    from airbayes.experiment.cells import Cell
    from airbayes.experiment.config import ExperimentConfig
    from airbayes.experiment.reporter import Reporter, Values
    from airbayes.experiment.results import CellResult

LINE_EVERY = 10.0  # seconds between plain lines


def make_console(quiet: bool = False, *, stderr: bool = False) -> "PipeConsole":
    """Results go to stdout, progress to stderr. Colours follow NO_COLOR; files get a readable width.

    Neither "[red]" nor ":car:" means anything in a text: names of files and classes are shown as they are.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 120
    return PipeConsole(quiet=quiet, stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


class PipeConsole(Console):
    """A reader that leaves early is told apart from a failure: rich would exit with 1."""

    drawing = False  # a live table, which would soon be drawn over whatever else is written
    notice = ""  # what is to be said meanwhile, below it

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def can_draw(console: Console) -> bool:
    """Whether what is shown can be drawn over; else there are whole lines."""
    return console.is_terminal and not console.is_dumb_terminal and not console.quiet


@contextmanager
def drawn(live: "Live") -> Iterator[None]:
    """A live table on the screen. Who has something to say meanwhile gives its console a notice."""
    console = live.console
    with live:
        try:
            if isinstance(console, PipeConsole):
                console.drawing = True
            yield
        finally:
            if isinstance(console, PipeConsole):
                console.drawing, console.notice = False, ""  # the last picture stays without it


def notice_of(console: Console) -> list[Text]:
    """The line below a live table, if something is to be said."""
    words = console.notice if isinstance(console, PipeConsole) else ""
    return [Text(words, style="yellow", no_wrap=True, overflow="ellipsis")] if words else []


@contextmanager
def make_reporter(
    console: Console,
    config: "ExperimentConfig",
    folder: Path,
    *,
    verbose: bool = False,
    json: bool = False,
    track: tuple[str, ...] = (),
    anew: bool = False,  # forget what was tracked of an earlier run in this folder
) -> "Iterator[Reporter]":
    """Who is told about a run into `folder`: a live table on a terminal or plain lines, events, trackers."""
    from airbayes.cli.run_state import RunState
    from airbayes.experiment.cells import enumerate_cells
    from airbayes.experiment.reporter import Several
    from airbayes.experiment.tracking import TrackingReporter, open_trackers

    state = RunState(config, enumerate_cells(config))
    trackers = open_trackers(track, folder, config, anew=anew)
    told: list[Reporter] = [state, TrackingReporter(trackers)]
    if json:
        from airbayes.cli.json_events import JsonReporter

        told.append(JsonReporter(state))
    if verbose or not can_draw(console):
        told.append(LineReporter(console, state, verbose=verbose))
    try:
        with _live_table(console, state) if can_draw(console) else nullcontext():
            yield Several(told)
    finally:
        for tracker in trackers:
            tracker.close()


def _live_table(console: Console, state: "RunState"):
    from rich.live import Live

    from airbayes.cli.live_table import LiveTable

    return drawn(Live(LiveTable(state), console=console, refresh_per_second=4, vertical_overflow="crop"))


class LineReporter:
    """Says what it is told in whole lines, now and then; it speaks of `state`, which is told before."""

    def __init__(self, console: Console, state: "RunState", *, verbose: bool = False):
        self.console, self.state, self.verbose = console, state, verbose
        self.computed = False  # something of the variant, by this process
        self.of_variant = 0  # cells it has; they run in batches
        self.started = self.last = time.monotonic()

    def begin(self, variant: str, cells: "list[Cell]", steps: int) -> None:
        self.started = self.last = time.monotonic()
        self.computed, self.of_variant = False, len(cells)
        self.say(f"{variant}: {plural(len(cells), 'cell')}, {plural(steps, 'step')}")

    def compiled(self, variant: str, seconds: float) -> None:
        self.computed = True
        self.say(f"{variant}: compiled in {seconds:.1f} s")

    def resumed(self, cells: "list[Cell]", step: int) -> None:
        done = "results on disk already" if step == self.state.steps else f"going on from step {step:,}"
        self.say(f"{cells[0].variant}: {plural(len(cells), 'cell')}, {done}")

    def advance(self, cells: "list[Cell]", step: int) -> None:
        from airbayes.cli.live_table import clock, short_number

        if time.monotonic() - self.last > LINE_EVERY:
            self.last = time.monotonic()
            state, pace = self.state, ""
            if not math.isnan(rate := state.rate()):
                pace = f", {short_number(rate)} steps/s"
                if left := clock(state.batch_eta_s()):
                    pace += f", {left} left" + (f", {clock(state.eta_s())} for all" if state.more_than(cells) else "")
            at = f"step {step:,} of {state.steps:,}"
            at += f" of {plural(len(cells), 'cell')}" if len(cells) < self.of_variant else ""
            self.say(f"{cells[0].variant}: {at}{pace}{self._numbers(cells)}")

    def snapshot(self, cells: "list[Cell]", step: int, values: "Values", lost: "np.ndarray") -> None:
        if self.verbose:
            for cell in cells:
                self.say(f"{cell}: step {step:,}{self._numbers([cell])}")

    def failed(self, cells: "list[Cell]", text: str) -> None:
        first = printable(text.split("\n")[0], 300)
        self.say(f"{cells[0].variant}: {plural(len(cells), 'cell')} failed: {first}; the others go on")

    def finish(self, variant: str, results: "list[CellResult]") -> None:
        numbers = self._numbers([result.cell for result in results])
        took = f" in {time.monotonic() - self.started:.1f} s" if self.computed else ""
        self.say(f"{variant}: {outcome(results)}{took}{numbers}")
        for result in results:
            if result.diverged is not None:
                self.say(f"  {result.cell}: agent {result.diverged.agent} diverged at step {result.diverged.step:,}")
            elif self.verbose:
                self.say(f"  {result.cell}: done{self._numbers([result.cell])}")

    def _numbers(self, cells: "list[Cell]") -> str:
        from airbayes.cli.live_table import number_range
        from airbayes.experiment.headline import NAMES, shown_names

        words = ""
        for name in shown_names(self.state.config):
            known = [self.state.cells[cell].numbers.get(name, math.nan) for cell in cells]
            if shown := number_range([value for value in known if not math.isnan(value)]):
                words += f", {NAMES[name]} {shown}"
        return words

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)


def outcome(results: "list[CellResult]") -> str:
    """How many cells ended well."""
    diverged = sum(result.status == "diverged" for result in results)
    return f"{plural(len(results) - diverged, 'cell')} ok" + (f", {diverged} diverged" if diverged else "")
