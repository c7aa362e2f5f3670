"""Reliability diagrams: how often a model is right, against how sure it says it is."""

import functools
import math

import numpy as np

from airbayes.report.html.by_method import method_panel, one_per_method
from airbayes.report.html.numbers import short, shorts
from airbayes.report.html.parts import Panel, Section
from airbayes.report.html.runs import Run
from airbayes.report.style import is_radio


def reliability_section(run: Run) -> Section | None:
    if "bin_count" not in run.dataset:
        return None
    figure = one_per_method(run, functools.partial(_panel, run), "Reliability diagrams, one per method")
    if figure is None:
        return None
    return Section(
        "reliability",
        "Reliability diagrams",
        "Answers are sorted by how sure the model says it is; each bar shows how many of them are right, and on "
        "the dashed diagonal it is exactly as often right as it claims. Bars below the diagonal are "
        "over-confident, bars above it too modest; the strip below shows how many answers stand behind each bar.",
        (figure,),
        notes=(
            "All agents and seeds together; accuracy and ECE are means over them. One that is too sure and one that is "
            "too modest cancel in the bars, and not in the ECE."
            + (
                " Methods with ideal links do not change with the SNR."
                if len(run.snrs) > 1 and not all(map(is_radio, run.variants))
                else ""
            ),
        ),
    )


def _panel(run: Run, variant: str, topology: str, snr: float) -> Panel | None:
    cells = run.cells(variant, topology, snr)
    if cells is None:
        return None
    count = cells.ok("bin_count")
    base = method_panel("reliability", variant, snr)
    if not np.isfinite(count).any():
        return base | {"lost": "Every seed diverged here."}
    bins = count.shape[-1]
    axes = tuple(range(count.ndim - 1))
    total = np.nansum(count, axis=axes)

    def pooled(name: str) -> np.ndarray:
        share = np.nansum(np.nan_to_num(count) * np.nan_to_num(cells.ok(name)), axis=axes)
        return np.where(total > 0, share / np.where(total > 0, total, 1), math.nan)

    ece, accuracy = cells.mean("ece"), cells.mean("accuracy")
    gap = float(np.nansum(total * (pooled("bin_confidence") - pooled("bin_accuracy"))) / total.sum())
    tends = "too sure" if gap > 0.02 else "too modest" if gap < -0.02 else "about right"
    guessing, seeds = int(run.collapsed(cells)), int(cells.scored)
    if guessing:
        tends = "near guessing" if guessing == seeds else f"{guessing} of {seeds} seeds guess"
    return base | {
        "bins": bins,
        "count": shorts(total / total.sum(), 3),
        "right": shorts(pooled("bin_accuracy"), 3),
        "sure": shorts(pooled("bin_confidence"), 3),
        "facts": f"accuracy {accuracy:.3f}, ECE {ece:.3f}: {tends}",
        "gap": short(gap, 3),
    }
