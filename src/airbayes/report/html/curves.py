"""Curves against SNR: means over seeds with their interval, one panel for each graph and metric."""

import dataclasses
import math
from collections.abc import Iterable

import numpy as np

from airbayes.experiment.dataset import NO_TOPOLOGY
from airbayes.report.html.cells import Cells, mean
from airbayes.report.html.numbers import EXACT, Number, interval, interval_words, short, shorts, value_range
from airbayes.report.html.parts import Control, Entry, Figure, Panel
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import is_radio, label, width
from airbayes.report.style import short as short_name
from airbayes.text import plural

MAX_NAMED = 4  # methods on an axis; more are told by colour
NEAR_DB = 3.0  # so far beyond the SNRs measured a predicted transition is still drawn
MAX_COLUMNS = 4  # graphs beside each other; more are chosen from a menu


@dataclasses.dataclass(frozen=True)
class Metric:
    name: str  # in results.nc
    title: str
    low: float | None = None  # what it cannot fall below, if anything
    high: float | None = None
    log: bool = False
    per_agent: bool = True  # whether its spread over agents is stored
    dotted: str = ""  # another variable, drawn dotted in the same colour
    line: tuple[float, str] | None = None  # a level to compare with


def legend(run: Run, variants: list[str] | None = None) -> tuple[Entry, ...]:
    return tuple(Entry(name, label(name), name) for name in variants or run.variants)


def curve(
    run: Run, variant: str, topology: str, metric: Metric, mark_collapse: bool = False, at: int | None = None
) -> Panel | None:
    """One variant on one graph; None where it did not run or has no such metric. `at`: its place on an axis of methods.

    Without a radio it is the same at every SNR and has no x of its own.
    """
    cells = run.cells(variant, topology)
    if cells is None or metric.name not in cells:
        return None
    values, diverged = cells.ok(metric.name), cells.diverged.sum(axis=1)
    if not np.isfinite(values).any() and not diverged.any():
        return None
    low, high = _band(run, cells, values, metric)
    series: Panel = {
        "keys": [variant],
        "method": variant,
        "name": label(variant),
        "width": width(variant),
        "y": shorts(mean(values, 1), EXACT),
    }
    places = cells.snrs if is_radio(variant) else [] if at is None else [at]
    if places:
        series["x"] = places
    if np.isfinite(low).any():
        series |= {"low": shorts(low, EXACT), "high": shorts(high, EXACT)}
    if run.seeds > 1 and places:
        series["dots"] = [[x, short(value)] for x, row in zip(places, values, strict=True) for value in row]
    if diverged.any():
        counts = diverged.tolist(), cells.present.sum(axis=1).tolist()
        series["lost"] = [f"{d} of {plural(p, 'seed')} diverged" if d else "" for d, p in zip(*counts, strict=True)]
    if mark_collapse and "accuracy" in cells:
        counts = run.collapsed(cells).tolist(), cells.scored.tolist()
        series["hollow"] = [guess_words(*both) if both[0] else "" for both in zip(*counts, strict=True)]
    if metric.dotted and metric.dotted in cells:
        series["dotted"] = shorts(mean(cells.ok(metric.dotted), 1))
    return series


def guess_words(collapsed: int, scored: int) -> str:
    return "near chance" if collapsed == scored else f"{collapsed} of {scored} seeds near chance"


