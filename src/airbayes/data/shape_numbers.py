"""Nine simple numbers of an object's points: a reference that any learned model should be compared with.

They use the points only, no box and no range. With λ1 ≥ λ2 ≥ λ3 the eigenvalues of the covariance:

    height, length, width   extents along z and along the two main axes of the plan view
    linearity, planarity    (√λ1 − √λ2)/√λ1 and (√λ2 − √λ3)/√λ1
    verticality             |z| of the direction of λ1
    balance                 where the mean height lies between lowest and highest point, 0 to 1
    top                     larger horizontal extent of the upper third
    log count               natural logarithm of the number of points
"""

import numpy as np
from jaxtyping import Float

from airbayes.data.objects import ObjectSet

NAMES = ("height", "length", "width", "linearity", "planarity", "verticality", "balance", "top", "log count")


def shape_numbers(objects: ObjectSet) -> Float[np.ndarray, "object 9"]:
    """One row per object, columns as in NAMES."""
    rows = [cloud_numbers(objects.cloud(index)) for index in range(len(objects))]
    return np.array(rows).reshape(-1, len(NAMES))


def cloud_numbers(points: np.ndarray) -> Float[np.ndarray, "9"]:
    """The nine numbers of one cloud [point, 3]."""
    centred = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    plan = centred[:, :2] @ np.linalg.eigh(centred[:, :2].T @ centred[:, :2])[1]
    width, length = np.ptp(plan, axis=0)
    z = centred[:, 2]
    height = np.ptp(z)
    values, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    third, second, first = np.sqrt(np.maximum(values, 0.0))
    scale = max(first, 1e-9)
    share = (z - z.min()) / max(height, 1e-9)
    return np.array(
        [
            height,
            length,
            width,
            (first - second) / scale,
            (second - third) / scale,
            abs(axes[2, 2]),
            share.mean(),
            np.ptp(plan[share >= 2 / 3], axis=0).max() if height > 0 else length,
            np.log(len(points)),
        ]
    )
