"""KITTI tracking: `velodyne/%04d/%06d.bin`, `calib/%04d.txt`, `label_02/%04d.txt` (frame, track, the 15 columns)."""

from pathlib import Path

from airbayes.data.formats.common import Collector, at, parse_count, read_lines
from airbayes.data.formats.kitti_boxes import (
    CLASSES,
    MAX_TEXT_BYTES,
    VOCABULARY,
    Label,
    add_box,
    label_files,
    label_root,
    parse_label,
    read_calibration,
    read_kitti_sweep,
)
from airbayes.errors import DataError

SOURCE, LABELS = "kitti_tracking", "label_02"
__all__ = ["CLASSES", "SOURCE", "VOCABULARY", "looks_like", "read"]


def looks_like(path: Path) -> bool:
    return label_root(path, LABELS) is not None


def read(path: Path, collector: Collector) -> None:
    root = label_root(path, LABELS) or path
    for file in label_files(root / LABELS):
        with collector.guard("unreadable sequences"):
            _read_sequence(root, file, collector)


def _read_sequence(root: Path, label_file: Path, collector: Collector) -> None:
    name = label_file.stem
    collector.files += 1
    frames: dict[int, list[tuple[int, int, Label]]] = {}
    for number, line in enumerate(read_lines(label_file, MAX_TEXT_BYTES), start=1):
        where, words = at(label_file, line=number), line.split()
        if not words:
            continue
        with collector.guard("bad labels"):
            if len(words) < 3:
                raise DataError(f"{where}: {len(words)} columns; a tracking label has 17.")
            frame, track = parse_count(words[0], where), parse_count(words[1], where)
            if collector.wants(words[2], where):
                frames.setdefault(frame, []).append((number, track, parse_label(words[2:], where)))
    if not frames:
        return
    calibration = read_calibration(root / "calib" / f"{name}.txt")
    for frame, labels in sorted(frames.items()):
        with collector.guard("unreadable frames"):
            sweep = read_kitti_sweep(root / "velodyne" / name / f"{frame:06d}.bin", collector)
            for number, track, label in labels:
                where = at(label_file, line=number)
                with collector.guard("bad labels"):
                    add_box(collector, sweep, label, calibration, where, instance=str(track), scene=name, frame=frame)
