"""Several runs beside each other: what differs between them, and the same scores in one figure."""

import dataclasses
import math
from pathlib import PurePath

from airbayes.experiment.scenario import graph_name
from airbayes.experiment.store import GRAPHS, changed_edges, csv_graphs, portable
from airbayes.experiment.toml_io import changed_fields
from airbayes.files import read_limited
from airbayes.network.interop import MAX_CSV_BYTES
from airbayes.report.html.curves import Metric, curve, spread_name
from airbayes.report.html.numbers import decibels, value_range
from airbayes.report.html.parts import Cell, Control, Entry, Figure, Panel, Section, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.html.summary import PROBLEMS, glance, graph_words
from airbayes.report.style import is_radio, label
from airbayes.text import listed

CLASS_METRICS = (
    Metric("accuracy", "Accuracy", None, 1.0),
    Metric("ece", "ECE", 0.0, 1.0),
    Metric("nll", "NLL (nats)", 0.0, log=True),
    Metric("brier", "Brier score", 0.0, 2.0),
)
LINEAR_METRICS = (Metric("w2_agent", "W2 to the posterior", log=True, per_agent=False),)
MAX_DIFFERENCES = 40
IDEAL = f", {decibels(math.inf)}"


def compare_section(runs: list[Run]) -> Section:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.config.problem.kind, []).append(run)
    scores = [table for group in groups.values() if (table := _scores(group)) is not None]
    tables = (_overview(runs), *scores, *(_differences(runs[0], run) for run in runs[1:]))
    found = [_figure(group) for group in groups.values()]
    figures = tuple(figure for figure in found if figure is not None)
    apart = len(groups) > 1
    if apart:
        for kind, figure in zip(groups, found, strict=True):
            for panels in figure.frames.values() if figure is not None else ():
                for panel in panels:
                    panel["under"] = PROBLEMS.get(kind, kind)
    return Section(
        "compare",
        "The runs beside each other",
        "One colour is one method, one kind of line one run; click a name to hide or show it. "
        + (
            "These runs solve different problems, whose scores cannot be compared: each problem has a figure and a "
            "table of its own."
            if apart
            else "Curves of the same colour differ only by what the tables below list."
        ),
        figures,
        tables,
        notes=(" ".join(_reading(runs, figures)), _faults_only(runs)),
    )


def _reading(runs: list[Run], figures: tuple[Figure, ...]) -> list[str]:
    """What marks mean, of those that are there."""
    series = [s for f in figures for panels in f.frames.values() for panel in panels for s in panel["series"]]
    found = []
    if name := spread_name(series):
        found.append(
            f"{name}: of one seed from the lowest to the highest agent, of a few from the lowest to the highest seed, "
            "from five on the 95 % interval of the mean, on a logarithmic axis cut at the lowest seed."
        )
    if any(any(each.get("hollow", ())) for each in series):
        found.append("Hollow points: a seed is near guessing, and a small ECE means nothing there.")
    if any(each.get("flat") for each in series):
        found.append("Level lines without marks: ideal links, the same at every SNR.")
    return found


def _faults_only(runs: list[Run]) -> str:
    """Why a run has no row in the table of scores."""
    names = [run.name for run in runs if run.curves is None]
    if not names:
        return ""
    own = "its own sections" if len(names) == 1 else "their own sections"
    return f"Scores of fault scenarios are in {own}, not in the tables below: {listed(names)}."


def _scores(runs: list[Run]) -> Table | None:
    """Every method of every run of one problem, at the ends of all their SNR axes as far as the run has them."""
    ends = sorted({end for run in runs if run.snrs for end in (run.snrs[0], run.snrs[-1])})
    found = [(run, table) for run in runs if (table := glance(run, ends)) is not None]
    if not found:
        return None
    rows = []
    for run, table in found:
        for row in table.rows:
            numbers = dict(zip(table.head, row, strict=True))
            numbers.pop("links", None)
            method = numbers["method"]
            if run.snrs and isinstance(method, Cell) and not is_radio(method.method or ""):  # stands at the last SNR
                last = f", {decibels(run.snrs[-1])}"
                ideal = {name.removesuffix(last) + IDEAL: cell for name, cell in numbers.items() if name.endswith(last)}
                numbers = {"method": method} | ideal
            rows.append((run.name, numbers))
    head = list(dict.fromkeys(name for _, numbers in rows for name in numbers))
    order = [*(f", {decibels(end)}" for end in ends), IDEAL]  # from the lowest SNR up, ideal links last
    head.sort(key=lambda name: next((place for place, of in enumerate(order) if name.endswith(of)), -1))
    kind = PROBLEMS.get(runs[0].config.problem.kind, runs[0].config.problem.kind)
    partly = any("*" in cell.text for _, numbers in rows for cell in numbers.values() if isinstance(cell, Cell))
    graphs = "graphs outside the fault scenarios" if any(run.scenarios for run, _ in found) else "graphs"
    caption = f"Scores of {kind}, mean over {graphs}, seeds and agents" + (
        "; * some of these runs guess: balanced accuracy hardly above chance" if partly else ""
    )
    content = tuple((name, *(numbers.get(column, "–") for column in head)) for name, numbers in rows)
    return Table(caption, ("run", *head), content, words=(0, 1))


