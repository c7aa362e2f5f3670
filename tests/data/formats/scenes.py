"""A small world to write in every format: a lopsided car, a pedestrian and clutter, seen from a sensor at the origin.

Poses are worked out with homogeneous matrices and scipy, not with the loaders' own helpers.
"""

import dataclasses

import numpy as np
from scipy.spatial.transform import Rotation

MARGIN = 0.03  # objects keep this far inside their boxes: room for half precision


@dataclasses.dataclass(frozen=True)
class Thing:
    kind: str  # car or pedestrian
    local: np.ndarray  # [point, 3], x forward, y left, z up, from the middle of the box
    size: np.ndarray  # length, width, height
    pose: np.ndarray  # [4, 4], box to sensor
    instance: int

    @property
    def points(self) -> np.ndarray:
        return move(self.pose, self.local)

    @property
    def centre(self) -> np.ndarray:
        return self.pose[:3, 3]

    @property
    def yaw(self) -> float:
        return float(np.arctan2(self.pose[1, 0], self.pose[0, 0]))


def pose_of(rotation: Rotation, shift) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3] = rotation.as_matrix()
    matrix[:3, 3] = shift
    return matrix


def move(pose: np.ndarray, points: np.ndarray) -> np.ndarray:
    return (np.column_stack([points, np.ones(len(points))]) @ pose.T)[:, :3]


CAR_SIZE, PERSON_SIZE = np.array([4.5, 1.8, 1.5]), np.array([0.6, 0.6, 1.8])


def car_points(rng: np.random.Generator, count: int = 60) -> np.ndarray:
    """A body, a cabin in the rear half and a mirror on the left: neither turned nor mirrored does it look the same."""
    half = CAR_SIZE / 2 - MARGIN
    body = rng.uniform(-1, 1, (count, 3)) * half * [1, 1, 0.5] - [0, 0, 0.5 * half[2]]
    cabin = np.column_stack([rng.uniform(-0.9, 0.1, 30), rng.uniform(-0.8, 0.8, 30), rng.uniform(0.2, 1, 30)]) * half
    mirror = np.array([0.3, 0.95, 0.3]) * half + rng.uniform(-0.01, 0.01, (8, 3))
    ends = np.array([[1, 0, -0.5], [-1, 0, -0.5], [0, 1, -0.5], [0, -1, -0.5], [-0.5, 0, 1], [0, 0, -1]]) * half
    return np.concatenate([ends, mirror, cabin, body])


def person_points(rng: np.random.Generator, count: int = 25) -> np.ndarray:
    return rng.uniform(-1, 1, (count, 3)) * (PERSON_SIZE / 2 - MARGIN)


def car(yaw: float = 0.7, centre=(12.0, 5.0, -0.9), seed: int = 0, instance: int = 7) -> Thing:
    pose = pose_of(Rotation.from_euler("z", yaw), centre)
    return Thing("car", car_points(np.random.default_rng(seed)), CAR_SIZE, pose, instance)


def person(yaw: float = -2.0, centre=(8.0, -4.0, -0.8), seed: int = 1, instance: int = 9) -> Thing:
    pose = pose_of(Rotation.from_euler("z", yaw), centre)
    return Thing("pedestrian", person_points(np.random.default_rng(seed)), PERSON_SIZE, pose, instance)


def clutter(things: list[Thing], seed: int = 2, count: int = 40) -> np.ndarray:
    """Points outside every box, many of them only just."""
    rng = np.random.default_rng(seed)
    faces = np.concatenate([np.eye(3), -np.eye(3)])
    close = [move(thing.pose, faces * (thing.size / 2 + 0.06)) for thing in things]
    far = rng.uniform(-30, 30, (count, 3)) * [1, 1, 0.05] - [0, 0, 1.7]
    points = np.concatenate([*close, far])
    outside = np.ones(len(points), bool)
    for thing in things:
        local = move(np.linalg.inv(thing.pose), points)
        outside &= (np.abs(local) > thing.size / 2 + 0.05).any(axis=1)
    return points[outside]


def sweep(things: list[Thing]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All points in a random order, an intensity 0 to 1 for each, and whose they are (-1: clutter)."""
    rest = clutter(things)
    points = np.concatenate([*(thing.points for thing in things), rest])
    owner = np.concatenate([np.repeat(np.arange(len(things)), [len(t.local) for t in things]), np.full(len(rest), -1)])
    order = np.random.default_rng(3).permutation(len(points))
    light = np.linspace(0, 1, len(points))
    return points[order], light, owner[order]
