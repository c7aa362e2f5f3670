"""nuScenes: sweeps of LIDAR_TOP at the annotated moments, and thirteen JSON tables that tell what is in them.

Boxes are global; the chain to the sensor is global → inverse ego_pose → inverse calibrated_sensor.
"""

import dataclasses
from collections import defaultdict
from pathlib import Path, PurePosixPath

import numpy as np

from airbayes.data.formats.boxes import box_row, checked_size, rotation_from_quaternion, rows_in_box
from airbayes.data.formats.classes import invert
from airbayes.data.formats.common import Collector, at, finite_rows, folders
from airbayes.data.formats.json_table import read_table
from airbayes.data.formats.point_files import read_sweep
from airbayes.errors import DataError
from airbayes.text import printable

SOURCE = "nuscenes"
CHANNEL = "LIDAR_TOP"
MAX_KEPT = 5_000_000  # records kept of one table
CLASSES = invert(
    {
        "car": ["vehicle.car"],
        "large_vehicle": [
            "vehicle.truck",
            "vehicle.bus.bendy",
            "vehicle.bus.rigid",
            "vehicle.construction",
            "vehicle.trailer",
        ],
        "pedestrian": [
            "human.pedestrian.adult",
            "human.pedestrian.child",
            "human.pedestrian.construction_worker",
            "human.pedestrian.police_officer",
        ],
        "two_wheeler": ["vehicle.bicycle", "vehicle.motorcycle"],
        "traffic_cone": ["movable_object.trafficcone"],
        "barrier": ["movable_object.barrier"],
    }
)
OTHERS = (
    "animal human.pedestrian.personal_mobility human.pedestrian.stroller human.pedestrian.wheelchair "
    "movable_object.debris movable_object.pushable_pullable static_object.bicycle_rack "
    "vehicle.emergency.ambulance vehicle.emergency.police"
)
VOCABULARY = (*CLASSES, *OTHERS.split())


@dataclasses.dataclass(frozen=True)
class Pose:
    """p_outer = rotation · p_inner + shift."""

    rotation: np.ndarray
    shift: np.ndarray


@dataclasses.dataclass(frozen=True)
class Sweep:
    file: str
    pose: str  # token into ego_pose
    sensor: str  # token into calibrated_sensor
    timestamp: float


@dataclasses.dataclass(frozen=True)
class Annotation:
    kind: str
    instance: str
    centre: np.ndarray  # global
    size: np.ndarray  # length, width, height
    rotation: np.ndarray
    points: int | None
    where: str


def looks_like(path: Path) -> bool:
    return bool(_versions(path))


def read(path: Path, collector: Collector) -> None:
    versions = _versions(path)
    if not versions:
        raise DataError(f"{at(path)}: no folder v1.0-* with sample_data.json.")
    for version in versions:
        with collector.guard("unreadable versions"):
            _read_version(version, collector)


def _versions(path: Path) -> list[Path]:
    """Folders of tables: `path` itself or those inside it."""
    candidates = [path, *(folder for folder in folders(path) if folder.name.startswith("v1.0"))]
    return [folder for folder in candidates if (folder / "sample_data.json").is_file()]


def _read_version(tables: Path, collector: Collector) -> None:
    annotations = _annotations(tables, collector)
    sweeps = _sweeps(tables, set(annotations))
    poses = _poses(tables, "ego_pose", {sweep.pose for sweep in sweeps.values()})
    sensors = _poses(tables, "calibrated_sensor", {sweep.sensor for sweep in sweeps.values()})
    scenes, frames = _scenes(tables, set(sweeps))
    for sample, sweep in sweeps.items():
        with collector.guard("unreadable frames"):
            file = _inside(tables.parent, sweep.file, tables)
            points = read_sweep(file, columns=5)
            collector.files += 1
            points = points[finite_rows(points[:, :3], at(file), collector)]
            pose, sensor = _find(poses, sweep.pose, tables, "ego_pose"), _find(sensors, sweep.sensor, tables, "sensor")
            for each in annotations[sample]:
                with collector.guard("bad annotations"):
                    _add(collector, each, points, pose, sensor, scenes.get(sample, ""), frames.get(sample, 0))


