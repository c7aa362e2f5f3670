"""Oriented boxes: rotations, and the points inside."""

import numpy as np

from airbayes.errors import DataError

MAX_SIDE = 500.0  # metres; trains are shorter


def rotation_from_quaternion(wxyz: np.ndarray, where: str) -> np.ndarray:
    """The rotation matrix [3, 3] of the unit quaternion w, x, y, z: p_outer = R p_inner."""
    norm = float(np.linalg.norm(wxyz))
    if not 0.9 < norm < 1.1:
        raise DataError(f"{where}: quaternion {np.asarray(wxyz).tolist()} has length {norm:g}; need 1.")
    w, x, y, z = np.asarray(wxyz, np.float64) / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def checked_rotation(matrix: np.ndarray, where: str) -> np.ndarray:
    """The matrix if it is a rotation: orthogonal, and not mirrored."""
    error = np.abs(matrix @ matrix.T - np.eye(3)).max() if np.abs(matrix).max() < 2 else np.inf
    if not error < 0.02 or np.linalg.det(matrix) < 0:
        raise DataError(f"{where}: {np.round(matrix, 3).tolist()} is not a rotation. Is the calibration damaged?")
    return matrix


def checked_size(size: np.ndarray, where: str) -> np.ndarray:
    """Length, width, height of a box, or an error if there can be no such box."""
    if not ((size > 0) & (size <= MAX_SIDE)).all():
        raise DataError(f"{where}: box of {size.tolist()} m; sides must be above 0 and at most {MAX_SIDE:g} m.")
    return size


def yaw_of(rotation: np.ndarray) -> float:
    """The angle of the box's forward axis about z, from x towards y."""
    return float(np.arctan2(rotation[1, 0], rotation[0, 0]))


def rows_in_box(points: np.ndarray, centre: np.ndarray, rotation: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Rows of the points (x, y, z, ...) in the box, faces included; `rotation`: its length, width and height axes."""
    half = np.asarray(size, np.float64) / 2
    # The box lies in this upright square, which is quick to test; the exact test is left with few points.
    reach = float(np.linalg.norm(half))
    near = np.flatnonzero((np.abs(points[:, 0] - centre[0]) <= reach) & (np.abs(points[:, 1] - centre[1]) <= reach))
    local = (points[near, :3].astype(np.float64) - centre) @ rotation
    return near[(np.abs(local) <= half).all(axis=1)]


def box_row(centre: np.ndarray, size: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """cx, cy, cz, length, width, height, yaw, as ObjectSet.box holds it."""
    return np.concatenate([centre, size, [yaw_of(rotation)]])
