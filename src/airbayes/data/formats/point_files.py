"""One cloud from one file: npy, npz, bin, pcd, ply, xyz, csv, txt."""

from pathlib import Path

import numpy as np

from airbayes.data.formats.common import MAX_CLOUD_POINTS, Collector, at, finite_rows, read_bytes, read_records
from airbayes.data.formats.pcd import parse_pcd
from airbayes.data.formats.ply import parse_ply
from airbayes.data.formats.text_table import parse_text
from airbayes.data.object_file import parse_npy, read_arrays
from airbayes.errors import DataError
from airbayes.text import printable

SUFFIXES = (".npy", ".npz", ".bin", ".pcd", ".ply", ".xyz", ".csv", ".txt")
MAX_COLUMNS = 8  # of a cloud with fewer points than columns: with more, the array lies on its side
NPZ_BYTES = 512 << 20  # when unpacked


def read_cloud(path: Path, collector: Collector) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates f64 [point, 3] and intensity [point], 0 to 1 (all 0 where the file has none)."""
    name = path.name.lower()
    if name.endswith(".npy"):
        table = _plain(parse_npy(read_bytes(path), at(path)), path)
    elif name.endswith(".npz"):
        table = _from_npz(path)
    elif name.endswith(".bin"):
        table = read_sweep(path, columns=5 if name.endswith(".pcd.bin") else 4)[:, :4]
        _check_intensity(table[:, 3], path)
    elif name.endswith(".pcd"):
        table = parse_pcd(read_bytes(path), path)
    elif name.endswith(".ply"):
        table = parse_ply(read_bytes(path), path)
    elif name.endswith(SUFFIXES):
        table = parse_text(read_bytes(path), path)
    else:
        raise DataError(f"{at(path)}: unknown kind of file; known are {', '.join(SUFFIXES)}.")
    if len(table) == 0:
        raise DataError(f"{at(path)}: no points.")
    if len(table) > MAX_CLOUD_POINTS:
        raise DataError(f"{at(path)}: {len(table):,} points; the limit is {MAX_CLOUD_POINTS:,}.")
    table = table[finite_rows(table[:, :3], at(path), collector)]
    light = table[:, 3] if table.shape[1] > 3 else np.zeros(len(table))
    return table[:, :3].astype(np.float64), guess_scale(light)


def read_sweep(path: Path, columns: int) -> np.ndarray:
    """A headerless sweep f32 [point, columns]: 4 for KITTI (x, y, z, reflectance), 5 for nuScenes (and ring)."""
    return read_records(path, np.dtype(("<f4", (columns,))))


def _check_intensity(light: np.ndarray, path: Path) -> None:
    """Coordinates in their place show that the columns are others: a file without a header cannot say so."""
    if (below := light < 0).any():
        row = int(np.argmax(below))
        raise DataError(
            f"{at(path)}: the intensity of point {row} is {light[row]:g}; need 0 or more. A .bin has x, y, z and "
            "intensity, float32. Are these x, y, z alone? Write them as an .npy [points, 3]."
        )


def guess_scale(light: np.ndarray) -> np.ndarray:
    """Intensity as 0 to 1, by the largest value: files say 0 to 1, 0 to 255 or 0 to 65535, but rarely which."""
    largest = float(np.nanmax(light, initial=0.0))
    scale = 1.0 if largest <= 1 else 255.0 if largest <= 255 else 65535.0
    return light / scale


def _plain(array: np.ndarray, path: Path) -> np.ndarray:
    """An array [point, 3 or 4, and columns nobody asks for], or one with named columns x, y, z."""
    if array.dtype.names and {"x", "y", "z"} <= set(array.dtype.names) and array.ndim == 1:
        light = ["intensity"] if "intensity" in array.dtype.names else []
        columns = [array[name] for name in ("x", "y", "z", *light)]
        if all(column.ndim == 1 and column.dtype.kind in "fiu" for column in columns):
            return np.stack([column.astype(np.float64) for column in columns], axis=1)
    if array.ndim == 3 and array.shape[2] in (3, 4):
        raise DataError(
            f"{at(path)}: {array.dtype} {array.shape}; need one object, [points, 3] or [points, 4]. Are these several? "
            "An object set holds them, airbayes.data.from_clouds makes it: docs/data.md."
        )
    if array.ndim != 2 or array.shape[1] < 3 or array.dtype.kind not in "fiu":
        raise DataError(f"{at(path)}: {array.dtype} {array.shape}; need numbers [points, 3] or [points, 4].")
    if array.shape[1] > max(MAX_COLUMNS, len(array)):
        raise DataError(
            f"{at(path)}: {len(array)} points of {array.shape[1]:,} columns; need [points, 3] or [points, 4]. "
            "Is it [3, points]? Write the array's transpose, array.T."
        )
    return array[:, :4].astype(np.float64)


def _from_npz(path: Path) -> np.ndarray:
    """The array `points` (and `intensity`), or the only one."""
    arrays = read_arrays(path, NPZ_BYTES)
    if "offsets" in arrays:  # all its objects would pass for one
        raise DataError(
            f"{at(path)}: an object set (it has the array 'offsets') where one object is asked for. Write each object "
            "into a file of its own, or give this file itself in place of the folder."
        )
    if "points" not in arrays and len(arrays) != 1:
        shown = ", ".join(printable(name, 40) for name in list(arrays)[:8]) or "none"
        raise DataError(
            f"{at(path)}: no array 'points' among its {len(arrays)} ({shown}). Name the one of shape [points, 3] "
            "'points' (and one of shape [points] 'intensity', if you have it): np.savez(file, points=...)."
        )
    table = _plain(arrays.get("points", next(iter(arrays.values()))), path)
    light = arrays.get("intensity")
    if light is None:
        return table
    if light.shape != (len(table),) or light.dtype.kind not in "fiu":
        raise DataError(f"{at(path)}: intensity is {light.dtype} {light.shape}; need one number per point.")
    return np.column_stack([table[:, :3], light.astype(np.float64)])
