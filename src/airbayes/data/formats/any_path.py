"""Whatever lies at a path as objects: a data set of a known format, or one file that holds one object."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from airbayes.data.formats import load
from airbayes.data.formats.common import Collector, LoadOptions, LoadReport, at
from airbayes.data.formats.point_files import read_cloud
from airbayes.data.objects import ObjectSet
from airbayes.errors import DataError

SINGLE = "single_cloud"  # the report's format of a file with one object, whose class is not known


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
    if format != "auto" or path.is_dir() or _is_object_set(path):
        return load(path, format, classes=classes, min_points=min_points, skip_bad=skip_bad, max_objects=max_objects)
    collector = Collector(LoadOptions({"": ""}, min_points, skip_bad))
    with np.errstate(all="ignore"), collector.guard("unreadable files"):
        cloud, light = read_cloud(path, collector)
        collector.add(cloud, light, "", instance="", where=at(path))
    objects = collector.to_objects(SINGLE)
    report = LoadReport(SINGLE, 1, len(objects), dict(collector.skipped), {}, (0, 0), tuple(collector.messages))
    return objects, report


def _is_object_set(path: Path) -> bool:
    """An .npz may hold a set or one cloud; only a set has offsets."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "offsets.npy" in archive.namelist()
    except Exception:  # a damaged archive, which the reader of clouds describes
        return False
