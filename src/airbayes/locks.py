"""Locks on files: one process at a time works in a folder, or on a part of it.

flock(2): the system releases the lock when its holder ends, however it ends, so that a file left behind by a killed
process keeps nobody out. The file names its holder. Whoever holds the lock alone removes the file at the end; whoever
gets hold of a file that was removed meanwhile tries again.
"""

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from airbayes.errors import ResultsError
from airbayes.files import read_limited
from airbayes.text import printable

MOST_BYTES = 10_000  # of a lock file
LOOK_EVERY_S = 0.1
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class Locked(ResultsError):
    """Someone else holds the lock."""

    def __init__(self, path: Path, holder: str):
        super().__init__(f"{path} is held by {holder}.")
        self.holder = holder


@contextmanager
def locked(
    path: Path,
    *,
    shared: bool = False,  # many may hold it so, or one alone
    wait: bool = False,  # until it is free, instead of raising Locked
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[None]:
    """Hold the lock at `path`, in a folder that exists."""
    number = _acquire(path, shared, wait, tell)
    try:
        yield
    finally:
        if number is not None:
            _release(path, number)


def _acquire(path: Path, shared: bool, wait: bool, tell: Callable[[str], None]) -> int | None:
    """The open, locked file; None where the file system knows no locks."""
    looks = 0
    try:
        while (number := _take(path, shared)) is None:
            looks += 1
            # One of several that leaves is alone with the lock for a moment, to remove the file: others look twice.
            if not wait and looks > (1 if shared else 0):
                raise Locked(path, read_holder(path))
            if wait and looks == 1:
                tell(f"Waiting for {read_holder(path)}, which holds {path}.")
            time.sleep(LOOK_EVERY_S)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise ResultsError(f"Cannot lock {path}: {error.strerror or error}.") from error
        tell(f"{path.parent}: this file system has no locks. See to it that no two runs work there at a time.")
        path.unlink(missing_ok=True)
        return None
    return number


def read_holder(path: Path) -> str:
    """Who took the lock last, in words."""
    try:
        found = json.loads(read_limited(path, MOST_BYTES).decode("utf-8"))
        return f"process {int(found['pid'])} on {printable(str(found['host']))}"
    except (ResultsError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return "another process"


def _take(path: Path, shared: bool) -> int | None:
    """The open, locked file; None when someone else has it."""
    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(number, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(number)
            return None
        except BaseException:
            os.close(number)
            raise
        if _is_at(number, path):
            holder = json.dumps({"host": socket.gethostname(), "pid": os.getpid()}).encode()
            os.pwrite(number, holder.ljust(os.fstat(number).st_size), 0)  # blanks over a longer name from before
            return number
        os.close(number)  # removed by the one before: the lock is on another file now


def _release(path: Path, number: int) -> None:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)  # alone?
        if _is_at(number, path):
            path.unlink()
    except OSError:  # others share it: the last one removes the file
        pass
    finally:
        os.close(number)


def _is_at(number: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(number), path.stat())
    return False
