"""When a run is to stop: at Ctrl-C or SIGTERM, or when its time is up. It then ends its chunk and saves its state."""

import os
import signal
import time
from contextlib import suppress
from types import FrameType

from rich.console import Console

from airbayes.cli.progress import PipeConsole
from airbayes.leaving import interrupt

TIME_LIMIT = "its time limit"


class StopRequest:
    """Used as a context; calling it gives the reason to stop, or None. A second Ctrl-C stops at once."""

    def __init__(self, time_limit_s: float | None = None, console: Console | None = None):
        self.console = console  # where a live table may be drawn
        self.deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
        self.time_limit_s = time_limit_s
        self.signal: str | None = None
        self.before: dict[int, object] = {}

    def __call__(self) -> str | None:
        if self.signal is not None:
            return self.signal
        if self.deadline is not None and time.monotonic() > self.deadline:
            return f"{TIME_LIMIT} of {self.time_limit_s:g} s"
        return None

    def __enter__(self) -> "StopRequest":
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            interrupt(number, frame)
        self.signal = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        again = "Ctrl-C again" if number == signal.SIGINT else "Ctrl-C"
        said = f"{self.signal}: steps under way are finished and saved. {again} stops at once."
        if isinstance(self.console, PipeConsole) and self.console.drawing:
            self.console.notice = said
            return
        with suppress(OSError):  # who reads it, such as `tee`, heard Ctrl-C too and may be gone
            os.write(2, f"\n{said}\n".encode())
