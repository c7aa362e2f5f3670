"""When to answer: risk against coverage, a threshold with its bound, prediction sets. Of the first seed, agent 0."""

import math

import numpy as np

from airbayes.errors import AirbayesError
from airbayes.experiment.cells import Cell as StudyCell
from airbayes.experiment.dataset import NO_TOPOLOGY
from airbayes.experiment.decisions import USUAL, decisions
from airbayes.experiment.prediction_files import read_prediction, stored_predictions
from airbayes.report.html.curves import legend
from airbayes.report.html.numbers import decibels, shorts, value_range
from airbayes.report.html.parts import Cell, Control, Figure, Panel, Section, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import is_radio, label

POINTS = 50  # of a curve
FIRST = 0.02  # coverage at which a curve begins: the error among a handful of objects is noise
MAX_FRAMES = 64


def decisions_section(run: Run) -> Section | None:
    found = _read(run)
    if not found:
        return None
    graphs, snrs = run.topologies or [NO_TOPOLOGY], run.snrs or [math.inf]
    graphs = graphs[: max(1, MAX_FRAMES // len(snrs))]
    frames = {f"{i}|{j}": _panels(run, found, g, s) for i, g in enumerate(graphs) for j, s in enumerate(snrs)}
    everything = [panel for panels in frames.values() for panel in panels]
    if not everything:
        return None
    limits = value_range([y for panel in everything for series in panel["series"] for y in series["y"]], 0.0, 1.0)
    for panel in everything:
        panel["y"]["range"] = limits
    controls = (
        Control("Graph", tuple(map(show_topology, graphs))),
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
        "its answers are then wrong. The table shows what can be promised: a threshold chosen on validation objects, "
        "and sets of classes that hold the true one with a wanted probability.",
        (figure,),
        (_table(run, found, graphs[0], snrs[-1]), _doubt_table(run, found, graphs[0], snrs[-1])),
        notes=(
            f"First seed, agent 0. Threshold: at most {USUAL.max_error:.0%} wrong answers with probability "
            f"{1 - USUAL.delta:.0%} over the validation objects. Sets: LAC, to hold the truth {USUAL.coverage:.0%} of "
            "the time. Both assume objects like those of the validation set; every physical object counts once. Of "
            "objects of other classes `airbayes decide RUN --strange FILE` says more, here and in the terminal.",
            "Doubt is the entropy of the answer. Its epistemic part is what more data could remove, its aleatoric part "
            "what lies in the object; a model that knows itself doubts its wrong answers more.",
        ),
    )


def _read(run: Run) -> dict[tuple[str, str, float], dict]:
    """(variant, graph, SNR) → decisions; nothing where the folder is gone or from before predictions were stored."""
    try:
        rows = stored_predictions(run.folder)
        first = min((row.seed for row in rows), default=0)
        return {_place(row.cell): decisions(read_prediction(run.folder, row)) for row in rows if row.seed == first}
    except AirbayesError:  # damaged, or without an order, as NaN confidences are
        return {}


def _place(cell: StudyCell) -> tuple[str, str, float]:
    return cell.variant, cell.topology or NO_TOPOLOGY, math.inf if cell.snr_db is None else cell.snr_db


def _of(run: Run, found: dict, variant: str, topology: str, snr: float) -> dict | None:
    return found.get((variant, run.place(variant, topology), snr if is_radio(variant) else math.inf))


def _panels(run: Run, found: dict, topology: str, snr: float) -> list[Panel]:
    series = []
    for variant in run.variants:
        record = _of(run, found, variant, topology, snr)
        if record is None:
            continue
        coverage, risk = (np.array(record["risk_coverage"][name]) for name in ("coverage", "risk"))
        at = np.linspace(FIRST, 1, POINTS)
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
            "level": [{"y": USUAL.max_error, "text": f"{USUAL.max_error:.0%} wrong"}],
        }
    ]


def _table(run: Run, found: dict, topology: str, snr: float) -> Table:
    rows = []
    for variant in run.variants:
        record = _of(run, found, variant, topology, snr)
        if record is None:
            continue
        threshold, sets = record["threshold"], record["sets"]
        says, answered, wrong, held, size = "no validation objects", "–", "–", "–", "–"
        if threshold is not None:
            says = {"never": "never", "always": "always"}.get(threshold["answers"], "")
            says = says or f"above {threshold['value']:.3f}"
            answered = f"{threshold['test_coverage']:.1%}"
            wrong = "–" if threshold["test_error"] is None else f"{threshold['test_error']:.1%}"
            held, size = f"{sets['lac']['coverage']:.1%}", f"{sets['lac']['mean_size']:.2f}"
        area = f"{record['risk_coverage']['aurc']:.3f}"
        rows.append((Cell(label(variant), variant), area, says, answered, wrong, held, size))
    return Table(
        f"{show_topology(topology)}, {decibels(snr)}: chosen on validation objects, measured on test objects",
        ("Method", "AURC", "Answers", "answered", "of these wrong", "truth in set", "classes in set"),
        tuple(rows),
        (0, 2),
    )


def _doubt_table(run: Run, found: dict, topology: str, snr: float) -> Table:
    """The two parts of the uncertainty, over right and over wrong answers: a good model doubts the wrong ones."""
    rows = []
    for variant in run.variants:
        record = _of(run, found, variant, topology, snr)
        if record is not None:
            kinds = ("entropy", "mutual_information", "expected_entropy")
            means = [f"{record['uncertainty'][kind][which]:.3f}" for kind in kinds for which in ("right", "wrong")]
            rows.append((Cell(label(variant), variant), *means))
    return Table(
        f"{show_topology(topology)}, {decibels(snr)}: mean doubt in nats, where the answer is right and wrong",
        (
            "Method",
            "all: right",
            "all: wrong",
            "epistemic: right",
            "epistemic: wrong",
            "aleatoric: right",
            "aleatoric: wrong",
        ),
        tuple(rows),
    )