def _add(
    collector: Collector, box: Annotation, points: np.ndarray, pose: Pose, sensor: Pose, scene: str, frame: int
) -> None:
    turn = sensor.rotation.T @ pose.rotation.T
    centre = sensor.rotation.T @ (pose.rotation.T @ (box.centre - pose.shift) - sensor.shift)
    axes = turn @ box.rotation
    rows = rows_in_box(points, centre, axes, box.size)
    collector.add(
        points[rows, :3],
        points[rows, 3] / 255,
        box.kind,
        centre=centre,
        instance=box.instance,
        scene=scene,
        frame=frame,
        range_m=float(np.linalg.norm(centre)),
        box=box_row(centre, box.size, axes),
        annotated=box.points,
        where=box.where,
    )


def _annotations(tables: Path, collector: Collector) -> dict[str, list[Annotation]]:
    """Boxes of the wanted classes, by sample."""
    category = {row.text("token"): row.text("name") for row in _rows(tables, "category", collector)}
    kind_of = {}
    for row in _rows(tables, "instance", collector):
        kind_of[row.text("token")] = category.get(row.text("category_token"))
    found: dict[str, list[Annotation]] = defaultdict(list)
    for kept, row in enumerate(_rows(tables, "sample_annotation", collector)):
        with collector.guard("bad annotations"):
            instance = row.text("instance_token")
            kind = kind_of.get(instance)
            if kind is None:
                raise DataError(f"{row.where}: no class for instance {printable(instance)!r}.")
            if not collector.wants(kind, row.where):
                continue
            width, length, height = row.vector("size", 3)
            found[row.text("sample_token")].append(
                Annotation(
                    kind,
                    instance,
                    row.vector("translation", 3),
                    checked_size(np.array([length, width, height]), row.where),
                    rotation_from_quaternion(row.vector("rotation", 4), row.where),
                    int(row.number("num_lidar_pts")) if "num_lidar_pts" in row.values else None,
                    row.where,
                )
            )
        if kept > MAX_KEPT:
            raise DataError(f"{row.where}: more than {MAX_KEPT:,} annotations.")
    return found


def _sweeps(tables: Path, samples: set[str]) -> dict[str, Sweep]:
    """The annotated lidar sweep of every sample."""
    lidars = {row.text("token") for row in _rows(tables, "sensor") if row.text("channel") == CHANNEL}
    mounted = {row.text("token") for row in _rows(tables, "calibrated_sensor") if row.text("sensor_token") in lidars}
    found = {}
    for row in _rows(tables, "sample_data"):
        sample, sensor = row.text("sample_token"), row.text("calibrated_sensor_token")
        if row.values.get("is_key_frame") is True and sensor in mounted and sample in samples:
            found[sample] = Sweep(
                row.text("filename"), row.text("ego_pose_token"), sensor, row.number("timestamp", 0.0)
            )
    return dict(sorted(found.items(), key=lambda item: (item[1].timestamp, item[0])))


def _poses(tables: Path, name: str, wanted: set[str]) -> dict[str, Pose]:
    return {
        row.text("token"): Pose(
            rotation_from_quaternion(row.vector("rotation", 4), row.where), row.vector("translation", 3)
        )
        for row in _rows(tables, name)
        if row.text("token") in wanted
    }


def _scenes(tables: Path, samples: set[str]) -> tuple[dict[str, str], dict[str, int]]:
    """The scene's name and the place in time within it, of every sample."""
    names = {row.text("token"): row.text("name") for row in _rows(tables, "scene")}
    rows = [
        (row.number("timestamp", 0.0), row.text("token"), row.text("scene_token"))
        for row in _rows(tables, "sample")
        if row.text("token") in samples
    ]
    counter: dict[str, int] = defaultdict(int)
    scene_of, frame_of = {}, {}
    for _, token, scene in sorted(rows):
        scene_of[token], frame_of[token] = names.get(scene, scene), counter[scene]
        counter[scene] += 1
    return scene_of, frame_of


def _rows(tables: Path, name: str, collector: Collector | None = None):
    if collector is not None:
        collector.files += 1
    return read_table(tables / f"{name}.json")


def _find(poses: dict[str, Pose], token: str, tables: Path, table: str) -> Pose:
    if token not in poses:
        raise DataError(f"{at(tables)}: no {table} with token {printable(token)!r}.")
    return poses[token]


def _inside(root: Path, name: str, tables: Path) -> Path:
    """The file of a sweep; a table may not lead out of the data set."""
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not name:
        raise DataError(f"{at(tables / 'sample_data.json')}: file name {printable(name)!r} leads out of the data set.")
    return root / parts