def _overview(runs: list[Run]) -> Table:
    rows = tuple(
        (
            run.name,
            run.config.problem.kind,
            graph_words(run),
            str(run.seeds),
            f"{run.config.sampling.steps:,}",
        )
        for run in runs
    )
    return Table("Runs", ("run", "problem", "graphs", "seeds", "iterations"), rows, words=(0, 1, 2))


def _differences(first: Run, other: Run) -> Table:
    changed = changed_fields(*(dataclasses.replace(portable(run.config), seeds=run.seeds) for run in (first, other)))
    changed += changed_edges(_edges(first), _edges(other))
    rows = [tuple(line.split(": ", 1)) for line in changed[:MAX_DIFFERENCES]] or [("nothing", "the same settings")]
    return Table(f"{first.name} → {other.name}", ("setting", "change"), tuple(rows), words=(0, 1))


def _edges(run: Run) -> dict[str, bytes]:
    """The edge lists of a run by their file names; not those that are gone."""
    paths = [run.folder / GRAPHS / path.name for path in csv_graphs(run.config)]
    return {path.name: read_limited(path, MAX_CSV_BYTES) for path in paths if path.is_file()}


def _figure(runs: list[Run]) -> Figure | None:
    names = [name for run in runs for name in run.topologies if graph_name(name) == name]
    topologies = list(dict.fromkeys(map(_plain_name, names)))
    metrics = [m for m in (*CLASS_METRICS, *LINEAR_METRICS) if any(m.name in run.dataset for run in runs)]
    frames: dict[str, list[Panel]] = {}
    columns = topologies if len(topologies) <= 4 else topologies[:1]
    groups = [topologies] if len(topologies) <= 4 else [[name] for name in topologies]
    for i, metric in enumerate(metrics):
        found = {name: _panel(runs, name, metric) for name in topologies}
        numbers = [
            value
            for panel in found.values()
            for series in panel["series"]
            for name in ("y", "low", "high")
            for value in series.get(name, [])
        ]
        limits = value_range(numbers, metric.low, metric.high, metric.log)
        for panel in found.values():
            panel["y"]["range"] = limits
        for j, group in enumerate(groups):
            key = f"{i}|{j}" if len(groups) > 1 else f"{i}"
            frames[key] = [found[name] for name in group if found[name]["series"]]
    if not any(frames.values()):
        return None
    variants = list(dict.fromkeys(variant for run in runs for variant in run.variants))
    controls = [Control("Score", tuple(metric.title for metric in metrics))]
    if len(groups) > 1:
        controls.append(Control("Graph", tuple(map(show_topology, topologies))))
    shown = {
        key for panels in frames.values() for panel in panels for series in panel["series"] for key in series["keys"]
    }
    legend = [Entry(f"run{index}", run.name, None, index) for index, run in enumerate(runs)]
    legend += [Entry(variant, label(variant), variant) for variant in variants]
    legend = [entry for entry in legend if entry.key in shown]  # a name without a curve would puzzle
    kind = PROBLEMS.get(runs[0].config.problem.kind, "")
    return Figure(
        f"The same score of every run against SNR: {kind}", frames, len(columns), tuple(controls), tuple(legend)
    )


def _plain_name(topology: str) -> str:
    """An edge list without its folder, which is another one in merged results."""
    return PurePath(topology).name if topology.endswith(".csv") else topology


def _panel(runs: list[Run], topology: str, metric: Metric) -> Panel:
    series = []
    snrs = sorted({snr for run in runs for snr in run.snrs})
    for index, run in enumerate(runs):
        mine = [name for name in run.topologies if _plain_name(name) == topology]
        mine = mine if run.topologies else [topology]  # without a network: the same beside every graph
        for variant in run.variants:
            if mine and (found := curve(run, variant, mine[0], metric, metric.name == "ece")):
                found.pop("dots", None)
                if "x" not in found and snrs:  # drawn in the kind of line of its run
                    found |= {"x": [snrs[0], snrs[-1]], "plain": True, "flat": True}
                    found |= {name: 2 * found[name] for name in ("y", "low", "high", "hollow", "lost") if name in found}
                series.append(
                    found | {"keys": [variant, f"run{index}"], "name": f"{label(variant)} · {run.name}", "kind": index}
                )
    snrs = snrs or [0.0, 1.0]
    margin = 0.04 * (max(snrs) - min(snrs)) or 1.0
    return {
        "type": "lines",
        "title": f"{metric.title} · {show_topology(topology)}",
        "x": {"label": "SNR (dB)", "range": [min(snrs) - margin, max(snrs) + margin]},
        "y": {"label": metric.title, "log": metric.log},
        "series": series,
    }
