"""A batch of cells that raised an error: noted in its folder, named at the end, and in nobody's way meanwhile."""

import dataclasses
import errno
import traceback
from contextlib import suppress
from pathlib import Path

from airbayes.errors import ResultsError
from airbayes.experiment.cells import Cell
from airbayes.files import write_text
from airbayes.text import plural, printable

FAILED = "failed.txt"  # in the folder of a batch: the traceback
MOST_CELLS = 3  # that are named; the folder holds them all
MOST_TEXT = 1000  # characters of an error
# No batch can store anything then: going on would only compute what is lost. EFBIG: a limit on the size of files.
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}


@dataclasses.dataclass(frozen=True)
class Failure:
    """Cells that were to run together, and why they did not."""

    cells: list[Cell]
    text: str  # the error
    details: Path | None  # where its traceback is


def note_failure(place: Path | None, error: Exception) -> Path | None:
    """Keep the traceback in the folder of a batch; None where that cannot be done."""
    if place is None:
        return None
    with suppress(ResultsError, OSError):
        place.mkdir(exist_ok=True)
        write_text(place / FAILED, "".join(traceback.format_exception(error)))
        return place / FAILED
    return None


def error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def is_disk_full(error: BaseException | None) -> bool:
    """Whether it, or what caused it, is that nothing more can be written."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return True
        error = error.__cause__
    return False


def failures_text(failures: list[tuple[str, Failure]], units: int) -> str:
    """What a user reads at the end of a run: every unit by its name, its cells, the error, and where to see more."""
    them = "it" if len(failures) == 1 else "them"
    lines = [f"{len(failures)} of {plural(units, 'unit')} failed; the same command tries {them} again:"]
    for unit, failure in failures:
        first, *others = failure.text.split("\n")
        lines.append(f"  {unit}: {printable(first, MOST_TEXT)}" + (" …" if others else ""))
        named = [str(cell) for cell in failure.cells[:MOST_CELLS]]
        more = len(failure.cells) - len(named)
        lines.append(f"    cells: {'; '.join(named)}" + (f"; and {more} more" if more else ""))
        if failure.details is not None:
            lines.append(f"    details: {failure.details}")
    return "\n".join(lines) + "\n"
