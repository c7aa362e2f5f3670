"""Which format a path is in, by the names in it."""

from pathlib import Path
from types import ModuleType

from airbayes.data.formats import (
    argoverse2,
    class_folder,
    kitti_object,
    kitti_tracking,
    nuscenes,
    object_set,
    semantic_kitti,
    sydney,
)
from airbayes.data.formats.common import at, files, folders
from airbayes.data.formats.point_files import SUFFIXES
from airbayes.errors import DataError
from airbayes.text import printable

# In this order: the most particular first; a folder per class could be almost anything.
FORMATS: dict[str, ModuleType] = {
    "object_set": object_set,
    "nuscenes": nuscenes,
    "semantic_kitti": semantic_kitti,
    "kitti_tracking": kitti_tracking,
    "kitti_object": kitti_object,
    "argoverse2": argoverse2,
    "sydney": sydney,
    "class_folder": class_folder,
}
CLOUDS = (".npy", ".bin", ".pcd", ".ply", ".xyz")  # which hold points and nothing else
PANDASET = (
    "PandaSet stores gzipped Python pickles, and unpickling a file can run any code in it, so there is no loader. "
    "Convert it with PandaSet's own kit, in an environment you trust, to a folder per class or an object set."
)


def detect_format(path: Path) -> str:
    """The name of the format."""
    if not path.exists():
        raise DataError(f"{at(path)}: no such file or folder.")
    if path.is_dir():
        if _is_pandaset(path):
            raise DataError(f"{at(path)}: {PANDASET}")
        for name, module in FORMATS.items():
            if module.looks_like(path):
                return name
        if not folders(path) and not files(path):
            raise DataError(f"{at(path)}: the folder is empty. What it may hold: docs/data.md.")
        if loose := files(path, *CLOUDS) or ([] if folders(path) else files(path, ".csv")):
            raise DataError(
                f"{at(path)}: clouds without a class. Give each class a folder in it, for example "
                f"{at(path / 'car' / loose[0].name)}. `airbayes predict RUN {at(path)}/*` takes them as they are."
            )
        for folder in folders(path)[:1]:  # a folder per class, or nothing that is known here
            if why := class_folder.why_empty(folder):
                raise DataError(f"{at(path)}: {_UNKNOWN} As a folder for each class: {at(folder)}: {why}")
    elif object_set.looks_like(path):
        return "object_set"
    elif not path.name.lower().endswith(SUFFIXES):
        raise DataError(
            f"{at(path)}: unknown kind of file. A data set is a folder, or an object set (.npz); files with one object "
            f"may be {', '.join(SUFFIXES)}."
        )
    else:
        raise DataError(
            f"{at(path)}: a single cloud. A data set is a folder with a folder for each class in it, for example "
            f"mine/car/{printable(path.name)}; `airbayes predict RUN FILE` also takes single clouds."
        )
    raise DataError(f"{at(path)}: {_UNKNOWN}")


_UNKNOWN = f"in no known layout. If it is one of {', '.join(FORMATS)}, say so with --format."


def _is_pandaset(path: Path) -> bool:
    inside = [path, *folders(path)[:20]]
    return any((each / "annotations" / "cuboids").is_dir() and (each / "lidar").is_dir() for each in inside)
