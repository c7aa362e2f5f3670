"""What the help of a command says, read back: its options, their values and its subcommands."""

import contextlib
import io
import re
from collections.abc import Callable, Iterable

from airbayes.cli.mistakes import columns

WIDTH = "129"  # of the help that is read: no option is cut, and boxes do not stand side by side yet


def help_of(run: Callable[[list[str]], object], words: Iterable[str] = ()) -> str:
    """What a command prints when asked for help."""
    bytes_ = io.BytesIO()
    printed = io.TextIOWrapper(bytes_, encoding="utf-8")  # with an encoding that has the boxes `options_of` looks for
    with columns(WIDTH), contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        run([*words, "--help"])
    printed.flush()
    return bytes_.getvalue().decode()


def options_of(text: str) -> dict[str, tuple[str, ...]]:
    """Options at the beginning of a line of help or of a box in it, with the values in braces after them."""
    found: dict[str, tuple[str, ...]] = {"--help": ()}
    for name, rest in _options(text):
        values = next((v for v in re.findall(r"\{([^{}]+)\}", rest.split("  ")[0]) if v != "None"), "")
        found[name] = tuple(values.split(",")) if values else ()
    return found


def lists_of(text: str) -> frozenset[str]:
    """Options that can be followed by several values: they stand in brackets."""
    return frozenset(name for name, rest in _options(text) if rest.startswith(" ["))


def _options(text: str) -> list[tuple[str, str]]:
    return re.findall(r"(?:^|│) (?:-\w, )?(--[a-z][\w.-]*)([^│\n]*)", text, re.M)


def subcommands(text: str) -> dict[str, str]:
    """Name → summary, from a list under the word `commands:`."""
    _, _, below = text.partition("commands:\n")
    lines = below.partition("\n\n")[0].splitlines()
    return {line.split()[0]: re.split(r"\s{2,}", line.strip())[-1] for line in lines if line.startswith("  ")}
