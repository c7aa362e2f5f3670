"""The minute on top: what was run, what came out, in sentences made of the numbers."""

import dataclasses
import math

import numpy as np

from airbayes.experiment.dataset import NO_TOPOLOGY, STATUS_CODES
from airbayes.experiment.decisions import instead
from airbayes.experiment.trained import TRUST
from airbayes.report.claims import GRAPHS, missing_for_claims
from airbayes.report.files import RHAT_LIMIT, partition_words
from airbayes.report.html.numbers import decibels, decimals
from airbayes.report.html.parts import Cell, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.html.sections.claims import TONES
from airbayes.report.html.sections.faults import worst_faults
from airbayes.report.html.sections.gaussian import width_words
from airbayes.report.html.sections.strange import strange_words
from airbayes.report.paired import MIN_SEEDS
from airbayes.report.style import is_radio, short
from airbayes.text import percent, plural

MAX_PLACES = 4  # graphs named where a method collapses
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
    findings = _linear_findings(run) if run.linear else [*_class_findings(run), *_decision_findings(run)]
    return Summary(_about(run), _facts(run), tuple(findings), tuple(_warnings(run)), verdicts, glance(run))


def _about(run: Run) -> str:
    config = run.config
    problem = PROBLEMS.get(config.problem.kind, config.problem.kind)
    if config.problem.kind == "pointnet":
        problem += " (simulated)" if config.lidar.source == "simulated" else " (an object set)"
    agents = plural(config.network.agents, "agent")
    links = "a radio network" if run.snrs else "ideal links, without a radio"
    learned = f"learned together by {agents} over {links}" if run.topologies else "learned without a network"
    return f"{problem[0].upper()}{problem[1:]}, {learned}."


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


def _guessing(run: Run, variant: str, snr: float) -> tuple[int, int]:
    """How many runs of a variant at an SNR guess, over graphs and seeds, and how many there are."""
    places = dict.fromkeys(run.place(variant, name) for name in run.topologies or ["none"])
    found = [cells for place in places if (cells := run.cells(variant, place, snr)) is not None]
    return sum(int(run.collapsed(cells)) for cells in found), sum(int(cells.scored) for cells in found)


def glance(run: Run) -> Table | None:
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
    rows, partly = [], False
    for variant in run.variants:
        radio = is_radio(variant)
        numbers = []
        for index, snr in enumerate(ends):
            guessing, scored = (0, 0) if run.linear else _guessing(run, variant, snr)
            for metric, _ in metrics:
                value = _mean(run, variant, metric, snr)
                if not radio and index < len(ends) - 1:
                    numbers.append(Cell("–", tone="dim"))
                elif not math.isfinite(value):
                    numbers.append(Cell("diverged", tone="bad"))
                elif metric == "ece" and guessing == scored > 0:
                    numbers.append(Cell("(guesses)", tone="bad"))
                else:
                    some = metric == "ece" and guessing > 0
                    partly |= some
                    tone = "bad" if metric == "accuracy" and guessing == scored > 0 else None
                    numbers.append(Cell(decimals(value) + (" *" if some else ""), tone=tone))
        links = ("radio" if radio else "ideal",) if mixed else ()
        rows.append((Cell(short(variant), variant), *links, *numbers))
    names = ("method", "links") if mixed else ("method",)
    head = (*names, *(f"{name}, {decibels(snr)}" for snr in ends for _, name in metrics))
    caption = "Mean over graphs, seeds and agents" + ("; * some of these runs guess" if partly else "")
    return Table(caption, head, tuple(rows), words=tuple(range(len(names))))


def _class_findings(run: Run) -> list[str]:
    if "accuracy" not in run.dataset:
        return []
    found = []
    if run.snrs and not run.scenarios:
        top = run.snrs[-1]
        said = [words for v in run.variants if is_radio(v) and (words := _at(run, v, top))]
        if said:
            found.append(f"At {decibels(top)}: {'; '.join(said)}.")
    said = [words for v in run.variants if not is_radio(v) and (words := _at(run, v, math.inf))]
    if said and not run.scenarios:
        found.append(f"Without a radio: {'; '.join(said)}.")
    found += worst_faults(run)
    fallen = _collapsed(run)
    for variant, places in fallen.items():
        where = "; ".join(f"{name}{snrs}" for name, snrs in list(places.items())[:MAX_PLACES])
        more = f"; and {len(places) - MAX_PLACES} more graphs" if len(places) > MAX_PLACES else ""
        found.append(f"{short(variant)} collapses to near guessing: {where}{more}.")
    if not fallen and bool((run.dataset.status == STATUS_CODES["ok"]).any()):
        found.append("Nothing collapsed to guessing.")
    return found


def _at(run: Run, variant: str, snr: float) -> str:
    """What a variant scores at an SNR, in words; nothing where it did not end well."""
    accuracy, ece = _mean(run, variant, "accuracy", snr), _mean(run, variant, "ece", snr)
    guessing, scored = _guessing(run, variant, snr)
    if not math.isfinite(accuracy):
        return ""
    if guessing == scored:
        return f"{short(variant)} guesses"
    some = f" (of its {scored} runs {guessing} {'guesses' if guessing == 1 else 'guess'})" if guessing else ""
    return f"{short(variant)} is right in {percent(accuracy)} of cases with an ECE of {ece:.2f}{some}"


