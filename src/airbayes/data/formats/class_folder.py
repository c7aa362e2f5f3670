"""A folder per class, `root/<class>/<anything>.{npy,npz,bin,pcd,ply,xyz,csv,txt}`: one object a file.

Views of one physical object may share a folder, `root/<class>/<object>/<view>.pcd`, and then stay together in splits.
"""

from pathlib import Path

from airbayes.data.formats.common import Collector, at, files, folders
from airbayes.data.formats.point_files import SUFFIXES, read_cloud

SOURCE = "class_folder"
CLASSES: dict[str, str] = {}  # every folder is a class
VOCABULARY: tuple[str, ...] = ()


def looks_like(path: Path) -> bool:
    return any(files(each, *SUFFIXES) for folder in folders(path) for each in [folder, *folders(folder)[:10]])


def class_names(path: Path) -> dict[str, str]:
    return {folder.name: folder.name for folder in folders(path)}


def read(path: Path, collector: Collector) -> None:
    for folder in folders(path):
        single = [(file, file.name) for file in files(folder)]
        views = [(file, inner.name) for inner in folders(folder) for file in files(inner)]
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
