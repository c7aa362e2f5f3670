"""Argoverse 2: `<log>/sensors/lidar/<ns>.feather` and `<log>/annotations.feather`, both in the vehicle's frame.

Ranges are from the vehicle's origin (rear axle), 1.4 m behind and 1.6 m below the lidars.
"""

from pathlib import Path

import numpy as np

from airbayes.data.formats.boxes import box_row, checked_size, rotation_from_quaternion, rows_in_box
from airbayes.data.formats.classes import invert
from airbayes.data.formats.common import Collector, at, finite_rows, folders
from airbayes.data.formats.feather import read_feather
from airbayes.errors import DataError

SOURCE = "argoverse2"
SIZE, QUATERNION, CENTRE = ["length_m", "width_m", "height_m"], ["qw", "qx", "qy", "qz"], ["tx_m", "ty_m", "tz_m"]
NUMBERS = ["timestamp_ns", "num_interior_pts", *SIZE, *QUATERNION, *CENTRE]
CLASSES = invert(
    {
        "car": ["REGULAR_VEHICLE"],
        "large_vehicle": [
            "LARGE_VEHICLE",
            "BOX_TRUCK",
            "TRUCK",
            "TRUCK_CAB",
            "VEHICULAR_TRAILER",
            "BUS",
            "SCHOOL_BUS",
            "ARTICULATED_BUS",
            "RAILED_VEHICLE",
        ],
        "pedestrian": ["PEDESTRIAN"],
        "two_wheeler": ["BICYCLE", "BICYCLIST", "MOTORCYCLE", "MOTORCYCLIST"],
        "traffic_cone": ["CONSTRUCTION_CONE", "BOLLARD"],
        "sign": ["SIGN", "STOP_SIGN", "MOBILE_PEDESTRIAN_CROSSING_SIGN"],
    }
)
OTHERS = (
    "ANIMAL CONSTRUCTION_BARREL DOG MESSAGE_BOARD_TRAILER OFFICIAL_SIGNALER STROLLER TRAFFIC_LIGHT_TRAILER "
    "WHEELCHAIR WHEELED_DEVICE WHEELED_RIDER"
)
VOCABULARY = (*CLASSES, *OTHERS.split())


def looks_like(path: Path) -> bool:
    return bool(_logs(path))


def read(path: Path, collector: Collector) -> None:
    logs = _logs(path)
    if not logs:
        raise DataError(f"{at(path)}: no log with annotations.feather.")
    for log in logs:
        with collector.guard("unreadable logs"):
            _read_log(log, collector)


def _logs(path: Path) -> list[Path]:
    """Folders with annotations: the path itself, those in it, or those in its parts (train, val)."""
    found = [path] if (path / "annotations.feather").is_file() else []
    found = found or [each for each in folders(path) if (each / "annotations.feather").is_file()]
    if found:
        return found
    return [each for part in folders(path) for each in folders(part) if (each / "annotations.feather").is_file()]


def _read_log(log: Path, collector: Collector) -> None:
    file = log / "annotations.feather"
    numbers, words = read_feather(file, NUMBERS, ["category", "track_uuid"])
    collector.files += 1
    if not len(words["category"]):
        raise DataError(f"{at(file)}: no annotations.")
    times, inverse = np.unique(numbers["timestamp_ns"], return_inverse=True)
    by_time = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    for frame, (time, rows) in enumerate(zip(times.tolist(), by_time, strict=True)):
        with collector.guard("unreadable sweeps"):
            wanted = [row for row in rows.tolist() if _wants(collector, words["category"][row], file, row)]
            if not wanted:
                continue
            sweep = _read_sweep(log / "sensors" / "lidar" / f"{time}.feather", collector)
            for row in wanted:
                with collector.guard("bad annotations"):
                    _add(collector, numbers, words, row, sweep, f"{at(file)}, row {row}", scene=log.name, frame=frame)


def _wants(collector: Collector, category: str, file: Path, row: int) -> bool:
    with collector.guard("bad annotations"):
        return collector.wants(category, f"{at(file)}, row {row}")
    return False


def _read_sweep(file: Path, collector: Collector) -> np.ndarray:
    """x, y, z, intensity (0 to 1) [point, 4]."""
    columns, _ = read_feather(file, ["x", "y", "z", "intensity"], [])
    collector.files += 1
    sweep = np.stack([columns[name].astype(np.float64) for name in ("x", "y", "z", "intensity")], axis=1)
    sweep = sweep[finite_rows(sweep[:, :3], at(file), collector)]
    return sweep * [1, 1, 1, 1 / 255]


def _add(collector: Collector, numbers: dict, words: dict, row: int, sweep: np.ndarray, where: str, **known) -> None:
    size, quaternion, centre = (
        np.array([float(numbers[name][row]) for name in names]) for names in (SIZE, QUATERNION, CENTRE)
    )
    if not (np.abs(centre) < 1e5).all():
        raise DataError(f"{where}: box at {centre.tolist()} m.")
    checked_size(size, where)
    axes = rotation_from_quaternion(quaternion, where)
    inside = rows_in_box(sweep, centre, axes, size)
    collector.add(
        sweep[inside, :3],
        sweep[inside, 3],
        words["category"][row],
        centre=centre,
        instance=words["track_uuid"][row],
        range_m=float(np.linalg.norm(centre)),
        box=box_row(centre, size, axes),
        annotated=int(numbers["num_interior_pts"][row]),
        where=where,
        **known,
    )
