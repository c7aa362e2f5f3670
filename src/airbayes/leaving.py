"""How a process ends: without waiting for threads whose work nobody needs any more.

Python joins the threads of a pool before it leaves, and XLA cannot be interrupted: a run that was stopped would stay
for as long as the program takes that is being compiled. The standard library only.
"""

import os
import sys
import threading
from contextlib import suppress

AHEAD = "airbayes-ahead"  # begins the names of threads that may be left at work


def anyone_at_work() -> bool:
    """Whether such threads are left."""
    return any(thread.name.startswith(AHEAD) for thread in threading.enumerate())


def leave_now(code: int) -> None:
    """End the process here: nothing is waited for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
