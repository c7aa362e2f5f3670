"""KITTI object: `training/{velodyne,label_2,calib}/%06d.*`, one frame a file, no identities across frames."""

from pathlib import Path

from airbayes.data.formats.common import Collector, at, parse_count, read_lines
from airbayes.data.formats.kitti_boxes import (
    CLASSES,
    MAX_TEXT_BYTES,
    VOCABULARY,
    add_box,
    label_files,
    label_root,
    parse_label,
    read_calibration,
    read_kitti_sweep,
)

SOURCE, LABELS = "kitti_object", "label_2"
__all__ = ["CLASSES", "SOURCE", "VOCABULARY", "looks_like", "read"]


def looks_like(path: Path) -> bool:
    return label_root(path, LABELS) is not None


def read(path: Path, collector: Collector) -> None:
    root = label_root(path, LABELS) or path
    for file in label_files(root / LABELS):
        with collector.guard("unreadable frames"):
            _read_frame(root, file, collector)


def _read_frame(root: Path, label_file: Path, collector: Collector) -> None:
    name = label_file.stem
    frame = parse_count(name, f"{at(label_file)}: its name")
    collector.files += 1
    labels = []
    for number, line in enumerate(read_lines(label_file, MAX_TEXT_BYTES), start=1):
        where, words = at(label_file, line=number), line.split()
        if not words:
            continue
        with collector.guard("bad labels"):
            if collector.wants(words[0], where):
                labels.append((number, parse_label(words, where)))
    if not labels:
        return
    calibration = read_calibration(root / "calib" / f"{name}.txt")
    sweep = read_kitti_sweep(root / "velodyne" / f"{name}.bin", collector)
    for number, label in labels:
        where = at(label_file, line=number)
        with collector.guard("bad labels"):
            # The same car in two frames has no common name here: each view counts as an object of its own.
            add_box(collector, sweep, label, calibration, where, instance=f"{name}-{number}", scene=name, frame=frame)
