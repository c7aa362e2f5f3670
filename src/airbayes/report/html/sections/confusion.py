"""What is taken for what."""

import functools

import numpy as np

from airbayes.report.html.by_method import method_panel, one_per_method
from airbayes.report.html.numbers import shorts
from airbayes.report.html.parts import Panel, Section
from airbayes.report.html.runs import Run

MAX_CLASSES = 40
MAX_CELLS = 400  # matrices on one page


def confusion_section(run: Run) -> Section | None:
    if "confusion" not in run.dataset or run.dataset.sizes["label"] > MAX_CLASSES:
        return None
    many = len(run.variants) * max(len(run.topologies), 1) * len(run.snrs) > MAX_CELLS
    title = "Confusion matrices, one per method"
    figure = one_per_method(run, functools.partial(_panel, run), title, run.snrs[-1:] if many else None)
    if figure is None:
        return None
    clouds = run.config.problem.kind == "pointnet"
    return Section(
        "confusion",
        "What is taken for what",
        "Each row is one true class and shows, in percent, what its objects were called; a perfect model has 100 "
        "on the diagonal and nothing beside it."
        + (" Two classes that trade places often look alike to the lidar." if clouds else ""),
        (figure,),
        notes=(
            "Mean over agents and seeds."
            + (" Only at the highest SNR: the page would grow too large." if many else ""),
        ),
    )


def _panel(run: Run, variant: str, topology: str, snr: float) -> Panel | None:
    cells = run.cells(variant, topology, snr)
    if cells is None:
        return None
    counts = cells.ok("confusion")
    base = method_panel("heat", variant, snr)
    if not np.isfinite(counts).any():
        return base | {"lost": "Every seed diverged here."}
    total = np.nansum(counts, axis=tuple(range(counts.ndim - 2)))
    share = 100 * total / np.maximum(total.sum(axis=1, keepdims=True), 1e-9)
    return base | {"names": run.class_names, "share": [shorts(row, 3) for row in share]}
