"""How a sweep shows itself: a live table on a terminal, a line per change elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from airbayes.cli.progress import can_draw, drawn, notice_of
from airbayes.experiment.engines.sweep import Sweep

LINE_EVERY = 10.0  # seconds between plain lines when nothing but steps has changed
MOST_ROWS = 12  # of running units


@contextmanager
def show_sweep(console: Console) -> Iterator[Callable[[Sweep], None]]:
    """Yields what a sweep is to call when it has changed."""
    if not can_draw(console):
        yield Lines(console)
        return
    shown: list[Sweep] = []
    render = lambda: Group(draw(shown[0]) if shown else Table(), *notice_of(console))  # noqa: E731
    with drawn(Live(get_renderable=render, console=console, refresh_per_second=2)):
        yield lambda sweep: shown.append(sweep) if not shown else None


def draw(sweep: Sweep) -> Group:
    """The counts, and what runs where."""
    counts = sweep.counts()
    table = Table(*counts, "time left", title="units of work")
    table.add_row(*(str(count) for count in counts.values()), time_left(sweep))
    running = Table("running", "step", "where", "")
    for standing in sweep.of("running")[:MOST_ROWS]:
        step = f"{standing.step:,} of {sweep.steps:,}"
        running.add_row(str(standing.unit), step, standing.where, "resumed" if standing.resumed else "")
    return Group(table, running) if running.row_count else Group(table)


class Lines:
    """One line when a unit changes its state, and now and then."""

    def __init__(self, console: Console):
        self.console = console
        self.counts: dict[str, int] = {}
        self.last = 0.0

    def __call__(self, sweep: Sweep) -> None:
        counts = sweep.counts()
        if counts == self.counts and time.monotonic() - self.last < LINE_EVERY:
            return
        self.counts, self.last = counts, time.monotonic()
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        self.console.print(f"units: {listed}; time left: {time_left(sweep)}", soft_wrap=True)


def time_left(sweep: Sweep) -> str:
    seconds = sweep.eta_s()
    if seconds is None:
        return "not known yet"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
