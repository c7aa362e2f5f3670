"""A JSON list of objects, one object at a time: nuScenes tables reach a gigabyte, of which little is kept."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from airbayes.data.formats.common import at
from airbayes.errors import DataError
from airbayes.text import printable

CHUNK = 1 << 20  # characters read at a time, and the most that one object may have
MAX_TABLE_BYTES = 4 << 30
SPACE = " \t\r\n"


class Record:
    """One object with checks: a field that is missing or of another kind is an error that says where."""

    def __init__(self, values: dict, where: str):
        self.values = values
        self.where = where

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if not isinstance(value, str):
            raise DataError(f"{self.where}: {name} is {printable(repr(value))}; need text.")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value = self.values.get(name, default)
        if not _is_number(value):
            raise DataError(f"{self.where}: {name} is {printable(repr(value))}; need a number.")
        return float(value)

    def vector(self, name: str, length: int) -> np.ndarray:
        value = self.values.get(name)
        if not isinstance(value, list) or len(value) != length or not all(_is_number(each) for each in value):
            raise DataError(f"{self.where}: {name} is {printable(repr(value))}; need {length} numbers.")
        return np.array(value, np.float64)


def _is_number(value) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e18 if isinstance(value, int) else math.isfinite(value) and abs(value) < 1e18


def read_table(path: Path) -> Iterator[Record]:
    """The objects of the list, each with its place."""
    try:
        if not path.is_file():
            raise DataError(f"{at(path)}: missing, or not a file.")
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise DataError(f"{at(path)}: {path.stat().st_size:,} bytes; the limit is {MAX_TABLE_BYTES:,}.")
        with open(path, encoding="utf-8") as stream:
            yield from _records(stream, path)
    except UnicodeDecodeError as error:
        raise DataError(f"{at(path)}: not UTF-8 text ({error.reason}).") from None
    except OSError as error:
        raise DataError(f"{at(path)}: cannot be read ({error.strerror or error}).") from None


def _records(stream, path: Path) -> Iterator[Record]:
    decoder = json.JSONDecoder()
    text = _Window(stream)
    if text.next_character() != "[":
        raise DataError(f"{at(path)}: not a JSON list.")
    text.skip(1)
    separator = text.next_character() != "]"
    while separator:
        where = f"{at(path)}, character {text.offset}"
        if text.next_character() != "{":
            raise DataError(f"{where}: a list of objects is needed; found {text.next_character()!r}.")
        yield Record(_decode(decoder, text, where), where)
        character = text.next_character()
        if character not in (",", "]"):
            raise DataError(f"{at(path)}, character {text.offset}: need , or ]; found {character!r}. Is it cut off?")
        separator = character == ","
        text.skip(1)
        text.next_character()


def _decode(decoder: json.JSONDecoder, text: "_Window", where: str) -> dict:
    while True:
        try:
            values, end = decoder.raw_decode(text.buffer, text.position)
        except (ValueError, RecursionError) as error:
            # The object may go on after what has been read so far.
            if len(text.buffer) - text.position <= CHUNK and text.read_more():
                continue
            raise DataError(f"{where}: not valid JSON ({printable(str(error), 120)}).") from None
        text.skip(end - text.position)
        return values


class _Window:
    """The part of a text in memory: what has been used is forgotten."""

    def __init__(self, stream):
        self.stream = stream
        self.buffer, self.position, self.forgotten = "", 0, 0

    @property
    def offset(self) -> int:
        return self.forgotten + self.position

    def skip(self, count: int) -> None:
        self.position += count

    def read_more(self) -> bool:
        more = self.stream.read(CHUNK)
        self.forgotten += self.position
        self.buffer, self.position = self.buffer[self.position :] + more, 0
        return bool(more)

    def next_character(self) -> str:
        """The next one that is not space, or nothing at the end."""
        while True:
            while self.position < len(self.buffer) and self.buffer[self.position] in SPACE:
                self.position += 1
            if self.position < len(self.buffer):
                return self.buffer[self.position]
            if not self.read_more():
                return ""
