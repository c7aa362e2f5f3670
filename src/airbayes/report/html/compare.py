"""Several runs beside each other: what differs between them, and the same scores in one figure."""

from airbayes.experiment.toml_io import changed_fields
from airbayes.report.html.curves import Metric, curve
from airbayes.report.html.numbers import value_range
from airbayes.report.html.parts import Control, Entry, Figure, Panel, Section, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import label

CLASS_METRICS = (
    Metric("accuracy", "Accuracy", None, 1.0),
    Metric("ece", "ECE", 0.0, 1.0),
    Metric("nll", "NLL (nats)", 0.0, log=True),
    Metric("brier", "Brier score", 0.0, 2.0),
)
LINEAR_METRICS = (Metric("w2_agent", "W2 to the posterior", log=True, per_agent=False),)
MAX_DIFFERENCES = 40


def compare_section(runs: list[Run]) -> Section:
    tables = (_overview(runs), *(_differences(runs[0], run) for run in runs[1:]))
    figure = _figure(runs)
    return Section(
        "compare",
        "The runs beside each other",
        "One colour is one method, one kind of line one run; click a name to hide or show it. Curves of the same "
        "colour differ only by what the tables below list.",
        () if figure is None else (figure,),
        tables,
    )


def _overview(runs: list[Run]) -> Table:
    rows = tuple(
        (
            run.name,
            run.config.problem.kind,
            ", ".join(map(show_topology, run.topologies[:4])) + ("" if len(run.topologies) <= 4 else ", …"),
            str(run.seeds),
            f"{run.config.sampling.steps:,}",
        )
        for run in runs
    )
    return Table("Runs", ("run", "problem", "graphs", "seeds", "iterations"), rows, words=(0, 1, 2))


def _differences(first: Run, other: Run) -> Table:
    changed = changed_fields(first.config, other.config)
    rows = [tuple(line.split(": ", 1)) for line in changed[:MAX_DIFFERENCES]] or [("nothing", "the same settings")]
    return Table(f"{first.name} → {other.name}", ("setting", "change"), tuple(rows), words=(0, 1))


def _figure(runs: list[Run]) -> Figure | None:
    topologies = list(dict.fromkeys(name for run in runs for name in run.topologies if "@" not in name))
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
    return Figure("The same score of every run against SNR", frames, len(columns), tuple(controls), tuple(legend))


def _panel(runs: list[Run], topology: str, metric: Metric) -> Panel:
    series = []
    for index, run in enumerate(runs):
        for variant in run.variants:
            has_graph = (
                topology in run.topologies or not run.topologies
            )  # without a network: the same beside every graph
            if has_graph and (found := curve(run, variant, topology, metric, metric.name == "ece")):
                found.pop("dots", None)
                series.append(
                    found | {"keys": [variant, f"run{index}"], "name": f"{label(variant)} · {run.name}", "kind": index}
                )
    snrs = [snr for run in runs for snr in run.snrs] or [0.0, 1.0]
    margin = 0.04 * (max(snrs) - min(snrs)) or 1.0
    return {
        "type": "lines",
        "title": f"{metric.title} · {show_topology(topology)}",
        "x": {"label": "SNR (dB)", "range": [min(snrs) - margin, max(snrs) + margin]},
        "y": {"label": metric.title, "log": metric.log},
        "series": series,
    }
