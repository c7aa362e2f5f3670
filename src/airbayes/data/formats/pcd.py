"""PCD v0.7: ascii, binary and binary_compressed (LZF).

Own reader: sizes are checked against the file before memory is asked for, and padding fields `_` may have COUNT 0.
"""

import dataclasses
import struct
from pathlib import Path

import numpy as np

from airbayes.data.formats.common import MAX_CLOUD_POINTS, MAX_FILE_BYTES, at, parse_count
from airbayes.data.formats.text_table import LIGHT_NAMES, read_columns
from airbayes.errors import DataError
from airbayes.text import printable

MAX_HEADER = 64 << 10
MAX_RECORD = 64 << 10  # bytes of one point
TYPES = {(kind, size): f"<{code}{size}" for kind, code in (("F", "f"), ("I", "i"), ("U", "u")) for size in (1, 2, 4, 8)}
TYPES = {key: code for key, code in TYPES.items() if key != ("F", 1)}


@dataclasses.dataclass(frozen=True)
class Header:
    names: list[str]
    types: list[str]
    counts: list[int]
    points: int
    encoding: str
    body: int  # byte at which the data begin
    lines: int

    @property
    def widths(self) -> list[int]:
        return [np.dtype(kind).itemsize * count for kind, count in zip(self.types, self.counts, strict=True)]


def parse_pcd(raw: bytes, path: Path) -> np.ndarray:
    """x, y, z (and intensity) as f64 [point, 3 or 4]."""
    header = _parse_header(raw, path)
    chosen = [header.names.index(name) for name in "xyz"]
    chosen += [header.names.index(name) for name in LIGHT_NAMES if name in header.names][:1]
    for index in chosen:
        if header.counts[index] != 1:
            raise DataError(f"{at(path)}: field {header.names[index]} has COUNT {header.counts[index]}; need 1.")
    if header.encoding == "ascii":
        first_column = np.concatenate([[0], np.cumsum(header.counts)])
        text = raw[header.body :].decode("latin-1")
        columns = [int(first_column[index]) for index in chosen]
        table = read_columns(text, columns, path, lines_before=header.lines, rows=header.points + 1)
        if len(table) != header.points:
            raise DataError(f"{at(path)}: the header promises {header.points:,} points; {len(table):,} or more follow.")
        return table
    starts = np.concatenate([[0], np.cumsum(header.widths)]).astype(int)
    if header.encoding == "binary":
        _check_size(len(raw) - header.body, header.points * int(starts[-1]), header.points, header.body, path)
        dtype = np.dtype(
            {
                "names": [str(index) for index in chosen],
                "formats": [header.types[index] for index in chosen],
                "offsets": [int(starts[index]) for index in chosen],
                "itemsize": int(starts[-1]),
            }
        )
        table = np.frombuffer(raw, dtype, header.points, offset=header.body)
        return np.stack([table[str(index)].astype(np.float64) for index in chosen], axis=1)
    data = _inflate(raw, header, int(starts[-1]), path)
    # Compressed data are stored field by field.
    columns = [
        np.frombuffer(data, header.types[index], header.points, offset=header.points * int(starts[index]))
        for index in chosen
    ]
    return np.stack([column.astype(np.float64) for column in columns], axis=1)


