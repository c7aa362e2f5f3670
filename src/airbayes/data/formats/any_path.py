"""Whatever lies at a path as objects: a data set of a known format, or one file that holds one object."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from airbayes.data.formats import load
from airbayes.data.formats.common import Collector, LoadOptions, LoadReport, at
from airbayes.data.formats.point_files import read_cloud
from airbayes.data.object_file import load_objects
from airbayes.data.objects import ObjectSet
from airbayes.errors import DataError

SINGLE = "single_cloud"  # the report's format of a file with one object, whose class is not known
UNLABELLED = "unlabelled_set"  # that of an object set without labels


def load_any(
    path: Path,
    format: str = "auto",
    *,
    classes: Mapping[str, str] | None = None,
    min_points: int = 1,
    skip_bad: bool = False,
    max_objects: int | None = None,
) -> tuple[ObjectSet, LoadReport]:
    """The objects at `path`; a single cloud comes as a set of one, or of none where the options leave it out."""
    if not path.exists():
        raise DataError(f"{at(path)}: no such file or folder.")
    if format in ("auto", "object_set") and "offsets" in (names := _arrays(path)) and "label" not in names:
        return _unlabelled(path, LoadOptions(dict(classes or {}), min_points, skip_bad, max_objects))
    if format != "auto" or path.is_dir() or "offsets" in _arrays(path):  # only a set has offsets, no single cloud
        return load(path, format, classes=classes, min_points=min_points, skip_bad=skip_bad, max_objects=max_objects)
    collector = Collector(LoadOptions({"": ""}, min_points, skip_bad))
    with np.errstate(all="ignore"), collector.guard("unreadable files"):
        cloud, light = read_cloud(path, collector)
        collector.add(cloud, light, "", instance="", where=at(path))
    objects = collector.to_objects(SINGLE)
    report = LoadReport(SINGLE, 1, len(objects), dict(collector.skipped), {}, (0, 0), tuple(collector.messages))
    return objects, report


def _unlabelled(path: Path, options: LoadOptions) -> tuple[ObjectSet, LoadReport]:
    """A set whose classes are not known: all its objects."""
    if options.classes:
        raise DataError(f"{at(path)}: no array 'label', so --classes has nothing to choose from; leave it out.")
    objects = load_objects(path, labelled=False)
    enough = objects.counts >= options.min_points
    few = int(np.count_nonzero(~enough))
    kept = objects.select(np.flatnonzero(enough)[: options.max_objects])
    skipped = {f"fewer than {options.min_points} points": few} if few else {}
    return kept, LoadReport(UNLABELLED, 1, len(kept), skipped, {}, (0, 0), ())


def _arrays(path: Path) -> list[str]:
    """The names of the arrays in an .npz; none of another file."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return []
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except Exception:  # a damaged archive, which the reader of clouds describes
        return []
