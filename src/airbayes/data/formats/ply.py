"""PLY: the vertices' x, y, z (and intensity), ascii or binary of either byte order.

Own reader (few lines, sizes checked first); what comes after the vertices, such as faces, is not read.
"""

from pathlib import Path

import numpy as np

from airbayes.data.formats.common import MAX_CLOUD_POINTS, at, parse_count
from airbayes.data.formats.text_table import LIGHT_NAMES, read_columns
from airbayes.errors import DataError
from airbayes.text import printable

MAX_HEADER = 64 << 10
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
TYPES = {
    "char": "i1",
    "int8": "i1",
    "uchar": "u1",
    "uint8": "u1",
    "short": "i2",
    "int16": "i2",
    "ushort": "u2",
    "uint16": "u2",
    "int": "i4",
    "int32": "i4",
    "uint": "u4",
    "uint32": "u4",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}
SCALAR_LIGHT = ("scalar_intensity", "scalar_reflectance")  # as CloudCompare writes them


def parse_ply(raw: bytes, path: Path) -> np.ndarray:
    """x, y, z (and intensity) as f64 [vertex, 3 or 4]."""
    encoding, count, properties, body, lines = _parse_header(raw, path)
    names = [name for name, _ in properties]
    chosen = [names.index(name) for name in "xyz"]
    chosen += [names.index(name) for name in (*LIGHT_NAMES, *SCALAR_LIGHT) if name in names][:1]
    if encoding == "ascii":
        text = raw[body:].decode("latin-1")
        table = read_columns(text, chosen, path, lines_before=lines, rows=count) if count else np.zeros((0, 3))
        if len(table) != count:
            raise DataError(f"{at(path)}: the header promises {count:,} vertices; {len(table):,} follow.")
        return table
    kinds = [ORDERS[encoding] + TYPES[kind] for _, kind in properties]
    dtype = np.dtype([(str(index), kind) for index, kind in enumerate(kinds)])
    have = len(raw) - body
    if have < count * dtype.itemsize:
        promised = f"{count:,} vertices, {count * dtype.itemsize:,} bytes"
        raise DataError(f"{at(path, byte=body)}: the header promises {promised}; {have:,} follow.")
    table = np.frombuffer(raw, dtype, count, offset=body)
    return np.stack([table[str(index)].astype(np.float64) for index in chosen], axis=1)


def _parse_header(raw: bytes, path: Path) -> tuple[str, int, list[tuple[str, str]], int, int]:
    """Encoding, number of vertices, their properties (name, type), and where the data begin (byte, line)."""
    end = raw.find(b"end_header", 0, MAX_HEADER)
    newline = raw.find(b"\n", end) if end >= 0 else -1
    if not raw.startswith(b"ply") or newline < 0:
        raise DataError(f"{at(path)}: no PLY header (from 'ply' to 'end_header').")
    encoding, count, properties, element = "", -1, [], ""
    lines = raw[:end].decode("latin-1").splitlines()
    for number, line in enumerate(lines, start=1):
        words, where = line.split(), at(path, line=number)
        if words[:1] == ["format"]:
            encoding = words[1] if len(words) > 1 else ""
        elif words[:1] == ["element"] and len(words) == 3:
            if words[1] != "vertex" and count < 0:
                raise DataError(f"{where}: element {printable(words[1])!r} before the vertices; write them first.")
            element = words[1]
            count = parse_count(words[2], where, MAX_CLOUD_POINTS) if element == "vertex" else count
        elif words[:1] == ["property"] and element == "vertex":
            if len(words) != 3 or words[1] not in TYPES:
                raise DataError(f"{where}: {printable(line)!r}: vertices may only have single numbers.")
            properties.append((words[2].lower(), words[1]))
    if encoding not in ORDERS:
        raise DataError(f"{at(path)}: format {printable(encoding)!r}; known are {', '.join(ORDERS)}.")
    if count < 0 or any(name not in [name for name, _ in properties] for name in "xyz"):
        raise DataError(f"{at(path)}: no vertices with x, y and z in the PLY header.")
    return encoding, count, properties, newline + 1, len(lines) + 1
