"""How a process ends: at every Ctrl-C, and without waiting for threads whose work nobody needs any more.

Python joins the threads of a pool before it leaves, and XLA cannot be interrupted: a run that was stopped would stay
for as long as the program takes that is being compiled. The standard library only.
"""

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

AHEAD = "airbayes-ahead"  # begins the names of threads that may be left at work


def anyone_at_work() -> bool:
    """Whether such threads are left."""
    return any(thread.name.startswith(AHEAD) for thread in threading.enumerate())


def leave_now(code: int) -> None:
    """End the process here: nothing is waited for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # the last: in the middle of a write
            stream.flush()
    os._exit(code)


def hear_interrupts() -> None:
    """Ctrl-C ends this process wherever it is: see `interrupt`, and what Python would print and forget comes again."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job in the background ignores Ctrl-C
        signal.signal(signal.SIGINT, interrupt)
    show = sys.unraisablehook

    def repeat() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def hook(lost: "sys.UnraisableHookArgs") -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):  # it came in a callback of the garbage collector: JAX has one
            threading.Timer(0.01, repeat).start()
        else:
            show(lost)

    sys.unraisablehook = hook


def interrupt(number: int, frame: FrameType | None) -> None:
    """The handler of Ctrl-C. What is half imported (numpy, JAX) fails or crashes when used: then leave at once."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            show_cursor = "\x1b[?25h" if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else ""
            os.write(2, f"{show_cursor}\n{stopped_at_once(sys.argv[1:])}\n".encode())
            leave_now(130)
        frame = frame.f_back
    raise KeyboardInterrupt


def stopped_at_once(args: list[str]) -> str:
    """The last words of a command after Ctrl-C."""
    has_state = args[:1] == ["run"] and "--dry-run" not in args
    hint = " A run goes on from its last saved state: give the same command again." if has_state else ""
    return f"Stopped at once.{hint}"
