"""Records on disk that are whole or not there: a folder of .npy files and a manifest with their checksums.

    NAME/manifest.json      version, facts, and sha256 and size of every array; its own sha256 last
    NAME/000.npy, ...       the arrays

A record is written beside its place, flushed, and renamed: whoever finds it finds all of it. Reading trusts nothing: a
flipped bit, a missing or truncated file, or a header that asks for more memory than the file has is an error.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import BinaryIO

import numpy as np

from airbayes.errors import ResultsError
from airbayes.files import not_written, read_limited
from airbayes.text import printable

VERSION = 1
MANIFEST = "manifest.json"
MOST_MANIFEST = 64 * 2**20  # bytes


class _Stream:
    """A file that numpy does not know for one: into those it writes with its own code, which forgets why that failed.

    Whether a disk is full decides what becomes of a run.
    """

    def __init__(self, file: BinaryIO):
        self.write = file.write


def write_record(path: Path, arrays: dict[str, np.ndarray], facts: dict) -> None:
    """Put a record at `path`, in place of whatever is there. On an error what was there before stays."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        listed = {}
        for index, (name, array) in enumerate(arrays.items()):
            file = temporary / f"{index:03d}.npy"
            with open(file, "wb") as handle:
                np.lib.format.write_array(_Stream(handle), np.asarray(array, order="C"), allow_pickle=False)
                _flush(handle)
            listed[name] = {"file": file.name, "sha256": _sha256(file), "bytes": file.stat().st_size}
        content = {"version": VERSION, "facts": facts, "arrays": listed}
        with open(temporary / MANIFEST, "w", encoding="utf-8") as handle:
            json.dump(content | {"sha256": _digest(content)}, handle, indent=1, allow_nan=False)
            _flush(handle)
        _sync_folder(temporary)
        if path.exists():
            shutil.rmtree(path)
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_record(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    """The arrays and the facts, all checked."""
    content = _read_manifest(path / MANIFEST)
    arrays = {}
    for name, entry in content["arrays"].items():
        file = path / Path(entry["file"]).name  # a manifest cannot point outside its folder
        try:
            if file.exists() and not file.is_file():  # a pipe might never end
                raise ResultsError(f"Cannot read {file}: it is not a file.")
            if file.stat().st_size != entry["bytes"]:
                raise ResultsError(f"{file} has {file.stat().st_size:,} bytes where {entry['bytes']:,} were written.")
            if _sha256(file) != entry["sha256"]:
                raise ResultsError(f"{file} has changed since it was written (sha256 differs).")
            arrays[name] = _load(file)
        except OSError as error:
            raise ResultsError(f"Cannot read {file}: {error.strerror or error}.") from None
        except ValueError as error:
            raise ResultsError(f"{printable(str(file), 400)} is no array ({printable(str(error), 200)}).") from None
    return arrays, content["facts"]


def _read_manifest(path: Path) -> dict:
    try:
        content = json.loads(read_limited(path, MOST_MANIFEST).decode("utf-8"))
        if content["version"] != VERSION:
            raise ResultsError(f"{path} has version {content['version']}; this airbayes reads version {VERSION}.")
        if content.pop("sha256") != _digest(content):
            raise ResultsError(f"{path} has changed since it was written (sha256 differs).")
        for entry in content["arrays"].values():
            texts = isinstance(entry["file"], str) and isinstance(entry["sha256"], str)
            if not (texts and isinstance(entry["bytes"], int)):
                raise ValueError("an entry has the wrong type")
        if not isinstance(content["facts"], dict):
            raise ValueError("the facts are no table")
        return content
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ResultsError(f"{path} is damaged ({type(error).__name__}: {printable(str(error), 200)}).") from None


def _load(file: Path) -> np.ndarray:
    """An array whose header agrees with the size of its file: nothing else is ever allocated."""
    with open(file, "rb") as handle:
        version = np.lib.format.read_magic(handle)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        try:
            shape, _, dtype = read(handle)
        except Exception as error:  # numpy parses the header as Python text, and lets its parser's errors through
            raise ValueError(f"its header cannot be read: {error}") from None
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if dtype.hasobject or size != file.stat().st_size - handle.tell():
            raise ValueError(f"its header says {shape} of {dtype}")
        handle.seek(0)
        return np.lib.format.read_array(handle, allow_pickle=False)


def _digest(content: dict) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _sha256(file: Path) -> str:
    with open(file, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _flush(handle) -> None:
    handle.flush()
    os.fsync(handle.fileno())


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
