"""Mistakes in the words of a command, said as all errors of airbayes are: a line with the value, and the fix.

The parser of the options draws a box around what it found. `plain` reads that box; what it does not know it passes on.
"""

import contextlib
import difflib
import os
import re
from collections.abc import Callable, Iterator

WIDE = "1000"  # columns: no sentence is broken
RULES = "─-╰╯ "
KINDS = (
    (r"invalid literal for int\(\) with base 10: (.*)", r"\1 is not a whole number."),
    (r"could not convert string to float: (.*)", r"\1 is not a number."),
)


@contextlib.contextmanager
def columns(count: str) -> Iterator[None]:
    """What is printed meanwhile takes the terminal to be so wide."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = count
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def plain(box: str, prog: str, options: Callable[[], list[str]]) -> str:
    """The message of an error, its fix, and where to read on. `options`: all of the command, asked for if need be."""
    blocks = _blocks(box)
    everything = " ".join(line for block in blocks for line in block)
    return f"{_message(blocks, options) or everything or 'These words are not understood.'}\n  See `{prog} --help`."


def _blocks(box: str) -> list[list[str]]:
    """The lines inside the box, without colours, cut where it has a rule."""
    blocks: list[list[str]] = [[]]
    for line in re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines():
        inside = line.strip().strip("│").strip()
        if inside and not inside.strip(RULES):
            blocks.append([])
        elif inside and not line.startswith("╭"):
            blocks[-1].append(inside)
    found = [block for block in blocks if block]
    return found if "╭" in box else found[1:]  # without such characters the title is a block of its own


def _message(blocks: list[list[str]], options: Callable[[], list[str]]) -> str | None:
    head = blocks[0][0] if blocks else ""
    if words := re.fullmatch(r"Unrecognized options: (.*)", head):
        return _unknown(words[1].split(", "), options)
    if value := re.fullmatch(r"Error parsing (\S+): (.*)", head):
        said = value[2]
        for pattern, better in KINDS:
            said = re.sub(pattern, better, said)
        if re.fullmatch(r"'[^']*,[^']*' is not a number\.", said):
            said += " A fraction takes a point, and several numbers a blank between them."
        return f"{value[1]}: {said}"
    if choice := re.fullmatch(r"invalid choice '(.*)' for argument '(.*)'\. Expected one of \((.*)\)\.", head):
        given, option, known = choice.groups()
        names = re.findall(r"'([^']*)'", known)
        return f"{option} {given}: need one of {', '.join(names)}.{did_you_mean(given, names)}"
    if lacks := re.match(r"Missing value for argument '(.*?)'", head):
        return f"{lacks[1]} needs a value."
    if head.startswith("Missing from") and len(blocks[0]) > 1:
        name, *about = blocks[0][1:]
        return f"{name} is missing: {' '.join(about).removesuffix(' (required)')}"
    return None


def _unknown(words: list[str], known: Callable[[], list[str]]) -> str:
    options = [word for word in words if word.startswith("-")]
    if not options:
        more = f"{', '.join(map(repr, words))}: more arguments than expected."
        return more + _as_option(words[0])
    if options == ["--set"] and len(words) > 1 and (fix := _as_option(words[1])):
        return f"Unknown option --set.{fix}"
    if len(options) > 1:
        return f"Unknown options {', '.join(options)}."
    return f"Unknown option {options[0]}.{_meant(options[0], known())}"


def _meant(given: str, known: list[str]) -> str:
    """Which options it may be: whole, or without the section they stand in."""
    given = given.lstrip("-").lower().replace("_", "-")
    names = {option: {option[2:], option.rpartition(".")[2].removeprefix("--")} for option in known}
    near = difflib.get_close_matches(given, {name for both in names.values() for name in both}, n=1)
    found = [option for option, both in names.items() if near and near[0] in both]
    return f" Did you mean {' or '.join(found)}?" if found else ""


def _as_option(word: str) -> str:
    """name=value, as other programs take settings, in the words of ours."""
    name, _, value = word.partition("=")
    if not value or not re.fullmatch(r"[A-Za-z][A-Za-z_.]*", name):
        return ""
    return f" A setting is an option: --{name.replace('_', '-')} {value}"


def did_you_mean(given: str, known: list[str]) -> str:
    """A sentence to append; nothing where no name is near."""
    near = difflib.get_close_matches(given.lower(), known, n=1)
    return f" Did you mean {near[0]}?" if near else ""
