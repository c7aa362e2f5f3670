"""Does a set look like lidar? Scan lines, one visible side, and fewer points the farther away."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airbayes.data import ObjectSet
from airbayes.errors import DataError

PALETTE = ("#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#000000")  # Okabe and Ito
BINS = 8  # of range, with equally many objects each


def scan_figure(objects: ObjectSet, label: int = 0) -> Figure:
    """A well-covered object of class `label` as the sensor sees it and from above; points against range for all."""
    if not np.isfinite(objects.box).all() or not np.isfinite(objects.range_m).all():
        raise DataError("The scan figure needs the box and the range of every object; this set lacks some.")
    if not (objects.label == label).any():
        raise DataError(f"No object of class {objects.class_names[label]!r} in this set to show.")
    figure = Figure(figsize=(12.0, 3.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.25, 1.0, 1.1))
    index = _example(objects, label)
    _scan_lines(left, objects, index)
    _from_above(middle, objects, index)
    _sparsity(right, objects)
    return figure


def _example(objects: ObjectSet, label: int) -> int:
    """The object of the class with the most points among those about 12 m away."""
    (members,) = np.nonzero(objects.label == label)
    distance = np.abs(objects.range_m[members] - 12.0)
    near = members[distance <= max(2.0, float(distance.min()))]
    return int(near[objects.counts[near].argmax()])


def _scan_lines(axes: Axes, objects: ObjectSet, index: int) -> None:
    points = objects.cloud(index) + objects.box[index, :3]
    bearing = math.atan2(objects.box[index, 1], objects.box[index, 0])
    turned = np.angle(np.exp(1j * (np.arctan2(points[:, 1], points[:, 0]) - bearing)))
    elevation = np.arctan2(points[:, 2], np.linalg.norm(points[:, :2], axis=1))
    distance = np.linalg.norm(points, axis=1)
    drawn = axes.scatter(-np.degrees(turned), np.degrees(elevation), c=distance, s=2, lw=0, cmap="viridis_r")
    axes.figure.colorbar(drawn, ax=axes, label="range (m)", shrink=0.8)
    axes.set_xlabel("azimuth (degrees)")
    axes.set_ylabel("elevation (degrees)")
    name = objects.class_names[objects.label[index]]
    axes.set_title(f"scan lines: a {name} as the sensor sees it", fontsize=10, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)


def _from_above(axes: Axes, objects: ObjectSet, index: int) -> None:
    points = objects.cloud(index)
    cx, cy, _, length, width, _, yaw = objects.box[index]
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]]) * [length / 2, width / 2]
    c, s = math.cos(yaw), math.sin(yaw)
    axes.plot(*(np.array([[c, -s], [s, c]]) @ corners.T), color="0.6", lw=1, label="annotated box")
    axes.scatter(points[:, 0], points[:, 1], s=1.5, lw=0, color=PALETTE[0])
    towards = -np.array([cx, cy]) / math.hypot(cx, cy)
    tail, tip = towards * 0.9 * length, towards * 0.65 * length
    axes.annotate("sensor", tip, tail, arrowprops={"arrowstyle": "<-", "color": "0.4"}, color="0.3", ha="center")
    axes.scatter(*tail, s=0)  # so that the arrow lies within the limits
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.legend(frameon=False, fontsize=8)
    axes.set_title("the same from above: the far side is empty", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _sparsity(axes: Axes, objects: ObjectSet) -> None:
    for label, name in enumerate(objects.class_names):
        mine = objects.label == label
        if mine.sum() < BINS:
            continue
        colour = PALETTE[label % len(PALETTE)]
        axes.scatter(objects.range_m[mine], objects.counts[mine], s=3, lw=0, alpha=0.35, color=colour)
        edges = np.quantile(objects.range_m[mine], np.linspace(0, 1, BINS + 1))
        bins = np.clip(np.searchsorted(edges, objects.range_m[mine], side="right") - 1, 0, BINS - 1)
        filled = np.unique(bins)
        middle = [np.median(objects.range_m[mine][bins == b]) for b in filled]
        medians = [np.median(objects.counts[mine][bins == b]) for b in filled]
        axes.plot(middle, medians, color=colour, lw=2, label=name.replace("$", r"\$"))
    guide = np.array([6.0, 50.0])
    axes.plot(guide, 150 * (guide / 50.0) ** -2.0, color="0.3", ls="--", lw=1, label="∝ 1/range²")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([5, 10, 20, 50], ["5", "10", "20", "50"])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("range (m)")
    axes.set_ylabel("points")
    axes.set_title("far objects are sparse (lines: medians)", fontsize=10)
    axes.legend(frameon=False, fontsize=7, ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
