"""What is taken for what."""

import math

import numpy as np

from airbayes.report.html.numbers import decibels, shorts
from airbayes.report.html.parts import Control, Figure, Panel, Section
from airbayes.report.html.runs import Run, is_radio, show_topology
from airbayes.report.style import label

MAX_CLASSES = 40
MAX_CELLS = 400  # matrices on one page


def confusion_section(run: Run) -> Section | None:
    if "confusion" not in run.dataset or run.dataset.sizes["label"] > MAX_CLASSES:
        return None
    snrs, topologies = run.snrs or [math.inf], run.topologies or ["none"]
    if len(run.variants) * len(topologies) * len(snrs) > MAX_CELLS:
        snrs = snrs[-1:]
    frames: dict[str, list[Panel]] = {}
    for i, topology in enumerate(topologies):
        for j, snr in enumerate(snrs):
            found = [_panel(run, variant, topology, snr) for variant in run.variants]
            frames[f"{i}|{j}"] = [panel for panel in found if panel is not None]
    if not any(frames.values()):
        return None
    controls = (
        Control("Graph", tuple(map(show_topology, topologies))),
        Control("SNR", tuple(map(decibels, snrs)), len(snrs) - 1, slider=True),
    )
    return Section(
        "confusion",
        "What is taken for what",
        "Each row is one true class and shows, in percent, what its objects were called; a perfect model has 100 "
        "on the diagonal and nothing beside it. Two classes that trade places often look alike to the lidar.",
        (Figure("Confusion matrices, one per method", frames, 3, controls),),
        notes=("Mean over agents and seeds.",),
    )


def _panel(run: Run, variant: str, topology: str, snr: float) -> Panel | None:
    cells = run.cells(variant, topology, snr)
    if cells is None:
        return None
    counts = cells.ok("confusion")
    at = decibels(snr) if is_radio(variant) else "ideal links"
    base: Panel = {"type": "heat", "title": label(variant), "method": variant, "under": at}
    if not np.isfinite(counts).any():
        return base | {"lost": "Every seed diverged here."}
    total = np.nansum(counts, axis=tuple(range(counts.ndim - 2)))
    share = 100 * total / np.maximum(total.sum(axis=1, keepdims=True), 1e-9)
    return base | {"names": run.class_names, "share": [shorts(row, 3) for row in share]}
