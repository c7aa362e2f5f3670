"""Sydney Urban Objects: `objects/[class].[instance].[scan].{bin,csv}`, one object a file, and `folds/fold{0..3}.txt`.

The published fold of an object becomes its scene: folds are object-disjoint, so splits by scene are the published ones.
The files have z down (x forward, y right); a half turn about x makes z point up and mirrors nothing.
"""

from pathlib import Path

import numpy as np

from airbayes.data.formats.classes import invert
from airbayes.data.formats.common import (
    Collector,
    at,
    files,
    finite_rows,
    parse_count,
    read_bytes,
    read_lines,
    read_records,
)
from airbayes.data.formats.text_table import read_columns
from airbayes.errors import DataError
from airbayes.text import printable

SOURCE = "sydney"
RECORD = np.dtype(
    [
        ("t", "<i8"),
        ("intensity", "u1"),
        ("id", "u1"),
        ("xyz", "<f4", (3,)),
        ("azimuth", "<f4"),
        ("range", "<f4"),
        ("pid", "<i4"),
    ]
)
CLASSES = invert(
    {
        "car": ["car", "4wd", "ute", "van"],
        "large_vehicle": ["truck", "bus", "excavator"],
        "pedestrian": ["pedestrian"],
        "two_wheeler": ["bicycle", "biker", "cyclist", "scooter"],
        "sign": ["traffic_sign"],
    }
)
OTHERS = "bench building pillar pole post ticket_machine traffic_lights trailer trash tree trunk umbrella vegetation"
VOCABULARY = (*CLASSES, *OTHERS.split())
UP = np.array([1.0, -1.0, -1.0])


def looks_like(path: Path) -> bool:
    return (path / "objects").is_dir() and any(name.name.count(".") == 3 for name in files(path / "objects")[:100])


def read(path: Path, collector: Collector) -> None:
    folds = _read_folds(path, collector)
    found = {file.stem: file for suffix in (".csv", ".bin") for file in files(path / "objects", suffix)}
    if not found:
        raise DataError(f"{at(path / 'objects')}: no .bin or .csv files.")
    for stem, file in sorted(found.items()):
        with collector.guard("unreadable files"):
            _read_object(file, folds.get(stem, ""), collector)


def _read_object(file: Path, fold: str, collector: Collector) -> None:
    parts = file.stem.rsplit(".", 2)
    if len(parts) != 3:
        raise DataError(f"{at(file)}: the name must be class.instance.scan, then .bin or .csv.")
    kind, instance, scan = parts
    if not collector.wants(kind, at(file)):
        return
    frame = parse_count(scan, f"{at(file)}: scan")
    collector.files += 1
    if file.suffix.lower() == ".bin":
        records = read_records(file, RECORD)
        xyz, light, ranges = records["xyz"].astype(np.float64), records["intensity"], records["range"]
    else:
        table = read_columns(read_bytes(file).decode("latin-1"), [3, 4, 5, 1, 7], file, delimiter=",")
        xyz, light, ranges = table[:, :3], table[:, 3], table[:, 4]
    good = finite_rows(xyz, at(file), collector)
    far = ranges[good & np.isfinite(ranges) & (ranges > 0) & (ranges < 1e4)]
    collector.add(
        xyz[good] * UP,
        np.asarray(light[good], np.float64) / 255,
        kind,
        instance=f"{kind}.{instance}",
        scene=fold,
        frame=frame,
        range_m=float(np.median(far)) if len(far) else float("nan"),
        where=at(file),
    )


def _read_folds(path: Path, collector: Collector) -> dict[str, str]:
    """The fold of every object, by the file's name without its ending."""
    folds: dict[str, str] = {}
    for file in files(path / "folds", ".txt") if (path / "folds").is_dir() else []:
        with collector.guard("unreadable fold files"):
            for number, line in enumerate(read_lines(file, 1 << 20), start=1):
                name = line.strip()
                if name.count(".") < 3 and name:
                    raise DataError(f"{at(file, line=number)}: {printable(name)!r} is no class.instance.scan.bin.")
                if name:
                    folds[name.rsplit(".", 1)[0]] = file.stem
    return folds
