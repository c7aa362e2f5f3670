"""Files that are whole or not there: written under another name, flushed, and moved into place; read within limits."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from airbayes.errors import AirbayesError, ResultsError


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """`write` fills a temporary file beside `path`, which is then flushed to disk and renamed."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        write(temporary)
        with open(temporary, "rb+") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def not_written(path: Path, error: OSError) -> ResultsError:
    """What is said of a file or folder that could not be written, wherever that happens."""
    return ResultsError(f"Could not write {path}: {error.strerror or error}. Free some space or choose another place.")


def read_limited(path: Path, most: int, error: type[AirbayesError] = ResultsError) -> bytes:
    """A whole file of at most so many bytes; no pipe or device, which might never end."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise error(f"Cannot read {path}: it is not a file.")
        if found.st_size > most:
            raise error(f"Cannot read {path}: it has {found.st_size:,} bytes; such a file has at most {most:,}.")
        with open(path, "rb") as handle:
            return handle.read(found.st_size)  # no more, even if it grows meanwhile
    except (OSError, ValueError) as problem:  # ValueError: a name that no file can have
        raise error(f"Cannot read {path}: {getattr(problem, 'strerror', None) or problem}.") from None
