"""The minute on top: what was run, what came out, in sentences made of the numbers."""

import dataclasses
import math

import numpy as np

from airbayes.experiment.dataset import STATUS_CODES
from airbayes.report.files import RHAT_LIMIT
from airbayes.report.html.numbers import decibels, decimals
from airbayes.report.html.parts import Cell, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.html.sections.claims import TONES
from airbayes.report.paired import MIN_SEEDS
from airbayes.report.style import is_radio, short
from airbayes.text import plural

GAINS = {"optimal": "optimal gains", "common": "common gain"}
PROBLEMS = {
    "pointnet": "PointNet on lidar objects",
    "linear": "Bayesian linear regression, posterior known exactly",
    "softmax": "softmax regression on overlapping blobs",
    "mlp": "a perceptron on overlapping blobs",
}


@dataclasses.dataclass(frozen=True)
class Verdict:
    claim: str
    text: str
    variant: str
    method: str
    verdict: str
    tone: str


@dataclasses.dataclass(frozen=True)
class Summary:
    about: str
    facts: tuple[tuple[str, str], ...]  # (name, value)
    findings: tuple[str, ...]
    warnings: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    glance: Table | None


def summarise(run: Run) -> Summary:
    verdicts = tuple(
        Verdict(
            each.claim, each.text, name, GAINS.get(each.gains, each.gains), each.verdict, TONES.get(each.verdict, "dim")
        )
        for each in run.claims
        for name in (f"cd_dsgld:{each.gains}",)
    )
    findings = _linear_findings(run) if run.linear else _class_findings(run)
    return Summary(_about(run), _facts(run), tuple(findings), tuple(_warnings(run)), verdicts, _glance(run))


def _about(run: Run) -> str:
    config = run.config
    problem = PROBLEMS.get(config.problem.kind, config.problem.kind)
    if config.problem.kind == "pointnet":
        problem += " (simulated)" if config.lidar.source == "simulated" else " (an object set)"
    agents = plural(config.network.agents, "agent")
    return f"{problem[0].upper()}{problem[1:]}, learned together by {agents} over a radio network."


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    config = run.config
    names = [show_topology(name) for name in run.topologies]
    graphs = ", ".join(names) if len(names) <= 4 else f"{len(names)} graphs or scenarios"
    snrs = (
        decibels(run.snrs[0]) + (f" to {decibels(run.snrs[-1])}" if len(run.snrs) > 1 else "")
        if run.snrs
        else "ideal links"
    )
    facts = [
        ("methods", str(len(run.variants))),
        ("graphs", graphs or "none"),
        ("SNR", snrs),
        ("seeds", str(run.seeds)),
        ("iterations", f"{config.sampling.steps:,}"),
        ("cells", f"{int((run.dataset.status > 0).sum()):,}"),
    ]
    if run.num_params is not None:
        facts.insert(1, ("parameters", f"{run.num_params:,}"))
    return tuple(facts)


def _mean(run: Run, variant: str, metric: str, snr: float) -> float:
    """Over graphs and seeds, at an SNR (ideal links for a method without a radio)."""
    values = []
    for topology in dict.fromkeys(run.place(variant, name) for name in run.topologies or ["none"]):
        cells = run.cells(variant, topology, snr)
        if cells is not None and metric in cells:
            values.append(cells.mean(metric))
    known = [value for value in values if math.isfinite(value)]
    return float(np.mean(known)) if known else math.nan


def _glance(run: Run) -> Table | None:
    """Every method at the lowest and highest SNR."""
    metrics = (
        (("w2_agent", "W2"), ("w2_network", "W2, network"))
        if run.linear
        else (("accuracy", "accuracy"), ("ece", "ECE"))
    )
    if metrics[0][0] not in run.dataset or run.scenarios:
        return None
    ends = list(dict.fromkeys((run.snrs[0], run.snrs[-1]))) if run.snrs else [math.inf]
    mixed = len({is_radio(variant) for variant in run.variants}) > 1  # else a column that says one thing
    rows = []
    for variant in run.variants:
        radio = is_radio(variant)
        numbers = []
        for index, snr in enumerate(ends):
            accuracy = math.nan if run.linear else _mean(run, variant, "accuracy", snr)
            for metric, _ in metrics:
                value = _mean(run, variant, metric, snr)
                if not radio and index < len(ends) - 1:
                    numbers.append(Cell("–", tone="dim"))
                elif not math.isfinite(value):
                    numbers.append(Cell("diverged", tone="bad"))
                elif metric == "ece" and accuracy <= run.collapse_floor:
                    numbers.append(Cell("(guesses)", tone="bad"))
                else:
                    low = metric == "accuracy" and value <= run.collapse_floor
                    numbers.append(Cell(decimals(value), tone="bad" if low else None))
        links = ("radio" if radio else "ideal",) if mixed else ()
        rows.append((Cell(short(variant), variant), *links, *numbers))
    names = ("method", "links") if mixed else ("method",)
    head = (*names, *(f"{name}, {decibels(snr)}" for snr in ends for _, name in metrics))
    return Table("Mean over graphs, seeds and agents", head, tuple(rows), words=tuple(range(len(names))))


