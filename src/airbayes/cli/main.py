"""The command `airbayes`. Imports are lazy: help and errors do not wait for JAX."""

import errno
import io
import logging
import os
import re
import sys
import warnings
from contextlib import suppress

from airbayes import __version__
from airbayes.cli.commands import find_command, help_lines, load_command, unknown_command
from airbayes.cli.devices import check_devices
from airbayes.errors import AirbayesError
from airbayes.leaving import anyone_at_work, hear_interrupts, leave_now, stopped_at_once
from airbayes.text import fitted, printable

MOST_LINE = 2000  # characters of one line of an error
# Of the standard streams: no room for the file they go to, or a terminal that is gone.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
MISSING_GLYPH = re.compile(r"Glyph \d+ .* missing from font")
BOXES = (
    "Some letters of names are not in the font of the figures, which show boxes in their place. A file matplotlibrc in "
    "this folder with a line such as 'font.family: Noto Sans CJK JP' names a font that has them."
)

USAGE = """\
airbayes: Bayesian federated learning over the air.

usage: airbayes COMMAND ...

commands:
{commands}
options:
  -h, --help  this text; `airbayes COMMAND --help` lists the options of each
  --version   print the version
"""


def main(argv: list[str] | None = None) -> None:
    """Run a command and leave; without `argv` it is that of this process, which then has nothing else to do."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # letters that the terminal's encoding lacks
    if argv is None:
        say_warnings(quiet="--quiet" in sys.argv)
        hear_interrupts()
    code = _exit_code(list(sys.argv[1:] if argv is None else argv))
    if argv is None and anyone_at_work():  # on what a run that was stopped does not need any more
        leave_now(code)
    sys.exit(code)


def say_warnings(*, quiet: bool = False) -> None:
    """Warnings as lines like all others, without the place in the code; none at all where errors only are asked for."""

    said: set[str] = set()

    def say(message: Warning | str, *rest: object, **named: object) -> None:
        text = BOXES if MISSING_GLYPH.match(str(message)) else str(message)
        if text == BOXES and BOXES in said:  # matplotlib says it of every letter
            return
        said.add(text)
        sys.stderr.write(f"warning: {printable(text, MOST_LINE)}\n")

    warnings.showwarning = say
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # at a home that cannot be written it tells a long story
    if quiet:
        warnings.simplefilter("ignore")


def _exit_code(args: list[str]) -> int:
    """Of a command, once it has run: 2 for bad input, 130 after Ctrl-C."""
    try:
        _check_arguments(args)
        try:
            return _dispatch(args)
        except (RuntimeError, AssertionError):
            if "jax" in sys.modules:  # it may be what JAX says without a device
                check_devices()
            raise
        finally:
            sys.stdout.flush()  # here, where its error is heard
    except AirbayesError as error:
        if "--debug" in args[1:]:
            raise
        sys.stderr.write(_message(error))
        return 2
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{stopped_at_once(args)}\n")
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _write_nowhere()  # it may have read both
        return 141
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is not None:
            raise
        with suppress(OSError):
            sys.stderr.write(
                f"error: Standard output or error cannot be written: {error.strerror}. Free some space, or send them "
                "elsewhere.\n"
            )
            sys.stderr.flush()
        _write_nowhere()
        return 2


def _open_closed_streams() -> None:
    """Standard streams closed by whoever started this lead nowhere; else a file opened next would have their number."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _write_nowhere() -> None:
    """What the streams still hold is lost: Python would fail over it on leaving."""
    for stream in (sys.stdout, sys.stderr):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _dispatch(args: list[str]) -> int:
    if not args or args[0] in ("-h", "--help"):
        sys.stdout.write(fitted(USAGE.format(commands=help_lines())))
        return 0 if args else 2
    if args[0] == "help":
        return _dispatch([*args[1:], "--help"])
    if args[0] == "--version":
        sys.stdout.write(f"airbayes {__version__}\n")
        return 0
    if args[0].startswith("-"):
        raise AirbayesError(
            f"Unknown option {args[0]}. Before a command there are --help and --version; others follow it: "
            f"airbayes COMMAND {args[0]} ..."
        )
    command = find_command(args[0])
    if command is None:
        raise AirbayesError(unknown_command(args[0]))
    return load_command(command)(args[1:])


def _check_arguments(args: list[str]) -> None:
    """Names with line breaks or control characters could pass for something else wherever they are shown."""
    for place, arg in enumerate(args, start=1):
        if not arg.isprintable():
            raise AirbayesError(
                f"Argument {place}, {printable(arg)!r}, holds a control character, a line break or what is no UTF-8 "
                "text. Rename the file."
            )


def _message(error: AirbayesError) -> str:
    # Whatever a file or its name holds, nothing in a message moves the cursor or rings the bell.
    lines = [printable(line, MOST_LINE) for line in str(error).split("\n")] if str(error) else [type(error).__name__]
    head = "error: " if len(lines) == 1 or lines[1].startswith(" ") else f"{len(lines)} errors:\n  "
    joint = "\n" if head == "error: " else "\n  "
    return head + joint.join(lines) + "\n"


if __name__ == "__main__":
    main()
