"""What `airbayes data` prints about a set of objects."""

from collections import Counter
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airbayes.data.formats import LoadReport
from airbayes.data.metres import too_large
from airbayes.data.objects import ObjectSet
from airbayes.text import plural, printable


def print_objects(path: Path, objects: ObjectSet, console: Console) -> None:
    """Objects, instances, points and ranges of every class."""
    instances, scenes = len(set(objects.groups.tolist())), len(set(objects.scene.tolist()))
    totals = f"{plural(len(objects), 'object')}, {plural(instances, 'instance')}, {plural(scenes, 'scene')}"
    console.print(Text(printable(str(path), 400), "bold"), end="")
    console.print(f": {totals}, {plural(len(objects.points), 'point')}")
    table = Table("class", caption="points and range: median (5 % to 95 %)", caption_justify="left")
    for name in ("objects", "instances", "points per object", "range, m"):
        table.add_column(name, justify="right")
    table.add_column("source classes")
    for label, name in enumerate(objects.class_names):
        mine = objects.label == label
        table.add_row(
            printable(name),
            f"{np.count_nonzero(mine):,}",
            f"{len(set(objects.groups[mine].tolist())):,}",
            _spread(objects.counts[mine], 0),
            _spread(objects.range_m[mine], 1),
            _listed(Counter(objects.source_class[mine].tolist())),
        )
    console.print(table)
    for remark in too_large(objects):
        console.print(remark, markup=False)


def print_report(report: LoadReport, console: Console) -> None:
    """What the loader left out, and whether the boxes hold as many points as annotated."""
    console.print(f"Format {report.format}, {plural(report.files, 'file')} read.")
    right, checked = report.annotated
    if checked:
        console.print(f"Points in the box equal the annotated count for {right:,} of {plural(checked, 'object')}.")
    for reason, count in report.skipped.items():
        console.print(f"Left out: {count:,} × {reason}.")
    for message in report.messages:
        console.print(f"  {printable(message, 500)}", markup=False)
    if report.left_out:
        console.print(f"Source classes not asked for: {_listed(Counter(report.left_out), 30)}.", markup=False)


def _spread(values: np.ndarray, digits: int) -> str:
    known = values[np.isfinite(values)]
    if not len(known):
        return "–"
    low, middle, high = np.percentile(known, [5, 50, 95])
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _listed(counts: Counter, limit: int = 5) -> str:
    shown = [f"{printable(name)} {count:,}" for name, count in counts.most_common(limit)]
    return ", ".join(shown) + (f" and {len(counts) - limit} more" if len(counts) > limit else "")
