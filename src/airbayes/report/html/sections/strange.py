"""Objects of classes that were never learned: does the model notice? From what `airbayes decide --strange` stored."""

import numpy as np

from airbayes.errors import AirbayesError
from airbayes.experiment.cells import Cell as StudyCell
from airbayes.experiment.strange_files import SCORES, StrangeFolder, StrangeScores, read_strange
from airbayes.experiment.trained import TRUST
from airbayes.report.html.curves import legend
from airbayes.report.html.numbers import decibels, shorts, value_range
from airbayes.report.html.parts import Cell, Control, Figure, Panel, Section, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import label
from airbayes.report.style import short as short_name
from airbayes.text import percent, printable

NAMES = {
    "confidence": "1 − confidence",
    "entropy": "entropy: all of the uncertainty",
    "mutual_information": "mutual information: the samples disagree (epistemic)",
    "expected_entropy": "expected entropy: they agree that it is unclear (aleatoric)",
    "energy": "energy: small outputs of the network",
}
HEADS = ("1 − confidence", "entropy", "mutual information", "expected entropy", "energy")
AT = np.linspace(0, 1, 41)  # false alarms at which a curve is drawn
ENDS = ((min, 0.005), (max, 0.995))  # of an axis of scores: these quantiles of whichever kind goes further
BINS = 24
MAX_CLASSES = 6  # named in the note


def strange_section(run: Run) -> Section | None:
    try:
        stored = read_strange(run.folder)
    except AirbayesError:  # damaged: it costs the section, not the page
        return None
    cells = _one_each(run, stored) if stored else {}
    if stored is None or not cells:
        return None
    start = SCORES.index("entropy")
    figure = Figure(
        "How many strange objects are noticed, and how strange known and strange objects look",
        {str(index): _panels(cells, index) for index in range(len(SCORES))},
        3 if len(cells) != 3 else 2,
        (Control("Score", tuple(NAMES[name] for name in SCORES), start),),
        legend(run, list(cells)),
    )
    return Section(
        "strange",
        "Would it notice something strange?",
        "Here the model was shown objects of classes that it never learned: it cannot name them, but it can be unsure, "
        "and a score of its doubt can raise an alarm. The first panel shows how many strange objects are noticed for "
        "the false alarms one accepts on known objects, the others how far apart the scores of both kinds lie.",
        (figure,),
        (_table(cells),),
        notes=(
            _about(stored, cells, run.seeds > 1),
            "AUROC is how often a strange object scores higher than a known one: 1 is perfect, 0.5 chance, less "
            "is worse than chance. False alarms are known objects above a threshold "
            "that 95 % of the strange ones exceed.",
        ),
    )


def strange_words(run: Run) -> str:
    """For the minute on top: the score that tells strange objects best, for the method to trust; empty without any."""
    try:
        stored = read_strange(run.folder)
    except AirbayesError:
        return ""
    cells = _one_each(run, stored) if stored else {}
    if stored is None or not cells:
        return ""
    variant = min(cells, key=lambda name: TRUST.index(name) if name in TRUST else len(TRUST))
    told, seed = cells[variant][1].told_apart(), cells[variant][0].seed
    best = max(told, key=lambda name: told[name]["auroc"])
    whose = short_name(variant) + (f" of seed {seed}" if run.seeds > 1 else "")
    return (
        f"Strange objects: {NAMES[best].partition(':')[0]} tells them best for {whose}, AUROC "
        f"{told[best]['auroc']:.2f} (0.5 is chance); to notice 95 % of them costs false alarms on "
        f"{percent(told[best]['false_alarms_at_95'])} of known objects."
    )


def _one_each(run: Run, stored: StrangeFolder) -> dict[str, tuple[StudyCell, StrangeScores]]:
    """Variant → its cell at the best link, in the order of the other figures."""

    def rank(cell: StudyCell) -> tuple:
        return -(np.inf if cell.snr_db is None else cell.snr_db), cell.topology != "full", cell.seed

    found: dict[str, tuple[StudyCell, StrangeScores]] = {}
    for cell in sorted(stored.cells, key=rank):
        found.setdefault(cell.variant, (cell, stored.cells[cell]))
    return {variant: found[variant] for variant in run.variants if variant in found}


