"""Object sets on disk: one .npz with the arrays of ObjectSet, and nothing that could run code.

Sizes are checked before memory is asked for: a 2 MB archive can promise gigabytes.
"""

import dataclasses
import io
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from airbayes.data.objects import ObjectSet
from airbayes.errors import DataError
from airbayes.text import printable

MAX_BYTES = 4 << 30  # of all arrays together
REQUIRED = ("points", "offsets", "label", "class_names")
TEXT = ("instance", "scene", "source", "source_class")


_CONVERT = "Make one from a data set: `airbayes data convert {} FILE.npz`."


def save_objects(path: Path, objects: ObjectSet) -> None:
    """Write the set to `path` exactly; callers that need atomicity hand in a temporary name."""
    fields = {field.name: getattr(objects, field.name) for field in dataclasses.fields(objects)}
    with open(path, "wb") as stream:
        np.savez_compressed(stream, **fields)


def load_objects(path: Path, max_bytes: int = MAX_BYTES, *, labelled: bool = True) -> ObjectSet:
    """Read a set; only points, offsets, label and class_names must be there. Of a set that need not be `labelled` the
    last two are not looked at, and the objects are of one class without a name."""
    if path.is_dir():
        raise DataError(f"{path}: a folder, and an object set is an .npz file. {_CONVERT.format(path)}")
    if path.is_file() and path.suffix.lower() != ".npz" and not zipfile.is_zipfile(path):
        raise DataError(f"{path}: no object set, which is an .npz file. {_CONVERT.format('DATA')}")
    arrays = read_arrays(path, max_bytes)
    if not labelled and arrays.get("offsets", np.zeros(())).ndim:
        arrays |= {"label": np.zeros(max(len(arrays["offsets"]) - 1, 0), np.int16), "class_names": np.array([""])}
    missing = [name for name in REQUIRED if name not in arrays]
    if missing:
        raise DataError(f"{path}: no array {missing[0]!r}; an object set needs {', '.join(REQUIRED)}.")
    for name in ("label", "points"):
        if arrays[name].ndim == 0:
            raise DataError(f"{path}: {name} is a single number; need one per object or point.")
    n, total = len(arrays["label"]), len(arrays["points"])
    empty: dict[str, np.ndarray] = {
        "intensity": np.zeros(total, np.float16),
        "instance": np.arange(n).astype(str),
        "frame": np.zeros(n, np.int32),
        "range_m": np.full(n, np.nan, np.float32),
        "box": np.full((n, 7), np.nan, np.float32),
        **{name: np.full(n, "", dtype="<U1") for name in ("scene", "source")},
    }
    fields = empty | arrays
    kinds = {"points": "f4", "intensity": "f2", "offsets": "i8", "label": "i2", "frame": "i4", "range_m": "f4"}
    kinds |= {"box": "f4"} | {name: "U" for name in TEXT if name in fields}
    try:
        converted = {name: _as_kind(name, fields[name], kind) for name, kind in kinds.items()}
        names = tuple(str(name) for name in _as_kind("class_names", np.atleast_1d(arrays["class_names"]), "U"))
        if "source_class" not in arrays:
            labels = converted["label"].reshape(-1).tolist()
            own = [names[label] if 0 <= label < len(names) else "" for label in labels]
            converted["source_class"] = np.array(own, dtype=str)
        return ObjectSet(class_names=names, **converted)
    except DataError as error:
        raise DataError(f"{path}: {printable(str(error), 300)}") from None


def read_arrays(path: Path, max_bytes: int = MAX_BYTES) -> dict[str, np.ndarray]:
    """All arrays of an .npz, each checked against the cap before it is read; no pickled objects."""
    if path.exists() and not path.is_file():  # a pipe might never end
        raise DataError(f"{path}: not a file.")
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
            if total > max_bytes:
                raise DataError(f"{path}: promises {total:,} bytes of arrays; the limit is {max_bytes:,}.")
            return {
                member.filename.removesuffix(".npy"): _read_member(path, archive, member)
                for member in archive.infolist()
                if member.filename.endswith(".npy")
            }
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except DataError:
        raise
    except Exception as error:  # zipfile and its four decompressors have a dozen types for a damaged archive
        raise DataError(f"{path}: not a sound .npz archive ({printable(str(error), 120)}). Write it again.") from None


def _read_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    where = f"{path}, member {printable(member.filename)}"
    with archive.open(member) as stream:
        # Never more than promised: a lying size field must not fill the memory.
        raw = stream.read(member.file_size + 1)
    if len(raw) != member.file_size:
        raise DataError(f"{where}: holds {len(raw)} bytes where {member.file_size} are promised.")
    return parse_npy(raw, where)


def parse_npy(raw: bytes, where: str) -> np.ndarray:
    """An array from the bytes of a .npy file; its header may not promise more than the bytes hold."""
    stream = io.BytesIO(raw)
    try:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} of the format")
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(stream)
    except Exception as error:  # numpy passes on whatever Python's own parser and tokeniser say
        raise DataError(f"{where}: not an .npy array ({printable(str(error), 120)}).") from None
    if dtype.hasobject:
        raise DataError(f"{where}: holds pickled Python objects, which could run code; store plain arrays instead.")
    count = 1
    for size in shape:
        count *= int(size)
    body = len(raw) - stream.tell()
    if min(shape, default=0) < 0 or count * dtype.itemsize != body:
        raise DataError(
            f"{where}: header promises {_shown(dtype, shape)}, which is not the {body} bytes that follow it."
        )
    if count and not dtype.itemsize:
        raise DataError(f"{where}: header promises {_shown(dtype, shape)}, entries of no size.")
    try:
        flat = np.frombuffer(raw, dtype, count, offset=stream.tell()) if count else np.zeros(0, dtype)
        return flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError) as error:
        raise DataError(f"{where}: no array can be {_shown(dtype, shape)} ({error}).") from None


def _shown(dtype: np.dtype, shape: tuple[int, ...]) -> str:
    return printable(f"{dtype} {shape}", 100)


def _check_text(name: str, text: np.ndarray) -> None:
    """Refuse numbers that are no characters: Python could not even print them."""
    codes = np.ascontiguousarray(text).reshape(-1).view(np.dtype("u4").newbyteorder(text.dtype.byteorder))
    if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
        raise DataError(f"{name} holds what is no Unicode text.")


def _as_kind(name: str, values: np.ndarray, kind: str) -> np.ndarray:
    """The array in its own type; text stays text, numbers must not change by the conversion of integers."""
    if kind == "U":
        if values.dtype.kind not in "US":
            raise DataError(f"{name} holds {values.dtype}; need text.")
        if values.ndim > 1:
            raise DataError(f"{name} has shape {values.shape}; need a plain list.")
        text = values if values.dtype.kind == "U" else np.char.decode(values, "utf-8", errors="replace")
        _check_text(name, text)
        return text.astype(text.dtype.newbyteorder("="))
    if values.dtype.kind not in "fiub":
        raise DataError(f"{name} holds {values.dtype}; need numbers.")
    with np.errstate(over="ignore", invalid="ignore"):
        converted = values.astype(kind)
    if kind.startswith("i") and not np.array_equal(converted, values):
        raise DataError(f"{name} holds numbers that do not fit {np.dtype(kind)}.")
    return converted