def _parse_header(raw: bytes, path: Path) -> Header:
    values: dict[str, list[str]] = {}
    position, number = 0, 0
    while "DATA" not in values:
        end = raw.find(b"\n", position, position + MAX_HEADER)
        if end < 0 or end > MAX_HEADER:
            raise DataError(f"{at(path, byte=position)}: the PCD header does not end with a DATA line.")
        words = raw[position:end].decode("latin-1").split()
        position, number = end + 1, number + 1
        if words and not words[0].startswith("#"):
            values[words[0].upper()] = words[1:]
    for key in ("FIELDS", "SIZE", "TYPE", "DATA"):
        if not values.get(key):
            raise DataError(f"{at(path)}: no {key} in the PCD header.")
    names = values["FIELDS"]
    where = at(path)
    counts = [parse_count(text, f"{where}: COUNT") for text in values.get("COUNT", ["1"] * len(names))]
    sizes = [parse_count(text, f"{where}: SIZE") for text in values["SIZE"]]
    if not len(names) == len(counts) == len(sizes) == len(values["TYPE"]):
        raise DataError(f"{where}: FIELDS, SIZE, TYPE and COUNT have different lengths.")
    if min(counts) < 0 or any(name not in names for name in "xyz"):
        raise DataError(f"{where}: fields {printable(' '.join(names))!r}; need x, y, z, and counts of 0 or more.")
    kinds = list(zip(values["TYPE"], sizes, strict=True))
    for kind in kinds:
        if kind not in TYPES:
            raise DataError(f"{where}: no type {printable(kind[0])!r} of {kind[1]} bytes in PCD.")
    shape = [parse_count((values.get(key) or ["1"])[0], f"{where}: {key}") for key in ("WIDTH", "HEIGHT")]
    points = parse_count(values["POINTS"][0], f"{where}: POINTS") if values.get("POINTS") else shape[0] * shape[1]
    if points < 0 or ("WIDTH" in values and points != shape[0] * shape[1]):
        raise DataError(f"{where}: {points} points, but {shape[0]} × {shape[1]}.")
    encoding = values["DATA"][0].lower()
    if encoding not in ("ascii", "binary", "binary_compressed"):
        raise DataError(f"{where}: DATA {printable(encoding)!r}; known are ascii, binary, binary_compressed.")
    header = Header(names, [TYPES[kind] for kind in kinds], counts, points, encoding, position, number)
    if points > MAX_CLOUD_POINTS or sum(header.widths) > MAX_RECORD:
        raise DataError(f"{where}: the header promises {points:,} points of {sum(header.widths):,} bytes; too much.")
    return header


def _check_size(have: int, need: int, points: int, offset: int, path: Path) -> None:
    if have < need:
        raise DataError(
            f"{at(path, byte=offset)}: the header promises {points:,} points, {need:,} bytes; {have:,} follow."
        )


def _inflate(raw: bytes, header: Header, record: int, path: Path) -> bytes:
    where, need = at(path, byte=header.body), header.points * record
    if len(raw) < header.body + 8:
        raise DataError(f"{where}: the sizes of the compressed data are missing.")
    packed, unpacked = struct.unpack_from("<II", raw, header.body)
    _check_size(len(raw) - header.body - 8, packed, header.points, header.body, path)
    if unpacked != need:
        raise DataError(f"{where}: {unpacked:,} bytes when unpacked; {header.points:,} points are {need:,}.")
    if unpacked > min(100 * packed, MAX_FILE_BYTES):  # LZF makes at most 264 bytes out of 3
        raise DataError(f"{where}: {packed:,} bytes cannot hold {unpacked:,}.")
    return decompress_lzf(raw[header.body + 8 : header.body + 8 + packed], unpacked, where)


def decompress_lzf(packed: bytes, size: int, where: str) -> bytes:
    """LZF: a byte below 32 starts a run of literals, any other a copy of 3 to 264 bytes from up to 8 KiB back."""
    out = bytearray()
    position, end = 0, len(packed)
    try:
        while position < end:
            control = packed[position]
            position += 1
            if control < 32:
                out += packed[position : position + control + 1]
                position += control + 1
                continue
            length = control >> 5
            if length == 7:
                length += packed[position]
                position += 1
            start = len(out) - ((control & 31) << 8) - packed[position] - 1
            position += 1
            length += 2
            if start < 0:
                raise DataError(f"{where}: compressed data refer to {-start} bytes before their beginning.")
            # A copy may overlap what it writes: then its beginning repeats.
            piece = out[start : start + length]
            out += (piece * (length // len(piece) + 1))[:length] if len(piece) < length else piece
            if len(out) > size:
                break
    except IndexError:
        raise DataError(f"{where}: compressed data end in the middle of a copy.") from None
    if len(out) != size or position != end:
        raise DataError(f"{where}: compressed data unpack to {len(out):,} bytes, not {size:,}.")
    return bytes(out)
