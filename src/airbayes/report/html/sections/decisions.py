"""When to answer: risk against coverage, a threshold with its bound, prediction sets. Of the first seed, agent 0."""

import math

import numpy as np

from airbayes.experiment.dataset import NO_TOPOLOGY
from airbayes.experiment.decisions import USUAL
from airbayes.report.html.curves import legend
from airbayes.report.html.numbers import decibels, shorts, value_range
from airbayes.report.html.parts import Cell, Control, Figure, Panel, Section, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.html.sections.strange import strange_words
from airbayes.report.style import is_radio, label
from airbayes.text import percent

POINTS = 50  # of a curve
ENOUGH = 25  # objects answered where a curve begins, or half of few: the error among a handful is noise
MAX_FRAMES = 64
OTHERS = "Of objects of other classes `airbayes decide RUN --strange FILE` says more, here and in the terminal."


def decisions_section(run: Run) -> Section | None:
    if not run.decisions:
        return None
    graphs, snrs = run.topologies or [NO_TOPOLOGY], run.snrs or [math.inf]
    many = len(graphs)
    graphs = graphs[: max(1, MAX_FRAMES // len(snrs))]
    first = graphs.index(run.trusted[1]) if run.trusted and run.trusted[1] in graphs else 0
    promised = any(record["threshold"] is not None for record in run.decisions.values())
    frames = {f"{i}|{j}": _panels(run, g, s) for i, g in enumerate(graphs) for j, s in enumerate(snrs)}
    everything = [panel for panels in frames.values() for panel in panels]
    if not everything:
        return None
    limits = value_range([y for panel in everything for series in panel["series"] for y in series["y"]], 0.0, 1.0)
    for panel in everything:
        panel["y"]["range"] = limits
    controls = (
        Control("Graph", tuple(map(show_topology, graphs)), first),
        Control("SNR", tuple(map(decibels, snrs)), len(snrs) - 1, slider=True),
    )
    shown = {series["method"] for panel in everything for series in panel["series"]}
    figure = Figure(
        "Share of wrong answers against the share of objects that are answered, most confident first",
        frames,
        1,
        controls,
        legend(run, [name for name in run.variants if name in shown]),
    )
    return Section(
        "decisions",
        "When to answer",
        "A model may answer only where it is sure, and leave the rest to somebody else: the curves show how many of "
        "its answers are then wrong. "
        + (
            "The table shows what can be promised: a threshold chosen on validation objects, and sets of classes that "
            "hold the true one with a wanted probability."
            if promised
            else "Nothing can be promised: that takes validation objects, and this run has none."
        ),
        (figure,),
        (_table(run, graphs[first], snrs[-1]), _doubt_table(run, graphs[first], snrs[-1])),
        notes=(
            f"First seed, agent 0. Curves begin where {ENOUGH} objects are answered, or half of them if that is fewer. "
            "AURC is the area under a curve: the mean share of wrong answers over all shares answered, less is better."
            + ("" if many == len(graphs) else f" The first {len(graphs)} of {many} graphs or scenarios."),
            f"Threshold: at most {percent(USUAL.max_error)} wrong answers with probability "
            f"{percent(1 - USUAL.delta)} over the validation objects. Sets: LAC, all classes above one level of "
            f"probability, to hold the truth {percent(USUAL.coverage)} of the time; in brackets, where 90 % of such "
            "calibrations end; what is measured scatters with the test objects besides. Both assume objects like those "
            "of the validation set; every physical object counts once."
            if promised
            else "",
            f"The tables stay at {show_topology(graphs[first])}, {decibels(snrs[-1])}: "
            "`airbayes decide RUN --topology GRAPH --snr-db SNR` has the others."
            if len(frames) > 1
            else "",
            "" if strange_words(run) else OTHERS,
            "Doubt is the entropy of the answer. Its epistemic part is what more data could remove, its aleatoric part "
            "what lies in the object; a model that knows itself doubts its wrong answers more.",
        ),
    )


def _panels(run: Run, topology: str, snr: float) -> list[Panel]:
    series = []
    for variant in run.variants:
        record = run.decision(variant, topology, snr)
        if record is None:
            continue
        coverage, risk = (np.array(record["risk_coverage"][name]) for name in ("coverage", "risk"))
        at = np.unique(np.linspace(min(0.5, ENOUGH / record["objects"]["test"]), 1, POINTS))
        curve: Panel = {
            "keys": [variant],
            "method": variant,
            "name": label(variant),
            "x": shorts(at, 3),
            "y": shorts(np.interp(at, coverage, risk), 3),
            "plain": True,
            "dash": not is_radio(variant),
        }
        series.append(curve)
    if not series:
        return []
    return [
        {
            "type": "lines",
            "title": f"Wrong answers · {show_topology(topology)}",
            "x": {"label": "share of objects answered", "range": [0, 1]},
            "y": {"label": "share of answers that are wrong", "log": False},
            "series": series,
            "level": [{"y": USUAL.max_error, "text": f"{percent(USUAL.max_error)} wrong"}],
        }
    ]


def _table(run: Run, topology: str, snr: float) -> Table:
    rows = []
    for variant in run.variants:
        record = run.decision(variant, topology, snr)
        if record is None:
            continue
        threshold, sets = record["threshold"], record["sets"]
        says, answered, wrong, held, size = "no validation objects", "–", "–", "–", "–"
        if threshold is not None:
            says = {"never": "never", "always": "always"}.get(threshold["answers"], "")
            says = says or f"above {threshold['value']:.3f}"
            answered, wrong = percent(threshold["test_coverage"], 1), percent(threshold["test_error"], 1)
            low, high = sets["lac"]["expected"]
            held = f"{percent(sets['lac']['coverage'], 1)} ({100 * low:.0f} to {percent(high)})"
            size = f"{sets['lac']['mean_size']:.2f}"
        area = f"{record['risk_coverage']['aurc']:.3f}"
        rows.append((Cell(label(variant), variant), area, says, answered, wrong, held, size))
    place = f"{show_topology(topology)}, {decibels(snr)}"
    if all(row[2] == "no validation objects" for row in rows):  # columns of dashes would say nothing
        return Table(f"{place}: on test objects", ("method", "AURC"), tuple(row[:2] for row in rows))
    return Table(
        f"{place}: chosen on validation objects, measured on test objects",
        ("method", "AURC", "answers", "answered", "of these wrong", "truth in set (expected)", "classes in set"),
        tuple(rows),
        (0, 2),
    )


def _doubt_table(run: Run, topology: str, snr: float) -> Table:
    """The two parts of the uncertainty, over right and over wrong answers: a good model doubts the wrong ones."""
    rows = []
    for variant in run.variants:
        record = run.decision(variant, topology, snr)
        if record is not None:
            kinds = ("entropy", "mutual_information", "expected_entropy")
            found = [record["uncertainty"][kind][which] for kind in kinds for which in ("right", "wrong")]
            means = ["–" if mean is None else f"{mean:.3f}" for mean in found]
            rows.append((Cell(label(variant), variant), *means))
    return Table(
        f"{show_topology(topology)}, {decibels(snr)}: mean doubt in nats, where the answer is right and wrong",
        (
            "method",
            "all: right",
            "all: wrong",
            "epistemic: right",
            "epistemic: wrong",
            "aleatoric: right",
            "aleatoric: wrong",
        ),
        tuple(rows),
    )
