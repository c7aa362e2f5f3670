"""A folder per class, `root/<class>/<anything>.{npy,npz,bin,pcd,ply,xyz,csv,txt}`: one object a file.

Views of one physical object may share a folder, `root/<class>/<object>/<view>.pcd`, and then stay together in splits.
Folders named as parts of a data set (train, test) are no such objects, and no classes either.
"""

import os
from collections import Counter
from pathlib import Path

from airbayes.data.formats.common import Collector, at, files, folders
from airbayes.data.formats.point_files import SUFFIXES, read_cloud
from airbayes.errors import DataError
from airbayes.text import printable

SOURCE = "class_folder"
CLASSES: dict[str, str] = {}  # every folder is a class
VOCABULARY: tuple[str, ...] = ()
PARTS = ("train", "training", "test", "testing", "val", "valid", "validation")
MOST_WALKED = 1000  # folders that are looked through to say what is wrong


def looks_like(path: Path) -> bool:
    return any(files(each, *SUFFIXES) for folder in folders(path) for each in [folder, *folders(folder)[:10]])


def why_empty(folder: Path) -> str | None:
    """What a folder holds instead of point files in it or in its folders; None where it has some."""
    if any(files(each, *SUFFIXES) for each in [folder, *folders(folder)]):
        return None
    found: Counter[str] = Counter()
    for number, (here, inner, names) in enumerate(os.walk(folder)):
        inner.sort()
        seen = sorted(name for name in names if not name.startswith("."))
        deep = next((name for name in seen if name.lower().endswith(SUFFIXES)), None)
        if deep is not None:
            text = f"point files lie too deep, as {at(Path(here) / deep)}. Move them to {folder.name}/FILE or "
            return f"{text}{folder.name}/OBJECT/FILE."
        found.update(Path(name).suffix.lower() or "files without an ending" for name in seen)
        found.update({"hidden files": len(names) - len(seen)} if len(names) > len(seen) else {})
        if number == MOST_WALKED:
            break
    held = "it holds " + ", ".join(printable(name, 30) for name, _ in found.most_common(5)) if found else "it is empty"
    return f"no point files: {held}. Known are {', '.join(SUFFIXES)}."


def class_names(path: Path) -> dict[str, str]:
    found = {folder.name: folder.name for folder in folders(path)}
    if not found:
        raise DataError(f"{at(path)}: no folders in it; need one for each class, for example {at(path / 'car')}.")
    parts = [name for name in found if name.lower() in PARTS]
    if len(parts) >= min(len(found), 2):  # one such name among others can be a class: a train
        first = min(parts, key=lambda name: PARTS.index(name.lower()))
        raise DataError(
            f"{at(path)}: {', '.join(parts)}: parts of a data set, not classes. Put the files of all into one folder "
            f"for each class (airbayes makes its own splits), or give one part that has such folders, "
            f"{at(path / first)}."
        )
    return found


def read(path: Path, collector: Collector) -> None:
    for folder in folders(path):
        single = [(file, file.name) for file in files(folder)]
        views = [
            (file, f"{inner.name}/{file.name}" if inner.name.lower() in PARTS else inner.name)
            for inner in folders(folder)
            for file in files(inner)
        ]
        with collector.guard("class folders without point files"):
            if folder.name in collector.options.classes and (why := why_empty(folder)):
                collector.seen.add(folder.name)
                raise DataError(f"{at(folder)}: {why}")
        for file, instance in single + views:
            if not file.name.lower().endswith(SUFFIXES):
                collector.skipped["not a point file"] += 1
                continue
            with collector.guard("unreadable files"):
                if not collector.wants(folder.name, at(file)):
                    continue
                collector.files += 1
                cloud, light = read_cloud(file, collector)
                # Where the sensor stood is not known, so neither is the range.
                collector.add(cloud, light, folder.name, instance=f"{folder.name}/{instance}", where=at(file))
