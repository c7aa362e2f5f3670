"""Text from files, which may hold anything, made safe to show; text of our own, made to fit."""

import math
import re
import shutil
import textwrap
from collections.abc import Iterable

MAX_NAME = 1000  # characters


def printable(text: str, limit: int = 60) -> str:
    """No control characters, and not too long."""
    shown = "".join(character if character.isprintable() else "?" for character in text[: limit + 1])
    return shown if len(shown) <= limit else shown[:limit] + "…"


def plural(count: int, noun: str) -> str:
    """1 cell, 2 cells, 1,000 cells."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: a, b and c."""
    *first, last = list(names) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def percent(share: float | None, digits: int | None = 0) -> str:
    """5 %, or 5.0 % with a digit; None of them: as many as it has, for what somebody asked for. A dash for nothing."""
    if share is None or not math.isfinite(share):
        return "–"
    return f"{100 * share:g} %" if digits is None else f"{100 * share:.{digits}f} %"


def fitted(text: str) -> str:
    """Lines that are longer than the terminal go on below; in a list ("name  what it is") below what it is."""
    room, lines = max(shutil.get_terminal_size().columns, 40), []
    for line in text.splitlines():
        if len(line) <= room:
            lines.append(line)
            continue
        head = re.match(r"\s*(\S+( \S+)*\s{2,})?", line)
        hang = " " * (head.end() if head else 0)
        lines += textwrap.wrap(
            line, room, subsequent_indent=hang, break_on_hyphens=False, break_long_words=False, drop_whitespace=True
        )
    return "".join(f"{line}\n" for line in lines)


def in_lines(name: str, wide: int, most: int) -> str:
    """A name in short lines, broken after marks such as _ and . where there are some; what is beyond `most` is cut."""
    lines = [""]
    for word in re.findall(r"[^\s._/-]*[\s._/-]?", name):
        for piece in textwrap.wrap(word, wide, drop_whitespace=False):
            if len(lines[-1] + piece.rstrip()) > wide:
                lines.append("")
            lines[-1] += piece
    if len(lines) > most:
        lines[most - 1] = lines[most - 1][: wide - 1] + "…"
    return "\n".join(line.strip() for line in lines[:most])


def true_minus(number: str) -> str:
    """A number with the sign − instead of a hyphen, at which nothing breaks a line."""
    return number.replace("-", "−")


def is_name(text: str) -> bool:
    """Whether a text may stand for something in a table: no control characters, no line breaks, not endless."""
    return len(text) <= MAX_NAME and text.isprintable()


def for_spreadsheet(value: object) -> object:
    """Text without control characters, and none that a spreadsheet would take for a formula."""
    if not isinstance(value, str):
        return value
    text = printable(value, MAX_NAME)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def for_figure(text: str) -> str:
    """Text in which matplotlib finds no formula between dollar signs, which it might fail to parse."""
    return printable(text, MAX_NAME).replace("$", r"\$")
