"""KITTI labels and calibration: boxes of the camera frame brought into the velodyne frame."""

import dataclasses
from pathlib import Path

import numpy as np

from airbayes.data.formats.boxes import box_row, checked_rotation, checked_size, rows_in_box
from airbayes.data.formats.classes import invert
from airbayes.data.formats.common import Collector, at, files, finite_rows, parse_number, read_lines
from airbayes.data.formats.point_files import read_sweep
from airbayes.errors import DataError
from airbayes.text import printable

CLASSES = invert(
    {
        "car": ["Car", "Van"],
        "large_vehicle": ["Truck", "Tram"],
        "pedestrian": ["Pedestrian", "Person_sitting"],
        "two_wheeler": ["Cyclist"],
    }
)
VOCABULARY = (*CLASSES, "Misc", "DontCare", "Person")
RECTIFY = ("R0_rect", "R_rect")
TO_CAMERA = ("Tr_velo_to_cam", "Tr_velo_cam")
MAX_TEXT_BYTES = 64 << 20  # of a label file


@dataclasses.dataclass(frozen=True)
class Label:
    kind: str
    size: np.ndarray  # length, width, height
    bottom: np.ndarray  # bottom centre, rectified camera frame: x right, y down, z forward
    ry: float  # turn about the camera's y axis


def label_root(path: Path, labels: str) -> Path | None:
    """The folder that holds `labels`: the path itself or its `training`; None where neither does."""
    return next((folder for folder in (path / "training", path) if (folder / labels).is_dir()), None)


def label_files(folder: Path) -> list[Path]:
    found = files(folder, ".txt")
    if not found:
        raise DataError(f"{at(folder)}: no label files.")
    return found


def parse_label(words: list[str], where: str) -> Label:
    """The 15 columns type truncated occluded alpha bbox(4) h w l x y z ry; a 16th, a detector's score, may follow."""
    if not 15 <= len(words) <= 16:
        raise DataError(f"{where}: {len(words)} columns; a label has 15.")
    h, w, length, x, y, z, ry = (parse_number(word, where) for word in words[8:15])
    return Label(words[0], checked_size(np.array([length, w, h]), where), np.array([x, y, z]), ry)


def read_calibration(path: Path) -> np.ndarray:
    """[3, 4] from velodyne to rectified camera, R0_rect · Tr_velo_to_cam."""
    values: dict[str, np.ndarray] = {}
    for number, line in enumerate(read_lines(path, 1 << 20), start=1):
        words, where = line.split(), at(path, line=number)
        if words and words[0].rstrip(":") in RECTIFY + TO_CAMERA:
            name = words[0].rstrip(":")
            need = 9 if name in RECTIFY else 12
            if len(words) != need + 1:
                raise DataError(f"{where}: {name} has {len(words) - 1} numbers; need {need}.")
            values[name] = np.array([parse_number(word, where) for word in words[1:]]).reshape(3, -1)
    found = [next((name for name in names if name in values), None) for names in (RECTIFY, TO_CAMERA)]
    if None in found:
        missing = (RECTIFY, TO_CAMERA)[found.index(None)]
        raise DataError(f"{at(path)}: no {' or '.join(missing)}.")
    rectify, to_camera = (values[str(name)] for name in found)
    checked_rotation(rectify, f"{at(path)}, {found[0]}")
    checked_rotation(to_camera[:, :3], f"{at(path)}, {found[1]}")
    if np.abs(to_camera[:, 3]).max() > 100:
        raise DataError(f"{at(path)}: sensors {to_camera[:, 3].tolist()} m apart; need less than 100 m.")
    return rectify @ to_camera


def to_velodyne(label: Label, calibration: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre and axes (columns: length, width, height) of the box in the velodyne frame."""
    turn, shift = calibration[:, :3], calibration[:, 3]
    centre_camera = label.bottom - [0.0, label.size[2] / 2, 0.0]  # the camera's y points down
    heading = np.array([np.cos(label.ry), 0.0, -np.sin(label.ry)])
    up = np.array([0.0, -1.0, 0.0])
    axes_camera = np.stack([heading, np.cross(up, heading), up], axis=1)
    inverse = np.linalg.inv(turn)
    return inverse @ (centre_camera - shift), inverse @ axes_camera


def read_kitti_sweep(path: Path, collector: Collector) -> np.ndarray:
    """x, y, z, reflectance of a sweep, bad points dropped with --skip-bad."""
    sweep = read_sweep(path, columns=4)
    collector.files += 1
    return sweep[finite_rows(sweep[:, :3], at(path), collector)]


def add_box(
    collector: Collector, sweep: np.ndarray, label: Label, calibration: np.ndarray, where: str, **known
) -> None:
    """The points of the sweep inside the label's box, as an object."""
    if np.abs(label.bottom).max() > 1e5:
        raise DataError(f"{where}: {printable(label.kind)} at {label.bottom.tolist()} m.")
    centre, axes = to_velodyne(label, calibration)
    rows = rows_in_box(sweep, centre, axes, label.size)
    collector.add(
        sweep[rows, :3],
        sweep[rows, 3],
        label.kind,
        centre=centre,
        range_m=float(np.linalg.norm(centre)),
        box=box_row(centre, label.size, axes),
        where=where,
        **known,
    )
