"""From objects to network inputs: a fixed number of points, centred, in units of a few metres.

Subtract the centroid, never the box centre: an annotated box knows the hidden side of the object, so its centre leaks
the label. Whatever trains or predicts goes through `draw_clouds`, so both see the same inputs.
"""

import numpy as np

from airbayes.data.objects import ObjectSet


def draw_cloud(cloud: np.ndarray, points: int, scale_m: float, rng: np.random.Generator) -> np.ndarray:
    """`points` of the object's points, without replacement where it has that many; [point, 3], unit `scale_m`."""
    chosen = rng.choice(len(cloud), points, replace=len(cloud) < points)
    return ((cloud[chosen] - cloud.mean(axis=0)) / scale_m).astype(np.float32)


def draw_clouds(
    objects: ObjectSet, rows: np.ndarray, points: int, scale_m: float, rng: np.random.Generator
) -> np.ndarray:
    """Inputs [row, point, 3] of the objects at `rows`; a row named twice gets two different draws."""
    if len(rows) == 0:
        return np.zeros((0, points, 3), np.float32)
    return np.stack([draw_cloud(objects.cloud(int(row)), points, scale_m, rng) for row in rows])
