"""Loaders of point-cloud data sets: every one becomes an ObjectSet and a report of what was left out."""

import dataclasses
import difflib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from airbayes.data.formats import class_folder, object_set
from airbayes.data.formats.classes import check_known, parse_classes
from airbayes.data.formats.common import Collector, EnoughObjects, LoadOptions, LoadReport, at
from airbayes.data.formats.detect import FORMATS, detect_format
from airbayes.data.objects import ObjectSet
from airbayes.errors import DataError
from airbayes.text import printable

__all__ = ["FORMATS", "LoadOptions", "LoadReport", "detect_format", "load", "parse_classes"]


def load(
    path: Path,
    format: str = "auto",
    *,
    classes: Mapping[str, str] | None = None,
    min_points: int = 10,
    skip_bad: bool = False,
    max_objects: int | None = None,
    max_points: int = LoadOptions.max_points,
) -> tuple[ObjectSet, LoadReport]:
    """Read a data set. `classes` maps its class names to yours; left out, each format has a sensible choice.

    Malformed data raise DataError with file and place, or are counted in the report with `skip_bad`.
    """
    path = Path(path)
    name = detect_format(path) if format == "auto" else _known_format(format)
    if max_objects is not None and max_objects < 1:
        raise DataError(f"max_objects = {max_objects}; need at least 1.")
    if not path.exists():
        raise DataError(f"{at(path)}: no such file or folder.")
    options = LoadOptions(dict(classes or {}), min_points, skip_bad, max_objects, max_points)
    with np.errstate(all="ignore"):  # odd numbers are found by checks that name the place, not by warnings
        objects, report = object_set.read_set(path, options) if name == "object_set" else _collect(path, name, options)
    if not len(objects):
        hint = "" if classes or name == "object_set" else _own_names(report, FORMATS[name].VOCABULARY)
        raise DataError(f"{at(path)}: no objects. {_reasons(report)}{hint}")
    return objects, report


def _collect(path: Path, name: str, options: LoadOptions) -> tuple[ObjectSet, LoadReport]:
    if not path.is_dir():
        raise DataError(f"{at(path)}: {name} data are a folder.")
    module = FORMATS[name]
    own = class_folder.class_names(path) if name == "class_folder" else module.CLASSES
    mapping = options.classes or own
    collector = Collector(dataclasses.replace(options, classes=mapping))
    try:
        module.read(path, collector)
    except EnoughObjects:
        pass
    else:
        check_known(mapping, {*module.VOCABULARY, *collector.seen}, name)
    objects = collector.to_objects(module.SOURCE)
    right, checked = collector.annotated
    report = LoadReport(
        name,
        collector.files,
        len(objects),
        dict(collector.skipped),
        dict(collector.left_out.most_common()),
        (right, checked),
        tuple(collector.messages),
    )
    return objects, report


def _known_format(name: str) -> str:
    if name not in FORMATS:
        near = difflib.get_close_matches(name, FORMATS, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Known: auto, {', '.join(FORMATS)}."
        raise DataError(f"Unknown format {printable(name)!r}. {hint}")
    return name


def _reasons(report: LoadReport) -> str:
    """Why nothing is left, in one line."""
    parts = [f"{count:,} {reason}" for reason, count in report.skipped.items()]
    parts += [f"{count:,} of class {printable(name)}" for name, count in list(report.left_out.items())[:10]]
    first = f" First error: {report.messages[0]}" if report.messages else ""
    return (f"Left out: {'; '.join(parts)}." if parts else "Is it the right folder?") + first


def _own_names(report: LoadReport, vocabulary: tuple[str, ...]) -> str:
    """How to take classes that the format does not know."""
    own = [printable(name, 40) for name in report.left_out if name not in vocabulary]
    return f" Names of your own are taken with --classes, for example --classes car='{own[0]}'." if own else ""
