"""Numbers in columns, as text: xyz, csv, txt, and the ascii kinds of PCD and PLY."""

import codecs
import io
import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from airbayes.data.formats.common import MAX_CLOUD_POINTS, at
from airbayes.errors import DataError
from airbayes.text import printable

COMMENTS = ("#", "//")
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # of the "Unicode text" of spreadsheets
LIGHT_NAMES = ("intensity", "reflectance", "reflectivity", "i")


def parse_text(raw: bytes, path: Path) -> np.ndarray:
    """x, y, z (and intensity): the columns of these names if there is a heading, else the first three (or four)."""
    stream = io.StringIO(_decoded(raw), newline=None)  # any kind of line end
    start, first, number, remark = 0, "", 0, ""
    while not first or first.startswith(COMMENTS):
        remark = first or remark
        start, line = stream.tell(), stream.readline()
        if not line:
            raise DataError(f"{at(path)}: no points.")
        first, number = line.strip(), number + 1
    first = re.split("|".join(COMMENTS), first)[0].strip()  # without the remark behind it
    delimiter = ";" if ";" in first else "," if "," in first else None
    names = [name.strip().strip('"').lower() for name in first.split(delimiter)]
    decimal_commas = delimiter == ";"  # where commas are decimal, semicolons separate
    if _is_number(names[0].replace(",", ".") if decimal_commas else names[0]):
        stream.seek(start)
        number -= 1
        columns = _columns_in_remark(remark, len(names)) or list(range(min(len(names), 4)))
        if len(columns) < 3:
            raise DataError(f"{at(path, line=number + 1)}: {len(names)} columns; need x, y and z.")
        text = stream.read()
    else:
        columns = _named_columns(names, path, number)
        text = stream.read()
        _check_widths(text, delimiter or ("\t" if "\t" in first else None), len(names), path, number)
    if decimal_commas:
        text = text.replace(",", ".")
    return read_columns(text, columns, path, delimiter=delimiter, lines_before=number)


def read_columns(
    text: str, columns: list[int], path: Path, *, delimiter: str | None = None, lines_before: int = 0, rows: int = -1
) -> np.ndarray:
    """The chosen columns as f64 [row, column]; at most `rows` lines, or MAX_CLOUD_POINTS and one more."""
    if not text.strip():
        return np.zeros((0, len(columns)))
    limit = MAX_CLOUD_POINTS + 1 if rows < 0 else rows
    limit = min(limit, text.count("\n") + 1)  # numpy makes room for all rows that it may read
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of lines without data, which are no trouble
            return np.loadtxt(
                io.StringIO(text), delimiter=delimiter, usecols=columns, ndmin=2, max_rows=limit, comments=COMMENTS
            )
    except Exception as error:  # numpy's reader names the row, in several types of error
        found = re.search(r" at row (\d+)", str(error))
        line = None
        if found:  # numpy counts from 1 where a row is too short, else from 0
            row = int(found[1]) - str(error).startswith("invalid column index")
            line = lines_before + 1 + next(itertools.islice(_rows(text, delimiter), row, None))[0]
        said = printable(re.sub(r" at row \d+", "", str(error)).rstrip("."), 120)
        raise DataError(
            f"{at(path, line=line)}: not a table of numbers ({said}). Write numbers alone, as in "
            "1.5 2 3.25; with decimal commas, semicolons between them: 1,5;2;3,25."
        ) from None


def _rows(text: str, separator: str | None) -> Iterator[tuple[int, str]]:
    """The lines that numpy takes for rows, each with its number from 0; blanks that separate nothing are a row."""
    for number, line in enumerate(io.StringIO(text)):
        content = line.partition("#")[0].partition("//")[0].strip("\r\n" if separator else None)
        if content:
            yield number, content


def _check_widths(text: str, separator: str | None, width: int, path: Path, lines_before: int) -> None:
    """A row of more fields than the heading has names: nobody knows which of them is x."""
    for number, content in _rows(text, separator):
        fields = re.sub(r'"[^"]*"', "", content).rstrip(f"{separator or ''} \t").split(separator)
        if len(fields) > width:
            raise DataError(
                f"{at(path, line=lines_before + 1 + number)}: {len(fields)} fields under a heading of {width}. With "
                "decimal commas, write semicolons between them: 1,5;2;3,25; a column of row numbers needs a name, too."
            )


def _named_columns(names: list[str], path: Path, line: int) -> list[int]:
    if any(name not in names for name in "xyz"):
        shown = printable(", ".join(names[:20]))
        raise DataError(f"{at(path, line=line)}: neither numbers nor a heading with x, y and z: {shown!r}.")
    return _where(names)


def _columns_in_remark(remark: str, columns: int) -> list[int]:
    """Where x, y, z (and intensity) are if the remark above the numbers is their heading; np.savetxt writes it so."""
    names = re.split(r"[;,\s]+", remark.lstrip("#/").strip().lower())
    if len(names) != columns or any(name.endswith(":") for name in names) or not {"x", "y", "z"} <= set(names):
        return []
    return _where(names)


def _where(names: list[str]) -> list[int]:
    light = [names.index(name) for name in LIGHT_NAMES if name in names]
    return [names.index(name) for name in "xyz"] + light[:1]


def _decoded(raw: bytes) -> str:
    """Text in UTF-8 or in a code page, where digits are the same bytes, or in UTF-16, which says so."""
    if raw.startswith(UTF_16_MARKS):
        return raw.decode("utf-16", errors="replace")
    return raw.removeprefix(codecs.BOM_UTF8).decode("latin-1")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
