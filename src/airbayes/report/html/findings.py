"""What came out, in sentences made of the numbers."""

import math

import numpy as np

from airbayes.experiment.dataset import NO_TOPOLOGY, STATUS_CODES
from airbayes.experiment.decisions import why_never
from airbayes.report.html.numbers import decibels, decimals
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.html.sections.faults import worst_faults
from airbayes.report.html.sections.gaussian import width_words
from airbayes.report.html.sections.strange import strange_words
from airbayes.report.style import is_radio, short
from airbayes.text import percent

MAX_PLACES = 4  # graphs named where a method collapses
APART = 0.05  # of accuracy: agents that differ by less are as good as each other


def findings(run: Run) -> list[str]:
    return _linear_findings(run) if run.linear else [*_class_findings(run), *_decision_findings(run)]


def mean_at(run: Run, variant: str, metric: str, snr: float) -> float:
    """Over graphs and seeds, at an SNR (ideal links for a method without a radio)."""
    values = []
    for topology in dict.fromkeys(run.place(variant, name) for name in run.topologies or ["none"]):
        cells = run.cells(variant, topology, snr)
        if cells is not None and metric in cells:
            values.append(cells.mean(metric))
    known = [value for value in values if math.isfinite(value)]
    return float(np.mean(known)) if known else math.nan


def guessing_runs(run: Run, variant: str, snr: float) -> tuple[int, int]:
    """How many runs of a variant at an SNR guess, over graphs and seeds, and how many there are."""
    places = dict.fromkeys(run.place(variant, name) for name in run.topologies or ["none"])
    found = [cells for place in places if (cells := run.cells(variant, place, snr)) is not None]
    return sum(int(run.collapsed(cells)) for cells in found), sum(int(cells.scored) for cells in found)


def _class_findings(run: Run) -> list[str]:
    if "accuracy" not in run.dataset:
        return []
    found = []
    if run.curves is not None:
        found += _scores(run.curves, "Outside the fault scenarios, " if run.scenarios else "")
    found += worst_faults(run)
    fallen = _collapsed(run)
    for variant, places in fallen.items():
        where = "; ".join(f"{name}{snrs}" for name, snrs in list(places.items())[:MAX_PLACES])
        more = f"; and {len(places) - MAX_PLACES} more graphs" if len(places) > MAX_PLACES else ""
        found.append(f"{short(variant)} ends near guessing: {where}{more}.")
    if not fallen and bool((run.dataset.status == STATUS_CODES["ok"]).any()):
        found.append("Nothing ends near guessing.")
    return found


def _scores(run: Run, where: str) -> list[str]:
    """What each method scores at the highest SNR, and over ideal links."""
    found, at, without = [], f"{where}at" if where else "At", f"{where}without" if where else "Without"
    if run.snrs:
        top = run.snrs[-1]
        said = [words for v in run.variants if is_radio(v) and (words := _at(run, v, top))]
        if said:
            found.append(f"{at} {decibels(top)}: {'; '.join(said)}.")
    said = [words for v in run.variants if not is_radio(v) and (words := _at(run, v, math.inf))]
    if said:
        found.append(f"{without} a radio: {'; '.join(said)}.")
    return found


def _at(run: Run, variant: str, snr: float) -> str:
    """What a variant scores at an SNR, in words; nothing where it did not end well."""
    accuracy, ece = mean_at(run, variant, "accuracy", snr), mean_at(run, variant, "ece", snr)
    guessing, scored = guessing_runs(run, variant, snr)
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
    strange = strange_words(run)
    if run.trusted is None or run.decisions[run.trusted]["threshold"] is None:
        return [strange] if strange else []
    variant, graph, snr = run.trusted
    record = run.decisions[run.trusted]
    threshold, sets, promise = record["threshold"], record["sets"]["lac"], record["promise"]
    place = "" if graph == NO_TOPOLOGY else f"{show_topology(graph)}, "
    place += decibels(snr) if is_radio(variant) else "ideal links"
    place += ", first seed" if run.seeds > 1 else ""
    asked = f"at most {percent(promise['max_error'])} wrong answers"
    if threshold["answers"] == "never":
        held, rate = record["objects"]["validation_instances"], promise["max_error"]
        option = "`airbayes decide RUN --max-error {}`"
        why = why_never(held, threshold["validation_needed"], rate, threshold["least_error"], option)
        says = f"No, {asked} cannot be promised: {why}"
    else:
        above = "" if threshold["answers"] == "always" else f" with a confidence above {threshold['value']:.3f}"
        wrong = percent(threshold["test_error"], 1)
        says = (
            f"Yes{above}: it answers {percent(threshold['test_coverage'])} of the test objects, {wrong} of them wrong"
        )
        says += f", with {asked} promised"
    low, high = sets["expected"]
    return [
        f"May {short(variant)} answer alone ({place}, agent 0)? {says}.{_other_agents(record)}",
        f"Its prediction sets, {sets['mean_size']:.1f} classes on average, hold the truth in "
        f"{percent(sets['coverage'])} of cases; {percent(promise['coverage'])} were wanted, "
        f"{100 * low:.0f} to {percent(high)} are to be expected.",
        *([strange] if strange else []),
    ]


def _other_agents(record: dict) -> str:
    """Promises are those of one agent: where the agents differ, by how much."""
    low, high = record["accuracy_of_agents"] or (0.0, 0.0)
    if high - low < APART:
        return ""
    own = percent(record["accuracy"])
    return f" Agent 0 is right in {own} of cases, the agents in {100 * low:.0f} to {percent(high)}."


def _linear_findings(run: Run) -> list[str]:
    if "w2_agent" not in run.dataset:
        return []
    outside = "Outside the fault scenarios, " if run.scenarios and run.curves is not None else ""
    run, found, ideal = run.curves or run, [], []
    for variant in run.variants:
        if is_radio(variant):
            low, high = (mean_at(run, variant, "w2_agent", snr) for snr in (run.snrs[0], run.snrs[-1]))
            if math.isfinite(low) and math.isfinite(high):
                best = f" and {decimals(high)} at {decibels(run.snrs[-1])}" if len(run.snrs) > 1 else ""
                found.append(
                    f"{outside}{short(variant)}: one agent is {decimals(low)} from the exact posterior at "
                    f"{decibels(run.snrs[0])}{best}."
                )
        elif math.isfinite(error := mean_at(run, variant, "w2_agent", math.inf)):
            ideal.append(f"{short(variant)} is {decimals(error)} from the exact posterior")
    if ideal:
        said = f"without a radio: {'; '.join(ideal)}."
        found.append(f"{outside}{said}" if outside else said[0].upper() + said[1:])
    if found and (words := width_words(run)):
        found.append(words)
    if run.transitions:
        said = ", ".join(f"{decibels(round(snr, 1))} on {show_topology(name)}" for name, snr in run.transitions.items())
        found.append(f"The power limit was predicted to bite below {said}.")
    return found
