"""Accuracy and calibration against the rate of a fault."""

import math

import numpy as np

from airbayes.experiment.config import UNCONNECTED_METHODS
from airbayes.report.faults_figure import NAMES, feels, scenario_columns
from airbayes.report.html.cells import mean
from airbayes.report.html.numbers import EXACT, decibels, interval, interval_words, shorts, value_range
from airbayes.report.html.parts import Control, Entry, Figure, Panel, Section
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import short, width
from airbayes.text import plural

NAMED = (("accuracy", "accuracy"), ("ece", "ECE"))
NOTABLE = 0.03  # accuracy; less is noise of few seeds
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
            for column, rates in columns.items()
            for row in ROWS  # of one fault beside each other
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
        4 if len(columns) > 1 else 2,
        (Control("SNR", tuple(map(decibels, snrs)), len(snrs) - 1, slider=True),),
        tuple(Entry(name, short(name), name) for name in variants),  # "ideal links" would not fit lost ones
    )
    return Section(
        "faults",
        "When the radio fails",
        "Each panel takes one fault, such as lost links, absent agents, late messages or a neighbour that lies, "
        "and makes it more frequent from left to right. A flat curve means that the method does not mind.",
        (figure,),
        notes=(
            _graphs(columns)
            + "Rates are drawn at equal distances."
            + (f" Bands: {interval_words(run.seeds)}." if run.seeds > 1 else ""),
        ),
    )


def _graphs(columns: dict[tuple[str, ...], dict[float, str]]) -> str:
    names = {graph for graph, *_ in columns}
    return f"All on the {show_topology(names.pop())} graph. " if len(names) == 1 else ""


def worst_faults(run: Run) -> list[str]:
    """For the minute on top: what costs each method most accuracy, at the highest SNR, against no fault."""
    if not run.scenarios or "accuracy" not in run.dataset:
        return []
    snr = run.snrs[-1] if run.snrs else math.inf
    columns = [(column, rates) for column, rates in scenario_columns(run.dataset).items() if 0.0 in rates]
    found = []
    for variant in run.variants:
        losses = []
        for (_, fault, _), rates in columns:
            for rate, topology in rates.items():
                cells, whole = run.cells(variant, topology, snr), run.cells(variant, rates[0.0], snr)
                if rate and feels(variant, fault) and cells is not None and whole is not None:
                    losses.append((whole.mean("accuracy") - cells.mean("accuracy"), topology, cells, whole))
        losses = [loss for loss in losses if math.isfinite(loss[0])]
        if not losses:
            continue
        lost, topology, cells, whole = max(losses, key=lambda loss: loss[0])
        if lost < NOTABLE:
            found.append(f"No fault costs {short(variant)} {NOTABLE:g} of its accuracy.")
            continue
        scores = (f"{name} {whole.mean(key):.2f} → {cells.mean(key):.2f}" for key, name in NAMED)
        found.append(f"{short(variant)} is hurt most by: {show_topology(topology)} ({', '.join(scores)}).")
    return found


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
            "name": short(variant),
            "width": width(variant),
            "x": list(range(len(rates))),
            "y": shorts(mean(values, 1), EXACT),
        }
        if run.seeds > 1:
            curve |= {"low": shorts([end[0] for end in ends]), "high": shorts([end[1] for end in ends])}
        if any(diverged):
            curve["lost"] = [f"{count} of {plural(run.seeds, 'seed')} diverged" if count else "" for count in diverged]
        series.append(curve)
    if not series:
        return None
    extra = f" ({others})" if others else ""
    place = f"{show_topology(graph)}, " if len({name for name, *_ in scenario_columns(run.dataset)}) > 1 else ""
    return {
        "type": "lines",
        "title": f"{title} · {place}{NAMES.get(fault, fault)}{extra}",
        "x": {
            "label": f"rate ({fault})",
            "range": [-0.2, len(rates) - 0.8],
            "ticks": [[index, f"{rate:g}"] for index, rate in enumerate(rates)],
        },
        "y": {"label": title, "log": False},
        "series": series,
    }
