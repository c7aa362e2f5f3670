"""Accuracy and calibration against the rate of a fault."""

import math

import numpy as np

from airbayes.experiment.config import UNCONNECTED_METHODS
from airbayes.report.faults_figure import NAMES, feels, scenario_columns
from airbayes.report.html.cells import mean
from airbayes.report.html.curves import legend
from airbayes.report.html.numbers import decibels, interval, interval_words, shorts, value_range
from airbayes.report.html.parts import Control, Figure, Panel, Section
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import label, width
from airbayes.text import plural

ROWS = (("accuracy", "Accuracy", None, 1.0), ("ece", "ECE", 0.0, 1.0))


def faults_section(run: Run) -> Section | None:
    if not run.scenarios or "accuracy" not in run.dataset:
        return None
    columns = scenario_columns(run.dataset)
    snrs = run.snrs or [math.inf]
    frames: dict[str, list[Panel]] = {}
    for index, snr in enumerate(snrs):
        frames[str(index)] = [
            panel
            for row in ROWS
            for column, rates in columns.items()
            if (panel := _panel(run, column, rates, row, snr)) is not None
        ]
    for _, title, low, high in ROWS:
        row = [panel for panels in frames.values() for panel in panels if panel["y"]["label"] == title]
        ends = ("y", "low", "high")
        limits = value_range((v for p in row for s in p["series"] for end in ends for v in s.get(end, ())), low, high)
        for panel in row:
            panel["y"]["range"] = limits
    variants = [name for name in run.variants if name not in UNCONNECTED_METHODS]
    figure = Figure(
        "Accuracy and ECE against the rate of each fault",
        frames,
        min(4, len(columns)),
        (Control("SNR", tuple(map(decibels, snrs)), len(snrs) - 1, slider=True),),
        legend(run, variants),
    )
    return Section(
        "faults",
        "When the radio fails",
        "Each panel takes one fault, such as lost links, absent agents, late messages or a neighbour that lies, "
        "and makes it more frequent from left to right. A flat curve means that the method does not mind.",
        (figure,),
        notes=(
            "Rates are drawn at equal distances." + (f" Bands: {interval_words(run.seeds)}." if run.seeds > 1 else ""),
        ),
    )


def _panel(run: Run, column: tuple[str, ...], rates: dict[float, str], row: tuple, snr: float) -> Panel | None:
    graph, fault, others = column
    metric, title, _, high = row
    series = []
    for variant in run.variants:
        if not feels(variant, fault):
            continue
        found = [run.cells(variant, topology, snr) for topology in rates.values()]
        values = np.array([np.full(run.seeds, math.nan) if cells is None else cells.ok(metric) for cells in found])
        diverged = [0 if cells is None else int(cells.diverged.sum()) for cells in found]
        if not np.isfinite(values).any() and not any(diverged):
            continue
        ends = [interval(line, high) for line in values]
        curve: Panel = {
            "keys": [variant],
            "method": variant,
            "name": label(variant),
            "width": width(variant),
            "x": list(range(len(rates))),
            "y": shorts(mean(values, 1)),
        }
        if run.seeds > 1:
            curve |= {"low": shorts([end[0] for end in ends]), "high": shorts([end[1] for end in ends])}
        if any(diverged):
            curve["lost"] = [f"{count} of {plural(run.seeds, 'seed')} diverged" if count else "" for count in diverged]
        series.append(curve)
    if not series:
        return None
    extra = f" ({others})" if others else ""
    return {
        "type": "lines",
        "title": f"{title} · {show_topology(graph)}, {NAMES.get(fault, fault)}{extra}",
        "x": {
            "label": f"rate ({fault})",
            "range": [-0.2, len(rates) - 0.8],
            "ticks": [[index, f"{rate:g}"] for index, rate in enumerate(rates)],
        },
        "y": {"label": title, "log": False},
        "series": series,
    }