def _collapsed(run: Run) -> dict[str, dict[str, str]]:
    """Variant → graph → where seeds guess there: " at 0 dB, 5 dB, 10 dB (5 of 8 seeds)"."""
    found: dict[str, dict[str, str]] = {}
    for variant in run.variants:
        for topology in dict.fromkeys(run.place(variant, name) for name in run.topologies or ["none"]):
            places = []
            for snr in (run.snrs or [math.inf]) if is_radio(variant) else [math.inf]:
                cells = run.cells(variant, topology, snr)
                if cells is None or not (guessing := int(run.collapsed(cells))):
                    continue
                seeds = int(cells.scored)
                some = f" ({guessing} of {seeds} seeds)" if guessing < seeds else ""
                places.append((f" at {decibels(snr)}" if is_radio(variant) else "") + some)
            if places:
                words = ",".join([places[0], *(place.replace(" at ", " ", 1) for place in places[1:])])
                name = "" if topology == NO_TOPOLOGY else show_topology(topology)
                found.setdefault(variant, {})[name] = words if name else words.strip(" ()") or "every seed"
    return found


def _decision_findings(run: Run) -> list[str]:
    """Whether the method to trust may answer alone, what its prediction sets hold, and what it makes of the strange."""
    graph, snr = (run.topologies or [NO_TOPOLOGY])[0], run.snrs[-1] if run.snrs else math.inf
    trusted = sorted(run.variants, key=lambda name: TRUST.index(name) if name in TRUST else len(TRUST))
    records = [(variant, record) for variant in trusted if (record := run.decision(variant, graph, snr))]
    strange = strange_words(run)
    if not records or records[0][1]["threshold"] is None:
        return [strange] if strange else []
    variant, record = records[0]
    threshold, sets, promise = record["threshold"], record["sets"]["lac"], record["promise"]
    place = "" if run.place(variant, graph) == NO_TOPOLOGY else f"{show_topology(graph)}, "
    place += decibels(snr) if is_radio(variant) else "ideal links"
    asked = f"at most {percent(promise['max_error'])} wrong answers"
    if threshold["answers"] == "never":
        held = plural(record["objects"]["validation_instances"], "validation object")
        other = instead(threshold["least_error"], "`airbayes decide RUN --max-error {}`")
        says = f"No: {held} cannot promise {asked}{other}"
    else:
        above = "" if threshold["answers"] == "always" else f" with a confidence above {threshold['value']:.3f}"
        wrong = percent(threshold["test_error"], 1)
        says = (
            f"Yes{above}: it answers {percent(threshold['test_coverage'])} of the test objects, {wrong} of them wrong"
        )
        says += f", with {asked} promised"
    low, high = sets["expected"]
    return [
        f"May {short(variant)} answer alone ({place})? {says}.",
        f"Its prediction sets, {sets['mean_size']:.1f} classes on average, hold the truth in "
        f"{percent(sets['coverage'])} of cases; {percent(promise['coverage'])} were wanted, "
        f"{100 * low:.0f} to {percent(high)} are to be expected.",
        *([strange] if strange else []),
    ]


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
    if found and (words := width_words(run)):
        found.append(words)
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
        needed = f" a verdict needs {MIN_SEEDS}." if run.claims else ""
        reading = (
            "Read differences as an illustration" if len(run.variants) > 1 else "Other seeds may come out otherwise"
        )
        found.append(f"{plural(run.seeds, 'seed')}{':' if needed else '.'}{needed} {reading}.")
    if run.dataset.attrs.get("evaluated_on") == "validation":
        found.append("Scores are on validation objects, for tuning; no claim is scored on them.")
    if "rhat" in run.dataset:
        poor, known = int((run.dataset.rhat > RHAT_LIMIT).sum()), int(run.dataset.rhat.notnull().sum())
        if poor:
            found.append(
                f"R-hat is above {RHAT_LIMIT} in {poor} of {plural(known, 'sampled cell')}: "
                "chains there have not mixed."
            )
    if words := partition_words(run.dataset, show_topology):
        found.append(words)
    if any(variant.startswith("cd_") for variant in run.variants) and "power_used_mean" not in run.dataset:
        found.append("No CD-DSGLD run ended well: nothing is known of its power, its gains and the transition.")
    tuning = run.dataset.attrs.get("evaluated_on") == "validation"
    if not run.claims and not run.linear and not tuning and not missing_for_claims(run.dataset):
        graphs = ", ".join(GRAPHS)
        found.append(f"The paper's claims are not scored: they are of {graphs} at low and at high SNR.")
    if "kept_max" in run.dataset and bool((run.dataset.kept_max == 0).any()):
        found.append("Q-DSGD sent nothing in some cells: not one coordinate fits into their blocks.")
    return found
