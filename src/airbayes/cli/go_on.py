"""What is said of a run that stopped before its end: whether anything is saved, and the command that goes on."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airbayes.cli.launch import without_place
from airbayes.errors import ResultsError


def stopped_where(saved: bool, timed_out: bool) -> str:
    if saved:
        return "; everything is saved. Go on with:"
    if timed_out:
        return (
            ", before it had computed anything new: starting and compiling took all of it. What was there before is "
            "kept. Raise --time-limit in:"
        )
    return ", before it had computed anything new. Go on with:"


def again(args: list[str]) -> str:
    """The command that goes on."""
    args = without_place(args)
    return shlex.join([_program(), "run", *(arg for arg in args if arg != "--force")])


def _program() -> str:
    """What to type for airbayes: with its folder where the name alone does not lead there, as beside an idle .venv."""
    started, found = Path(sys.argv[0]), shutil.which("airbayes")
    if started.name != "airbayes" or not started.exists() or (found and started.samefile(found)):
        return "airbayes"
    return str(started)


@contextmanager
def how_to_go_on(args: list[str]) -> Iterator[None]:
    try:
        yield
    except ResultsError as error:
        raise ResultsError(f"{error}\n  What was saved before is kept. Then go on with: {again(args)}") from error
