"""A set of lidar objects: the points of every object, one after the other, and what is known about each.

Every source (simulator, data sets, your own files) becomes this; partition, training and prediction start from it.
"""

import dataclasses

import numpy as np

from airbayes.errors import DataError
from airbayes.text import printable

BOX_FIELDS = ("cx", "cy", "cz", "length", "width", "height", "yaw")


@dataclasses.dataclass(frozen=True)
class ObjectSet:
    """n objects of M points in all. Object i is `points[offsets[i]:offsets[i+1]]`."""

    points: np.ndarray  # f32 [M, 3], metres, relative to the object's centre, z up, not turned by yaw
    intensity: np.ndarray  # f16 [M], 0 to 1
    offsets: np.ndarray  # i64 [n+1]
    label: np.ndarray  # i16 [n], index into class_names
    class_names: tuple[str, ...]
    instance: np.ndarray  # str [n], the physical object within its scene: views of one share it
    scene: np.ndarray  # str [n]
    frame: np.ndarray  # i32 [n]
    range_m: np.ndarray  # f32 [n], distance from the sensor; NaN where unknown
    box: np.ndarray  # f32 [n, 7], BOX_FIELDS in the sensor frame; NaN where unknown
    source: np.ndarray  # str [n], the data set
    source_class: np.ndarray  # str [n], the class as the data set names it

    def __post_init__(self):
        problem = _find_problem(self)
        if problem:
            raise DataError(problem)

    def __len__(self) -> int:
        return len(self.label)

    @property
    def counts(self) -> np.ndarray:
        """Points of every object."""
        return np.diff(self.offsets)

    @property
    def extents(self) -> np.ndarray:
        """How far every object reaches along its longest axis, metres, f64 [n]."""
        if not len(self):
            return np.zeros(0)
        high, low = (of.reduceat(self.points, self.offsets[:-1], axis=0) for of in (np.maximum, np.minimum))
        return (high.astype(np.float64) - low).max(axis=1)

    @property
    def groups(self) -> np.ndarray:
        """One integer per physical object (source, scene and instance): what train and test must not share."""
        names = (self.source, self.scene, self.instance)
        codes = np.stack([np.unique(name, return_inverse=True)[1] for name in names], axis=1)
        return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)

    def cloud(self, index: int) -> np.ndarray:
        """The points [point, 3] of one object."""
        return self.points[self.offsets[index] : self.offsets[index + 1]]

    def select(self, rows: np.ndarray) -> "ObjectSet":
        """The objects at `rows` (indices or a mask), in that order."""
        rows = np.asarray(rows)
        rows = np.arange(len(self))[rows if rows.size else rows.astype(np.int64)]
        counts = self.counts[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        # Row r of the new points comes from the object's first point plus its place within the object.
        taken = np.repeat(self.offsets[rows] - offsets[:-1], counts) + np.arange(offsets[-1])
        per_object = {name: getattr(self, name)[rows] for name in PER_OBJECT}
        return dataclasses.replace(
            self, points=self.points[taken], intensity=self.intensity[taken], offsets=offsets, **per_object
        )

    def with_classes(self, class_names: tuple[str, ...]) -> "ObjectSet":
        """The objects of the named classes only, labelled in that order."""
        unknown = [name for name in class_names if name not in self.class_names]
        if unknown:
            raise DataError(f"No class {unknown[0]!r} in this set; it has {', '.join(self.class_names)}.")
        new_label = np.full(len(self.class_names), -1, np.int16)
        for index, name in enumerate(class_names):
            new_label[self.class_names.index(name)] = index
        kept = self.select(new_label[self.label] >= 0)
        return dataclasses.replace(kept, label=new_label[kept.label], class_names=tuple(class_names))


PER_OBJECT = ("label", "instance", "scene", "frame", "range_m", "box", "source", "source_class")


def from_clouds(
    clouds: list[np.ndarray],
    label: np.ndarray,
    class_names: tuple[str, ...],
    *,
    intensity: list[np.ndarray] | None = None,
    instance=None,
    scene=None,
    frame=None,
    range_m=None,
    box=None,
    source="",
    source_class=None,
) -> ObjectSet:
    """Build a set from one array [point, 3] per object; what is not known is filled with the neutral value."""
    n = len(clouds)
    for row, cloud in enumerate(clouds):
        if np.shape(cloud)[1:] != (3,):
            raise DataError(f"Cloud {row} has shape {np.shape(cloud)}; need [points, 3].")
    counts = [len(cloud) for cloud in clouds]
    joined = np.concatenate(clouds).astype(np.float32) if n else np.zeros((0, 3), np.float32)
    light = np.concatenate(intensity) if intensity else np.zeros(len(joined))
    label = _whole_numbers(np.asarray(label).reshape(-1))
    if len(label) != n:
        raise DataError(f"{len(label)} labels for {n} clouds; need one each.")
    if n and not (label.min(initial=0) >= 0 and label.max(initial=0) < len(class_names)):
        wrong = label[(label < 0) | (label >= len(class_names))][0]
        raise DataError(f"Label {wrong} is outside the {len(class_names)} classes {', '.join(class_names)}.")
    names = np.array([class_names[index] for index in label.tolist()], dtype=str)

    def text(values, default: np.ndarray) -> np.ndarray:
        return default if values is None else np.asarray(values, dtype=str)

    return ObjectSet(
        points=joined,
        intensity=light.astype(np.float16),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        label=np.asarray(label, np.int16),
        class_names=tuple(class_names),
        instance=text(instance, np.arange(n).astype(str)),
        scene=text(scene, np.full(n, "", dtype="<U1")),
        frame=np.zeros(n, np.int32) if frame is None else np.asarray(frame, np.int32),
        range_m=np.full(n, np.nan, np.float32) if range_m is None else np.asarray(range_m, np.float32),
        box=np.full((n, 7), np.nan, np.float32) if box is None else np.asarray(box, np.float32),
        source=np.full(n, source, dtype=f"<U{max(len(source), 1)}"),
        source_class=text(source_class, names),
    )


def _whole_numbers(label: np.ndarray) -> np.ndarray:
    """Labels as int64, none of them changed by it."""
    if label.dtype.kind in "biuf" or not label.size:
        with np.errstate(invalid="ignore"):
            whole = label.astype(np.int64)
        if np.array_equal(whole, label):
            return whole
        label = label[whole != label]
    raise DataError(f"Label {printable(str(label[0]), 40)} is no whole number; need an index into class_names.")


def concatenate(sets: list[ObjectSet]) -> ObjectSet:
    """All objects of several sets with the same classes."""
    if not sets:
        raise DataError("No object set to concatenate.")
    for other in sets[1:]:
        if other.class_names != sets[0].class_names:
            raise DataError(f"The sets have different classes: {sets[0].class_names} and {other.class_names}.")
    per_object = {name: np.concatenate([getattr(each, name) for each in sets]) for name in PER_OBJECT}
    counts = np.concatenate([each.counts for each in sets])
    return ObjectSet(
        points=np.concatenate([each.points for each in sets]),
        intensity=np.concatenate([each.intensity for each in sets]),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        class_names=sets[0].class_names,
        **per_object,
    )


def _find_problem(objects: ObjectSet) -> str | None:
    """The first thing wrong with a set, or None."""
    if objects.label.ndim != 1:
        return f"label has shape {objects.label.shape}; need [number of objects]."
    n = len(objects.label)
    if objects.points.ndim != 2 or objects.points.shape[1:] != (3,):
        return f"points has shape {objects.points.shape}; need [number of points, 3]."
    total = len(objects.points)
    if objects.offsets.shape != (n + 1,):
        return f"offsets has shape {objects.offsets.shape}; need [{n + 1}], one more than the {n} labels."
    if objects.intensity.shape != (total,):
        return f"intensity has shape {objects.intensity.shape}; need one per point, [{total}]."
    if objects.offsets[0] != 0 or objects.offsets[-1] != total or objects.offsets.min() < 0:
        return f"offsets run from {objects.offsets[0]} to {objects.offsets[-1]}; need 0 to {total}, the points."
    if n and (objects.counts <= 0).any():
        return f"Object {int(np.argmax(objects.counts <= 0))} has no points; every object needs at least one."
    if not np.isfinite(objects.points).all():
        row = int(np.argmin(np.isfinite(objects.points).all(axis=1)))
        return f"Point {row} is not finite: {objects.points[row]}; remove NaN and infinite coordinates first."
    if n and not (objects.label.min() >= 0 and objects.label.max() < len(objects.class_names)):
        wrong = objects.label[(objects.label < 0) | (objects.label >= len(objects.class_names))][0]
        return f"Label {wrong} is outside the {len(objects.class_names)} classes {', '.join(objects.class_names)}."
    if len(set(objects.class_names)) != len(objects.class_names) or not objects.class_names:
        return f"Class names must be distinct and at least one; got {objects.class_names}."
    shapes = {name: (n, 7) if name == "box" else (n,) for name in PER_OBJECT}
    for name, shape in shapes.items():
        if getattr(objects, name).shape != shape:
            return f"{name} has shape {getattr(objects, name).shape}; need {shape}, one row per object."
    return None