def _panels(cells: dict[str, tuple[StudyCell, StrangeScores]], index: int) -> list[Panel]:
    caught: Panel = {
        "type": "lines",
        "title": "Strange objects noticed · all methods",
        "x": {"label": "known objects flagged by mistake", "range": [0, 1]},
        "y": {"label": "strange objects noticed", "log": False, "range": [0, 1]},
        "series": [
            {
                "keys": [variant],
                "method": variant,
                "name": label(variant),
                "x": shorts(AT, 3),
                "y": shorts(_noticed(scores.known[index], scores.strange[index]), 3),
                "plain": True,
            }
            for variant, (_, scores) in cells.items()
        ],
    }
    guess: Panel = {"keys": [], "name": "by chance", "x": shorts(AT, 3), "y": shorts(AT, 3), "plain": True, "kind": 2}
    caught["series"].append(guess)
    return [caught, *(_spread(variant, scores, index) for variant, (_, scores) in cells.items())]


def _noticed(known: np.ndarray, strange: np.ndarray) -> np.ndarray:
    """The share of strange objects above the threshold that flags a given share of known ones; a ROC curve."""
    limits = np.unique(np.concatenate([known, strange]))[::-1]
    alarms, found = (
        np.concatenate([[0.0], 1 - np.searchsorted(np.sort(values), limits, "left") / len(values), [1.0]])
        for values in (known, strange)
    )
    last = np.flatnonzero(np.append(np.diff(alarms) > 0, True))  # of equal alarms the most found
    return np.interp(AT, alarms[last], found[last])


def _spread(variant: str, scores: StrangeScores, index: int) -> Panel:
    known, strange = scores.known[index], scores.strange[index]
    # One far score would press all others into a single bin: the outermost bins hold what lies beyond them.
    low, high = (float(pick(np.quantile(each, q) for each in (known, strange))) for pick, q in ENDS)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    shares = [np.histogram(values.clip(edges[0], edges[-1]), edges)[0] / len(values) for values in (known, strange)]
    named: Panel = {"keys": [variant], "x": shorts(middle), "plain": True}
    return {
        "type": "lines",
        "title": f"Scores · {label(variant)}",
        "under": "share of objects; solid: strange ones, dashed: known ones; the ends hold what lies beyond",
        "x": {"label": "score, higher is stranger", "range": value_range([low, high])},
        "y": {"label": "share of objects", "log": False, "range": value_range([*shares[0], *shares[1]], 0.0)},
        "series": [
            named | {"name": "known", "y": shorts(shares[0], 3), "kind": 1},
            named | {"name": "strange", "y": shorts(shares[1], 3), "method": variant},
        ],
    }


def _table(cells: dict[str, tuple[StudyCell, StrangeScores]]) -> Table:
    rows = []
    for variant in sorted(cells, key=lambda name: TRUST.index(name) if name in TRUST else len(TRUST)):
        told = cells[variant][1].told_apart()
        numbers = (f"{told[name]['auroc']:.3f} ({percent(told[name]['false_alarms_at_95'])})" for name in SCORES)
        rows.append((Cell(label(variant), variant), *numbers))
    return Table(
        "AUROC, and in brackets the false alarms when 95 % are noticed",
        ("method", *HEADS),
        tuple(rows),
    )


def _about(stored: StrangeFolder, cells: dict[str, tuple[StudyCell, StrangeScores]], several: bool) -> str:
    counted = [f"{printable(name, 40)} ({count:,})" for name, count in stored.classes.items()]
    more = [f"{len(counted) - MAX_CLASSES} more classes"] if len(counted) > MAX_CLASSES else []
    (cell, scores), *_ = cells.values()
    graph = "" if cell.topology is None else f", {show_topology(cell.topology)} graph"
    snr = "" if cell.snr_db is None else f" at {decibels(cell.snr_db)}"
    seed = f", seed {cell.seed}" if several else ""
    return (
        f"Never learned: {', '.join(counted[:MAX_CLASSES] + more)}; known: {scores.known.shape[1]:,} test objects. "
        f"Best link of each method{graph}{snr}{seed}, agent 0, stored samples of θ. One θ, as an optimiser has, cannot "
        "disagree with itself: its mutual information is 0 and tells nothing. No threshold promises anything about "
        "classes that were not tried."
    )
