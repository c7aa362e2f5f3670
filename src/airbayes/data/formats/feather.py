"""Feather files (Arrow IPC) with a limit on what they unpack to, checked before pyarrow unpacks anything.

A compressed buffer starts with its unpacked size. The buffers are found through the file's own table of contents,
flatbuffers of the Arrow format: Footer → Block → Message → RecordBatch → Buffer.
"""

import struct
from pathlib import Path

import numpy as np

from airbayes.data.formats.common import MAX_CLOUD_POINTS, at, read_bytes
from airbayes.errors import DataError
from airbayes.text import printable

MAGIC = b"ARROW1"
MAX_UNPACKED = 1 << 30
MAX_BLOCKS = 10_000
DICTIONARY, RECORDS = 2, 3  # kinds of message
EXTRA = "Reading Argoverse 2 needs pyarrow: pip install 'airbayes[lidar]'."


def read_feather(
    path: Path, numbers: list[str], texts: list[str]
) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """The columns `numbers` as arrays [row] of their own type, and the columns `texts` as lists."""
    try:
        import pyarrow as pa
        from pyarrow import ipc
    except ImportError:
        raise DataError(EXTRA) from None
    raw = read_bytes(path)
    check_unpacked_size(raw, path)
    try:
        reader = ipc.open_file(pa.py_buffer(raw))
        fields = {name: reader.schema.get_all_field_indices(name) for name in numbers + texts}
        for name, found in fields.items():
            _check_column(path, name, [reader.schema.field(index).type for index in found], name in texts, pa)
        table = reader.read_all()
        if table.num_rows > MAX_CLOUD_POINTS:
            raise DataError(f"{at(path)}: {table.num_rows:,} rows; the limit is {MAX_CLOUD_POINTS:,}.")
        table = table.select(numbers + texts)
        table.validate(full=True)
        if any(column.null_count for column in table.columns):
            raise DataError(f"{at(path)}: cells without a value.")
        columns = {name: table.column(name).to_numpy() for name in numbers}
        words = {name: _words(table.column(name), pa) for name in texts}
    except DataError:
        raise
    except Exception as error:  # pyarrow has a dozen types for a damaged file
        raise DataError(f"{at(path)}: not a sound Feather file ({printable(str(error), 120)}).") from None
    return columns, words


def _check_column(path: Path, name: str, types: list, is_text: bool, pa) -> None:
    if len(types) != 1:
        raise DataError(f"{at(path)}: {'no' if not types else 'more than one'} column {name!r}.")
    kind = types[0].value_type if is_text and pa.types.is_dictionary(types[0]) else types[0]
    if is_text and not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(f"{at(path)}: column {name!r} holds {types[0]}; need text.")
    if not is_text and not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
        raise DataError(f"{at(path)}: column {name!r} holds {types[0]}; need numbers.")


def _words(column, pa) -> list[str]:
    words: list[str] = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            # One copy of each word, not one per row.
            dictionary = chunk.dictionary.to_pylist()
            words += [dictionary[index] for index in chunk.indices.to_pylist()]
        else:
            words += chunk.to_pylist()
    return words


def check_unpacked_size(raw: bytes, path: Path) -> None:
    """Refuse a file whose buffers promise more than MAX_UNPACKED bytes."""
    if len(raw) < 24 or not raw.startswith(MAGIC) or not raw.endswith(MAGIC):
        raise DataError(f"{at(path)}: not a Feather (version 2) file, or cut off.")
    try:
        (length,) = struct.unpack_from("<i", raw, len(raw) - 10)
        footer = _Table.root(raw, len(raw) - 10 - length)
        total = 0
        for field in (2, 3):  # dictionaries, record batches
            start, count = footer.vector(field)
            if count > MAX_BLOCKS:
                raise DataError(f"{at(path)}: {count:,} blocks; the limit is {MAX_BLOCKS:,}.")
            for index in range(count):
                offset, metadata, _, body = struct.unpack_from("<qiiq", raw, start + 24 * index)
                total += _unpacked(raw, offset, metadata, body)
    except (struct.error, ValueError, OverflowError):
        raise DataError(f"{at(path)}: not a sound Feather file (its table of contents is damaged).") from None
    if total > MAX_UNPACKED:
        raise DataError(f"{at(path)}: promises {total:,} bytes when unpacked; the limit is {MAX_UNPACKED:,}.")


def _unpacked(raw: bytes, offset: int, metadata: int, body: int) -> int:
    """Bytes that the buffers of one block promise."""
    if offset < 0 or metadata < 8 or body < 0 or offset + metadata + body > len(raw):
        raise ValueError("block outside the file")
    marked = raw[offset : offset + 4] == b"\xff\xff\xff\xff"
    message = _Table.root(raw, offset + (8 if marked else 4))
    kind = message.byte(1)
    if kind not in (DICTIONARY, RECORDS):
        return 0
    batch = message.table(2) if kind == RECORDS else message.table(2).table(1)
    if not batch.has(3):
        return body  # not compressed: buffers are parts of the file
    start, count = batch.vector(2)
    total = 0
    for index in range(min(count, len(raw) // 16 + 1)):
        place, size = struct.unpack_from("<qq", raw, start + 16 * index)
        if size >= 8:
            (unpacked,) = struct.unpack_from("<q", raw, offset + metadata + place)
            total += max(unpacked, size)  # -1: stored as it is
    return total


class _Table:
    """A flatbuffers table: fields are found through a table of offsets."""

    def __init__(self, raw: bytes, position: int):
        if not 0 <= position <= len(raw) - 4:
            raise ValueError("table outside the file")
        self.raw, self.position = raw, position
        self.fields = position - struct.unpack_from("<i", raw, position)[0]
        if self.fields < 0:
            raise ValueError("table outside the file")
        (self.size,) = struct.unpack_from("<H", raw, self.fields)

    @classmethod
    def root(cls, raw: bytes, position: int) -> "_Table":
        if position < 0:
            raise ValueError("table outside the file")
        return cls(raw, position + struct.unpack_from("<I", raw, position)[0])

    def _place(self, field: int) -> int:
        """Where the field is, or 0 when it is absent."""
        entry = 4 + 2 * field
        offset = struct.unpack_from("<H", self.raw, self.fields + entry)[0] if entry < self.size else 0
        return self.position + offset if offset else 0

    def has(self, field: int) -> bool:
        return bool(self._place(field))

    def byte(self, field: int) -> int:
        place = self._place(field)
        return self.raw[place] if 0 < place < len(self.raw) else 0

    def table(self, field: int) -> "_Table":
        place = self._place(field)
        if not place:
            raise ValueError("missing table")
        return _Table(self.raw, place + struct.unpack_from("<I", self.raw, place)[0])

    def vector(self, field: int) -> tuple[int, int]:
        """Where the entries begin, and their number."""
        place = self._place(field)
        if not place:
            return 0, 0
        start = place + struct.unpack_from("<I", self.raw, place)[0]
        return start + 4, struct.unpack_from("<I", self.raw, start)[0]