def _class_findings(run: Run) -> list[str]:
    if "accuracy" not in run.dataset:
        return []
    found = []
    if run.snrs and not run.scenarios:
        top = run.snrs[-1]
        pairs = [(v, _mean(run, v, "accuracy", top), _mean(run, v, "ece", top)) for v in run.variants if is_radio(v)]
        known = [(short(v), a, e) for v, a, e in pairs if math.isfinite(a)]
        if known:
            said = "; ".join(
                f"{name} guesses"
                if a <= run.collapse_floor
                else f"{name} is right in {100 * a:.0f} % of cases with an ECE of {e:.2f}"
                for name, a, e in known
            )
            found.append(f"At {decibels(top)}: {said}.")
    fallen = _collapsed(run)
    for variant, places in fallen.items():
        where = "; ".join(f"{name} at {', '.join(snrs)}" for name, snrs in list(places.items())[:4])
        more = f"; and {len(places) - 4} more graphs" if len(places) > 4 else ""
        found.append(f"{short(variant)} collapses to near guessing: {where}{more}.")
    if not fallen and bool((run.dataset.status == STATUS_CODES["ok"]).any()):
        found.append("Nothing collapsed to guessing.")
    return found


def _collapsed(run: Run) -> dict[str, dict[str, list[str]]]:
    """Variant → graph → SNRs at which the mean accuracy is near chance."""
    found: dict[str, dict[str, list[str]]] = {}
    for variant in run.variants:
        for topology in dict.fromkeys(run.place(variant, name) for name in run.topologies or ["none"]):
            for snr in (run.snrs or [math.inf]) if is_radio(variant) else [math.inf]:
                cells = run.cells(variant, topology, snr)
                if cells is None:
                    continue
                accuracy = cells.mean("accuracy")
                if accuracy <= run.collapse_floor:
                    found.setdefault(variant, {}).setdefault(show_topology(topology), []).append(decibels(snr))
    return found


def _linear_findings(run: Run) -> list[str]:
    if "w2_agent" not in run.dataset or not run.snrs:
        return []
    found = []
    for variant in run.variants:
        if is_radio(variant):
            low, high = (_mean(run, variant, "w2_agent", snr) for snr in (run.snrs[0], run.snrs[-1]))
            if math.isfinite(low) and math.isfinite(high):
                found.append(
                    f"{short(variant)}: one agent is {decimals(low)} from the exact posterior at "
                    f"{decibels(run.snrs[0])} and {decimals(high)} at {decibels(run.snrs[-1])}."
                )
    if run.transitions:
        said = ", ".join(f"{decibels(round(snr, 1))} on {show_topology(name)}" for name, snr in run.transitions.items())
        found.append(f"The power limit was predicted to bite below {said}.")
    return found


def _warnings(run: Run) -> list[str]:
    found = []
    status = run.dataset.status
    diverged, present = int((status == STATUS_CODES["diverged"]).sum()), int((status > 0).sum())
    if diverged:
        found.append(f"{plural(diverged, 'cell')} of {present} diverged; they are marked with a cross and in no mean.")
    if run.seeds < MIN_SEEDS and not run.linear:
        found.append(f"{plural(run.seeds, 'seed')}: a verdict needs {MIN_SEEDS}. Read differences as an illustration.")
    if run.dataset.attrs.get("evaluated_on") == "validation":
        found.append("Scores are on validation objects, for tuning; no claim is scored on them.")
    if "rhat" in run.dataset:
        poor, known = int((run.dataset.rhat > RHAT_LIMIT).sum()), int(run.dataset.rhat.notnull().sum())
        if poor:
            found.append(
                f"R-hat is above {RHAT_LIMIT} in {poor} of {plural(known, 'sampled cell')}: "
                "chains there have not mixed."
            )
    if "kept_max" in run.dataset and bool((run.dataset.kept_max == 0).any()):
        found.append("Q-DSGD sent nothing in some cells: not one coordinate fits into their blocks.")
    return found
