"""results.nc on disk: written with checksums, read within limits.

    SHA256SUMS      of results.nc and summary.json; `sha256sum -c SHA256SUMS` checks them, and so does every reader here

A folder from before there were checksums can still be read. Then, and for a file that someone made on purpose, what
the file declares is checked before the HDF5 library acts on it: it believes declared sizes, follows links into other
files, and one kind of damage (a heap object of size 0) makes it loop for ever.
"""

import hashlib
import mmap
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airbayes.errors import ResultsError
from airbayes.experiment.dataset import CELL_DIMS, STATUS_CODES
from airbayes.experiment.netcdf_file import read_netcdf, write_netcdf
from airbayes.files import read_limited, write_atomically
from airbayes.text import is_name, printable

if TYPE_CHECKING:
    import h5py
    import xarray as xr

SUMS = "SHA256SUMS"
MOST_BYTES = 4 << 30  # of a file, and of all its arrays together
MOST_PACKED = 1100  # deflate packs at most 1,032 to one: what declares more is not there
SPARE_BYTES = 1 << 20
FILTERS = (1, 2, 3)  # deflate, shuffle, fletcher32: all that we write
MOST_VARIABLES = 10_000


def write_dataset(path: Path, dataset: "xr.Dataset") -> None:
    """Atomically, every chunk with a checksum of its own."""
    write_atomically(path, lambda part: write_netcdf(part, dataset))


def read_dataset_file(path: Path) -> "xr.Dataset":
    """The whole Dataset, in memory; an error where anything about it is not as a run writes it."""
    try:
        check_sum(path)
        _check_declared(path)
        dataset = read_netcdf(path)
    except ResultsError:
        raise
    except MemoryError:
        raise ResultsError(f"{path} needs more memory than there is.") from None
    except Exception as error:  # HDF5's own errors arrive as any of a dozen types
        raise ResultsError(
            f"Cannot read {path}: {printable(str(error), 200)}. Run the experiment again with --force."
        ) from error
    problem = _find_problem(dataset)
    if problem is not None:
        raise ResultsError(f"{path} is not as a run writes it: {problem}. Run the experiment again with --force.")
    return dataset


def sums_of(contents: dict[str, bytes]) -> str:
    """Lines that `sha256sum -c` reads."""
    return "".join(f"{hashlib.sha256(raw).hexdigest()}  {name}\n" for name, raw in contents.items())


def check_sum(path: Path) -> None:
    """Compare a file with SHA256SUMS beside it; nothing is said where that, or a line for the file, is missing."""
    sums = path.with_name(SUMS)
    if not sums.exists():
        return
    lines = read_limited(sums, 1_000_000).decode("utf-8", errors="replace").splitlines()
    found = [line.split(maxsplit=1) for line in lines]
    known = {each[1]: each[0] for each in found if len(each) == 2}
    if path.name not in known:
        return
    with open(path, "rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    if digest != known[path.name]:
        raise ResultsError(
            f"{path} has changed since the run wrote it (sha256 differs from {SUMS}). Run the experiment again with "
            f"--force; if you changed it on purpose, remove {sums}."
        )


def _check_declared(path: Path) -> None:
    """Nothing outside the file, no unknown filter, and no more memory than the file can hold."""
    import h5py

    size = path.stat().st_size
    if not 0 < size <= MOST_BYTES:
        raise ResultsError(f"{path} has {size:,} bytes; results have at least one and at most {MOST_BYTES:,}.")
    with open(path, "rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        _check_heaps(path, raw)
    limit, total = min(MOST_PACKED * size + SPARE_BYTES, MOST_BYTES), 0
    with h5py.File(path, "r") as file:
        if len(file) > MOST_VARIABLES:
            raise ResultsError(f"{path} holds {len(file):,} variables; the limit is {MOST_VARIABLES:,}.")
        for name in file:
            where = f"{path}, variable {printable(str(name))}"
            variable: Any = file.get(name)
            if not isinstance(file.get(name, getlink=True), h5py.HardLink) or not isinstance(variable, h5py.Dataset):
                raise ResultsError(f"{where}: is a link or a group; results hold plain arrays.")
            _check_storage(where, variable)
            total += int(np.prod(variable.shape or (), dtype=object)) * variable.dtype.itemsize
            if total > limit:
                raise ResultsError(
                    f"{where}: declares {variable.dtype} {variable.shape}, which brings the arrays to {total:,} bytes; "
                    f"a file of its size can hold at most {limit:,}."
                )


def _check_storage(where: str, variable: "h5py.Dataset") -> None:
    plan = variable.id.get_create_plist()
    if plan.get_external_count() or variable.is_virtual:
        raise ResultsError(f"{where}: its data lie in another file, which is not followed.")
    used = [plan.get_filter(i)[0] for i in range(plan.get_nfilters())]
    if any(each not in FILTERS for each in used):
        raise ResultsError(f"{where}: is packed with filters {used}; results use {list(FILTERS)}.")


def _check_heaps(path: Path, raw: mmap.mmap) -> None:
    """Walk HDF5's global heaps (GCOL: texts and references) as the library will: every object must lead onwards.

    GCOL, version 1, 3 bytes, size u64; then objects: index u16, count u16, 4 bytes, size u64, data padded to 8 bytes.
    Object 0 is the free rest, and its size counts its header.
    """
    for found in re.finditer(b"GCOL\x01", raw):
        begin = found.start()
        if begin + 16 > len(raw):
            continue
        (size,) = struct.unpack_from("<Q", raw, begin + 8)
        place, end = begin + 16, min(begin + size, len(raw))
        while place + 16 <= end:
            index, length = struct.unpack_from("<H6xQ", raw, place)
            step = length if index == 0 else 16 + (length + 7) // 8 * 8
            if step < 16 or place + step > begin + size:
                raise ResultsError(f"{path} is damaged: byte {place} has a heap object of {length:,} bytes.")
            place += step


def _find_problem(dataset: "xr.Dataset") -> str | None:
    """The first thing that no run writes, or None."""
    for dim in CELL_DIMS:
        if dim not in dataset.coords or dataset[dim].dims != (dim,) or not dataset.sizes[dim]:
            return f"it has no coordinate {dim}"
        values = dataset[dim].values
        if len(set(values.tolist())) != len(values):
            return f"{dim} names something twice"
    for dim in ("method", "topology"):
        if not all(isinstance(name, str) and is_name(name) for name in dataset[dim].values.tolist()):
            return f"{dim} holds what is no name"
    if dataset["snr_db"].dtype.kind not in "fiu" or dataset["seed"].dtype.kind not in "iu":
        return "snr_db or seed hold no numbers"
    if "status" not in dataset.data_vars:
        return "it has no status"
    for name, variable in dataset.data_vars.items():
        if variable.dims[: len(CELL_DIMS)] != CELL_DIMS or variable.dtype.kind not in "fiu":
            return f"{printable(str(name))} is {variable.dtype} over {printable(str(variable.dims))}"
    status = dataset["status"]
    if status.dims != CELL_DIMS or not np.isin(status.values, list(STATUS_CODES.values())).all():
        return f"status is not one of {list(STATUS_CODES.values())} for each cell"
    return None
