"""How a run shows itself: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from airbayes.experiment.results import CellResult

LINE_EVERY = 10.0  # seconds between plain lines


def make_console(quiet: bool = False, *, stderr: bool = False) -> Console:
    """Results go to stdout, progress to stderr. Colours follow NO_COLOR; files get a readable width."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(quiet=quiet, stderr=stderr, width=None if stream.isatty() else 120, highlight=False)


@contextmanager
def make_reporter(console: Console):
    """A live bar on a terminal, plain lines otherwise."""
    if not console.is_terminal:
        yield LineReporter(console)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as progress:
        yield BarReporter(progress)


class BarReporter:
    def __init__(self, progress: Progress):
        self.progress = progress
        self.tasks: dict[str, Any] = {}

    def begin(self, variant: str, cells: int, steps: int) -> None:
        note = plural(cells, "cell")
        self.tasks[variant] = self.progress.add_task(variant, total=steps, note=note)

    def compiled(self, variant: str, seconds: float) -> None:
        self.progress.update(self.tasks[variant], note=f"compiled in {seconds:.1f} s")

    def resumed(self, variant: str, cells: int, step: int) -> None:
        note = f"{plural(cells, 'cell')} from before"
        self.progress.update(self.tasks[variant], completed=step, note=note)

    def advance(self, variant: str, step: int) -> None:
        self.progress.update(self.tasks[variant], completed=step)

    def finish(self, variant: str, results: "list[CellResult]") -> None:
        self.progress.update(self.tasks[variant], note=outcome(results))


class LineReporter:
    def __init__(self, console: Console):
        self.console = console
        self.started = self.last = time.monotonic()
        self.steps = 0

    def begin(self, variant: str, cells: int, steps: int) -> None:
        self.started = self.last = time.monotonic()
        self.steps = steps
        self.console.print(f"{variant}: {plural(cells, 'cell')}, {steps:,} steps")

    def compiled(self, variant: str, seconds: float) -> None:
        self.console.print(f"{variant}: compiled in {seconds:.1f} s")

    def resumed(self, variant: str, cells: int, step: int) -> None:
        done = "were done before" if step == self.steps else f"go on from step {step:,}"
        self.console.print(f"{variant}: {plural(cells, 'cell')} {done}")

    def advance(self, variant: str, step: int) -> None:
        if time.monotonic() - self.last > LINE_EVERY:
            self.last = time.monotonic()
            self.console.print(f"{variant}: step {step} of {self.steps}")

    def finish(self, variant: str, results: "list[CellResult]") -> None:
        self.console.print(f"{variant}: {outcome(results)} in {time.monotonic() - self.started:.1f} s")


def outcome(results: "list[CellResult]") -> str:
    """How many cells ended well."""
    diverged = sum(result.status == "diverged" for result in results)
    return f"{plural(len(results) - diverged, 'cell')} ok" + (f", {diverged} diverged" if diverged else "")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
