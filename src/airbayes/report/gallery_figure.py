"""A gallery of lidar objects: a row per class, near to far or dense to sparse, from the sensor, a little above."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airbayes.data import ObjectSet
from airbayes.text import in_lines, plural

# How far the eye is moved from the line of sight: turned to the side and raised, radians. From the sensor itself
# a scan has no depth.
TURN, RAISE = math.radians(25), math.radians(20)
NAME_WIDTH, NAME_LINES = 16, 3  # letters and lines of a class name beside its row


def gallery_figure(objects: ObjectSet, columns: int = 6) -> Figure:
    """Objects of every class at evenly spaced ranks of range (of the number of points where no range is known)."""
    classes = [index for index in range(len(objects.class_names)) if (objects.label == index).any()]
    figure = Figure(figsize=(2.1 * columns, 1.75 * len(classes) + 0.7), layout="constrained")
    grid = figure.subplots(len(classes), columns, squeeze=False)
    for row, label in enumerate(classes):
        grid[row, 0].set_ylabel(
            in_lines(objects.class_names[label], NAME_WIDTH, NAME_LINES), fontweight="bold", parse_math=False
        )
        chosen = spread_by_range(objects, label, columns)
        for column, axes in enumerate(grid[row]):
            _prepare(axes)
            if column < len(chosen):
                _draw(axes, objects, int(chosen[column]))
    figure.suptitle(
        f"Lidar objects {_order(objects)}, seen from the sensor (turned 25°, raised 20°)\n"
        "colour: intensity, dark is low; bar: 1 m",
        fontsize=11,
    )
    return figure


def _order(objects: ObjectSet) -> str:
    """In words: of every row."""
    known = np.isfinite(objects.range_m)
    if known.all():
        return "from near to far"
    dense = "from densest to sparsest"
    return f"{dense}, then from near to far where the range is known" if known.any() else dense


def spread_by_range(objects: ObjectSet, label: int, count: int) -> np.ndarray:
    """Indices of up to `count` objects of a class, evenly spaced from the nearest (or densest) to the farthest."""
    (members,) = np.nonzero(objects.label == label)
    order = np.where(np.isfinite(objects.range_m[members]), objects.range_m[members], -objects.counts[members])
    ranks = np.unique(np.linspace(0, len(members) - 1, min(count, len(members))).round().astype(int))
    return members[np.argsort(order, kind="stable")][ranks]


def project(points: np.ndarray, bearing: float) -> np.ndarray:
    """Right and up, in metres, as seen by an eye near the sensor that looks along `bearing`: parallel rays."""
    angle = bearing + TURN
    ahead, right = np.array([math.cos(angle), math.sin(angle)]), np.array([math.sin(angle), -math.cos(angle)])
    up = points[:, 2] * math.cos(RAISE) + points[:, :2] @ ahead * math.sin(RAISE)
    return np.stack([points[:, :2] @ right, up], axis=1)


def _prepare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")
    axes.spines[:].set_visible(False)


def _draw(axes: Axes, objects: ObjectSet, index: int) -> None:
    """One object; where its box is not known the sensor is taken to look along x."""
    cx, cy = objects.box[index, :2]
    seen = project(objects.cloud(index), math.atan2(cy, cx) if np.isfinite(cx + cy) else 0.0)
    light = objects.intensity[objects.offsets[index] : objects.offsets[index + 1]].astype(float)
    size = float(np.clip(400 / len(seen), 0.4, 7.0))
    axes.scatter(*seen.T, c=light, s=size, cmap="viridis", vmin=0, vmax=0.7, lw=0)
    left, bottom = seen.min(axis=0)
    axes.plot([left, left + 1], [bottom - 0.12 * np.ptp(seen, axis=0).max()] * 2, color="0.4", lw=1.5)
    distance = f"{objects.range_m[index]:.0f} m, " if np.isfinite(objects.range_m[index]) else ""
    axes.set_title(f"{distance}{plural(len(seen), 'point')}", fontsize=8, color="0.3")
    axes.margins(0.08)
