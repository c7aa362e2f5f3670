"""One unit of work, in whichever process it lands.

A task is plain text (JSON): the folder, the configuration as TOML, and the places of the cells. Nothing of ours is
pickled. It can be given out twice, or after a kill: a unit whose results are on disk is not computed again, one that
was begun goes on from its last saved state, and a lock keeps two processes from working on it at a time.
"""

import dataclasses
import json
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from airbayes import __version__
from airbayes.errors import ResultsError
from airbayes.experiment.failures import FAILED, error_text, is_disk_full, note_failure
from airbayes.experiment.toml_io import parse_config
from airbayes.files import read_limited
from airbayes.locks import Locked, locked
from airbayes.text import printable

if TYPE_CHECKING:
    from airbayes.experiment.build import Builder

UNIT_LOCK = "lock"  # in the folder of a unit
STOP = "stop"  # in progress/: its text is the reason why all units are to save and stop


@dataclasses.dataclass(frozen=True)
class Task:
    folder: str  # of the run
    config: str  # TOML
    run: str  # which run in that folder
    cells: tuple[int, ...]
    every_s: float  # between two saved states
    version: str = __version__

    def to_text(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_text(text: str) -> "Task":
        fields = json.loads(text)
        return Task(**(fields | {"cells": tuple(fields["cells"])}))


@dataclasses.dataclass(frozen=True)
class Outcome:
    state: Literal["done", "failed", "held", "stopped"]
    text: str = ""  # the error, the holder, or the reason


Watch = Callable[[int, bool], None]  # the step a unit has reached, and whether it went on from there


def work(task: Task, watch: Watch, stop: Callable[[], str | None], tell: Callable[[str], None]) -> Outcome:
    """Compute a unit unless that was done; whatever goes wrong is an outcome, and hurts no other unit.

    A full disk is an error: no other unit could be stored either.
    """
    from airbayes.cache import cache_programs

    cache_programs()
    from airbayes.experiment.engines.units import cells_at
    from airbayes.experiment.grid import run_batch
    from airbayes.experiment.journal import Journal, Stopped
    from airbayes.experiment.ready import ReadyAhead

    place = None
    try:
        if task.version != __version__:
            raise ResultsError(f"This worker has airbayes {__version__}, the run was started with {task.version}.")
        config = parse_config(task.config)
        journal = Journal(Path(task.folder), task.every_s, lambda: stop() or stop_asked(Path(task.folder)), tell)
        _join(journal, config, task.run)
        cells = cells_at(config, task.cells)
        place = journal.place(cells)
        place.mkdir(exist_ok=True)
        with locked(place / UNIT_LOCK, tell=tell):
            (place / FAILED).unlink(missing_ok=True)
            if journal.finished(cells) is not None:
                return Outcome("done")
            journal.check()
            builder = _builder(task.config)
            with ReadyAhead(builder, [cells], journal) as ahead:  # whoever stops it need not wait for the compiler
                ready = ahead.take()
            watch(ready.begin, ready.begin > 0)
            run_batch(builder, ready, _steps(watch), journal)
            return Outcome("done")
    except Locked as error:
        return Outcome("held", error.holder)
    except Stopped as stopped:
        return Outcome("stopped", stopped.reason)
    except Exception as error:
        if is_disk_full(error):
            raise ResultsError(str(error)) from error
        note_failure(place, error)
        return Outcome("failed", error_text(error))


def stop_asked(folder: Path) -> str | None:
    from airbayes.folders import PROGRESS

    with suppress(ResultsError):
        return printable(read_limited(folder / PROGRESS / STOP, 10_000).decode("utf-8", errors="replace"), 200)
    return None


def _join(journal, config, run: str) -> None:
    import socket

    if not (journal.folder / "begun").exists():
        raise ResultsError(
            f"{journal.folder} is not there on {socket.gethostname()}. All machines need to see one file system, with "
            "the results folder under one name; give --out in full."
        )
    journal.join(config)
    if journal.run != run:
        raise ResultsError(f"The run in {journal.folder.parent} was started over; this unit belongs to the one before.")


@lru_cache(maxsize=1)
def _builder(config: str) -> "Builder":
    """Data and graphs are made once in a process, and what it has compiled serves all units of a method."""
    from airbayes.compiler import check_compiler
    from airbayes.experiment.build import Builder

    check_compiler()
    return Builder(parse_config(config))


def _steps(watch: Watch):
    """A reporter of steps and of nothing else."""
    from airbayes.experiment.reporter import Silent

    class Steps(Silent):
        def advance(self, cells: list, step: int) -> None:
            watch(step, False)

    return Steps()