def _band(run: Run, cells: Cells, values: np.ndarray, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    """Over seeds the interval of the mean; with one seed, from the least to the largest agent."""
    if run.seeds > 1:
        ends = [interval(row, metric.high, metric.low or 0.0, metric.log) for row in values]
        return np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
    name = f"{metric.name}_per_agent"
    if not metric.per_agent or name not in cells:
        return np.full(len(values), math.nan), np.full(len(values), math.nan)
    agents = cells.ok(name)[:, 0]
    some = np.isfinite(agents).any(axis=1)
    low, high = np.full(len(agents), math.nan), np.full(len(agents), math.nan)
    low[some], high[some] = np.nanmin(agents[some], axis=1), np.nanmax(agents[some], axis=1)
    return low, high


def spread_name(series: Iterable[Panel]) -> str:
    """What shows the spread of some curves: bands, bars where a curve has one point, or nothing."""
    shown = [each for each in series if any(value is not None for value in each.get("low", ()))]
    bars = [len(each.get("x", ())) == 1 for each in shown]
    return "" if not bars else "Bars" if all(bars) else "Bars and bands" if any(bars) else "Bands"


def band_words(run: Run, figure: Figure) -> str:
    """What bands, bars and dots mean, of those that are there."""
    series = [each for frame in figure.frames.values() for panel in frame for each in panel["series"]]
    name = spread_name(series)
    if not name:
        return ""
    if run.seeds > 1:
        logarithmic = any(panel["y"]["log"] for frame in figure.frames.values() for panel in frame)
        dots = "; faint dots: single seeds" if any("dots" in each for each in series) else ""
        return f"{name}: {interval_words(run.seeds, logarithmic)}{dots}."
    return f"One seed, so there is no interval over seeds; {name.lower()} reach from the lowest to the highest agent."


def line_words(figure: Figure) -> str:
    """What dashed and dotted lines mean, of those that are there."""
    panels = [panel for frame in figure.frames.values() for panel in frame]
    dashed = any("x" not in series for panel in panels for series in panel["series"])
    dotted = any("upright" in panel for panel in panels)
    return " ".join(
        (["Dashed: ideal links, no radio."] if dashed else [])
        + (["Dotted upright: the SNR below which the power limit is predicted to bite."] if dotted else [])
    )


def topology_groups(run: Run) -> list[list[str]]:
    """All graphs beside each other, or, where there are many, one at a time."""
    names = run.topologies or ["none"]
    return [names] if len(names) <= MAX_COLUMNS else [[name] for name in names]


def against_snr(
    run: Run,
    metrics: list[Metric],
    title: str,
    *,
    variants: list[str] | None = None,
    choose_metric: bool = False,
    transitions: bool = True,
) -> Figure | None:
    """Rows are metrics (or a menu of them), columns graphs (or a menu of them)."""
    variants = run.variants if variants is None else variants
    groups = topology_groups(run)
    rows = [[metric] for metric in metrics] if choose_metric else [metrics]
    panels = {
        (metric.name, topology): _panel(run, variants, topology, metric, transitions)
        for metric in metrics
        for topology in run.topologies or [NO_TOPOLOGY]
    }
    names = run.topologies or [NO_TOPOLOGY]
    shown: set[str] = set()
    for metric in metrics:
        row = [panel for (name, _), panel in panels.items() if name == metric.name and panel is not None]
        limits = value_range(_numbers(row, metric), metric.low, metric.high, metric.log)
        for panel in row:
            panel["y"]["range"] = limits
            shown |= {series["method"] for series in panel["series"]}
    rows = [[metric for metric in row if any(panels[metric.name, name] for name in names)] for row in rows]
    if not any(rows):
        return None
    controls = []
    if choose_metric:
        rows = [row for row in rows if row]
        controls.append(Control("Score", tuple(row[0].title for row in rows)))
    if len(groups) > 1:
        controls.append(Control("Graph", tuple(show_topology(group[0]) for group in groups)))
    frames = {}
    for i, row in enumerate(rows):
        for j, group in enumerate(groups):
            key = "|".join([*([str(i)] if choose_metric else []), *([str(j)] if len(groups) > 1 else [])])
            frames[key] = [panel for metric in row for name in group if (panel := panels[metric.name, name])]
    return Figure(
        title,
        frames,
        columns=max(len(groups[0]), min(2, len(rows[0]))),
        controls=tuple(controls),
        legend=legend(run, [name for name in variants if name in shown]),
    )


def _panel(run: Run, variants: list[str], topology: str, metric: Metric, transitions: bool) -> Panel | None:
    places = [None] * len(variants) if run.snrs else list(range(len(variants)))  # no radio: methods beside each other
    found = [
        curve(run, variant, topology, metric, metric.name == "ece", at)
        for variant, at in zip(variants, places, strict=True)
    ]
    series = [each for each in found if each is not None]
    if not series:
        return None
    panel: Panel = {
        "type": "lines",
        "title": metric.title if topology == NO_TOPOLOGY else f"{metric.title} · {show_topology(topology)}",
        "x": _axis(run.snrs + (_shown_transitions(run) if transitions else []), run.snrs, variants),
        "y": {"label": metric.title, "log": metric.log},
        "series": series,
    }
    predicted = run.transition(topology) if transitions else None
    if predicted is not None and _is_near(predicted, run.snrs):
        panel["upright"] = [{"x": short(predicted), "text": f"predicted transition {predicted:.1f} dB"}]
    if metric.line is not None:
        panel["level"] = [{"y": metric.line[0], "text": metric.line[1]}]
    return panel


def _is_near(predicted: float, snrs: list[float]) -> bool:
    """Whether a transition is drawn: between the SNRs measured, or little beyond."""
    return bool(snrs) and snrs[0] - NEAR_DB <= predicted <= snrs[-1] + NEAR_DB


def _shown_transitions(run: Run) -> list[float]:
    found = [run.transition(name) for name in run.topologies]
    return [snr for snr in found if snr is not None and _is_near(snr, run.snrs)]


def _axis(shown: list[float], snrs: list[float], variants: list[str]) -> Panel:
    """The SNRs; where links are ideal, the methods beside each other, by name where there is room."""
    if not snrs:
        names = variants if len(variants) <= MAX_NAMED else []
        ticks = [[place, short_name(name)] for place, name in enumerate(names)]
        return {"label": "ideal links, no radio", "range": [-0.5, len(variants) - 0.5], "ticks": ticks}
    first, last = min(shown), max(shown)
    if len(snrs) == 1:  # in the middle, where methods have room beside each other
        reach = max(1.0, 1.15 * (snrs[0] - first), 1.15 * (last - snrs[0]))
        return {"label": "SNR (dB)", "range": [snrs[0] - reach, snrs[0] + reach]}
    margin = 0.04 * (last - first)
    return {"label": "SNR (dB)", "range": [first - margin, last + margin]}


def _numbers(panels: list[Panel], metric: Metric) -> list[Number | None]:
    found: list[Number | None] = [] if metric.line is None else [metric.line[0]]
    for panel in panels:
        for series in panel["series"]:
            for name in ("y", "low", "high", "dotted"):
                found += series.get(name, [])
            found += [value for _, value in series.get("dots", [])]
    return found
