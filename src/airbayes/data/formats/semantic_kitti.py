"""SemanticKITTI: `sequences/NN/{velodyne/%06d.bin, labels/%06d.label}`, a class and an instance for every point."""

from pathlib import Path

import numpy as np

from airbayes.data.formats.classes import invert
from airbayes.data.formats.common import Collector, at, files, finite_rows, folders, parse_count, read_records
from airbayes.data.formats.point_files import read_sweep
from airbayes.errors import DataError

SOURCE = "semantic_kitti"
STATIC = {
    10: "car",
    11: "bicycle",
    13: "bus",
    15: "motorcycle",
    16: "on-rails",
    18: "truck",
    20: "other-vehicle",
    30: "person",
    31: "bicyclist",
    32: "motorcyclist",
}
MOVING = {252: 10, 253: 31, 254: 30, 255: 32, 256: 16, 257: 13, 258: 18, 259: 20}
STATIC_CODE = np.arange(2**16, dtype=np.uint32)
STATIC_CODE[list(MOVING)] = list(MOVING.values())  # a car that stops stays the same car
CLASSES = invert(
    {
        "car": ["car"],
        "large_vehicle": ["truck", "bus", "on-rails"],
        "pedestrian": ["person"],
        "two_wheeler": ["bicycle", "motorcycle", "bicyclist", "motorcyclist"],
    }
)
VOCABULARY = tuple(STATIC.values())


def looks_like(path: Path) -> bool:
    return bool(_sequences(path))


def read(path: Path, collector: Collector) -> None:
    for sequence in _sequences(path):
        for label_file in files(sequence / "labels", ".label"):
            with collector.guard("unreadable frames"):
                _read_frame(sequence, label_file, collector)


def _sequences(path: Path) -> list[Path]:
    """Folders with labels (the test sequences have none): in `path/sequences`, in `path`, or `path` itself."""
    root = path / "sequences" if (path / "sequences").is_dir() else path
    return [each for each in (*folders(root), path) if (each / "labels").is_dir() and files(each / "labels", ".label")]


def _read_frame(sequence: Path, label_file: Path, collector: Collector) -> None:
    where = at(label_file)
    frame = parse_count(label_file.stem, f"{where}: its name")
    sweep, code = _read_points(sequence / "velodyne" / f"{label_file.stem}.bin", label_file, collector)
    instance, semantic = code >> 16, STATIC_CODE[code & 0xFFFF]
    thing = np.flatnonzero((instance > 0) & np.isin(semantic, list(STATIC)))
    keys, inverse = np.unique((semantic[thing] << 16) | instance[thing], return_inverse=True)
    by_key = np.split(thing[np.argsort(inverse, kind="stable")], np.cumsum(np.bincount(inverse))[:-1])
    for key, rows in zip(keys.tolist(), by_key if len(keys) else [], strict=True):
        name = STATIC[key >> 16]
        if collector.wants(name, where):
            cloud = sweep[rows, :3].astype(np.float64)
            collector.add(
                cloud,
                sweep[rows, 3],
                name,
                instance=f"{name}-{key & 0xFFFF}",
                scene=sequence.name,
                frame=frame,
                range_m=float(np.linalg.norm((cloud.min(axis=0) + cloud.max(axis=0)) / 2)),
                where=where,
            )


def _read_points(sweep_file: Path, label_file: Path, collector: Collector) -> tuple[np.ndarray, np.ndarray]:
    """The sweep and its labels, point for point."""
    sweep, code = read_sweep(sweep_file, columns=4), read_records(label_file, np.dtype("<u4"))
    collector.files += 2
    if len(sweep) != len(code):
        raise DataError(f"{at(label_file)}: {len(code):,} labels for {len(sweep):,} points. Do they belong together?")
    good = finite_rows(sweep[:, :3], at(sweep_file), collector)
    return sweep[good], code[good]
