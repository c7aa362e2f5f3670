"""The minute on top: what was run, what came out, every method at a glance, and what to be careful about."""

import dataclasses
import math
from collections.abc import Collection

from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.dataset import STATUS_CODES
from airbayes.experiment.scenario import CHANNEL_RATES, own_settings
from airbayes.report.claims import GRAPHS, missing_for_claims
from airbayes.report.faults_figure import NAMES, fault_words
from airbayes.report.files import RHAT_LIMIT, partition_words, silence_words
from airbayes.report.html.findings import MAX_PLACES, findings, guessing_runs, mean_at
from airbayes.report.html.glossary import glossary
from airbayes.report.html.numbers import decibels, decimals
from airbayes.report.html.parts import Cell, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.html.sections.claims import TONES
from airbayes.report.paired import MIN_SEEDS
from airbayes.report.style import is_radio, short
from airbayes.report.tables import same_law
from airbayes.text import listed, plural

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
    names: Table


def summarise(run: Run) -> Summary:
    verdicts = tuple(
        Verdict(
            each.claim, each.text, name, GAINS.get(each.gains, each.gains), each.verdict, TONES.get(each.verdict, "dim")
        )
        for each in run.claims
        for name in (f"cd_dsgld:{each.gains}",)
    )
    return Summary(
        _about(run), _facts(run), tuple(findings(run)), tuple(_warnings(run)), verdicts, glance(run), glossary(run)
    )


def _about(run: Run) -> str:
    config = run.config
    problem = PROBLEMS.get(config.problem.kind, config.problem.kind)
    if config.problem.kind == "pointnet":
        problem += " (simulated)" if config.lidar.source == "simulated" else " (an object set)"
    agents = plural(config.network.agents, "agent")
    links = "a radio network" if run.snrs else "ideal links, without a radio"
    learned = f"learned together by {agents} over {links}" if run.topologies else "learned without a network"
    return f"{problem[0].upper()}{problem[1:]}, {learned}."


def graph_words(run: Run) -> str:
    """The graphs of a run by name, or how many there are. Names of scenarios hold commas."""
    names = [show_topology(name) for name in run.topologies]
    if len(names) > MAX_PLACES:
        return f"{len(names)} graphs or scenarios"
    return ("; " if any(", " in name for name in names) else ", ").join(names) or "none"


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    config = run.config
    snrs = (
        decibels(run.snrs[0]) + (f" to {decibels(run.snrs[-1])}" if len(run.snrs) > 1 else "")
        if run.snrs
        else "ideal links"
    )
    facts = [
        ("methods", str(len(run.variants))),
        ("graphs", graph_words(run)),
        ("SNR", snrs),
        ("seeds", str(run.seeds)),
        ("iterations", f"{config.sampling.steps:,}"),
        ("cells", f"{int((run.dataset.status > 0).sum()):,}"),
    ]
    if run.num_params is not None:
        facts.insert(1, ("parameters", f"{run.num_params:,}"))
    return tuple(facts)


def glance(run: Run, also: Collection[float] = ()) -> Table | None:
    """Every method at the lowest and highest SNR, and at those of `also` that the run has."""
    metrics = (
        (("w2_agent", "W2"), ("w2_network", "W2, network"))
        if run.linear
        else (("accuracy", "accuracy"), ("ece", "ECE"))
    )
    if metrics[0][0] not in run.dataset or run.curves is None:
        return None
    graphs, run = "graphs outside the fault scenarios" if run.scenarios else "graphs", run.curves
    ends = [snr for snr in run.snrs if snr in (run.snrs[0], run.snrs[-1], *also)] or [math.inf]
    mixed = len({is_radio(variant) for variant in run.variants}) > 1  # else a column that says one thing
    rows, partly, wholly = [], False, False
    for variant in run.variants:
        radio = is_radio(variant)
        numbers = []
        for index, snr in enumerate(ends):
            guessing, scored = (0, 0) if run.linear else guessing_runs(run, variant, snr)
            for metric, _ in metrics:
                value = mean_at(run, variant, metric, snr)
                if not radio and index < len(ends) - 1:
                    numbers.append(Cell("–", tone="dim"))
                elif not math.isfinite(value):
                    numbers.append(Cell("diverged", tone="bad"))
                elif metric == "ece" and guessing == scored > 0:
                    wholly = True
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
    caption = f"Mean over {graphs}, seeds and agents" + ("; * some of these runs guess" if partly else "")
    caption += f"; who guesses has a {run.floor_words}" if partly or wholly else ""
    return Table(caption, head, tuple(rows), words=tuple(range(len(names))))


def _warnings(run: Run) -> list[str]:
    found = []
    status = run.dataset.status
    diverged, present = int((status == STATUS_CODES["diverged"]).sum()), int((status > 0).sum())
    if diverged:
        found.append(
            "Every cell diverged, so there is nothing to score. "
            if diverged == present
            else f"{plural(diverged, 'cell')} of {present} diverged; they are marked with a cross and in no mean. "
        )
        tamed = "" if run.config.sampling.drift == "tamed" else ' or `sampling.drift = "tamed"`'
        found[-1] += f"A smaller step (`sampling.eta`){tamed} keeps chains from it."
    if run.seeds < MIN_SEEDS and not run.linear and diverged < present:
        needed = f" a verdict needs {MIN_SEEDS}." if run.claims else ""
        reading = (
            "Read differences as an illustration" if len(run.variants) > 1 else "Other seeds may come out otherwise"
        )
        found.append(f"{plural(run.seeds, 'seed')}{':' if needed else '.'}{needed} {reading}.")
    if words := _same_law_words(run):
        found.append(words)
    if run.dataset.attrs.get("evaluated_on") == "validation":
        found.append("Scores are on validation objects, for tuning; no claim is scored on them.")
    if "rhat" in run.dataset:
        poor, known = int((run.dataset.rhat > RHAT_LIMIT).sum()), int(run.dataset.rhat.notnull().sum())
        if poor:
            found.append(
                f"R-hat is above {RHAT_LIMIT} in {poor} of {plural(known, 'sampled cell')}: "
                "chains there have not mixed."
            )
    if words := _fault_words(run.config):
        found.append(words)
    if words := partition_words(run.dataset, show_topology):
        found.append(words)
    if any(variant.startswith("cd_") for variant in run.variants) and "power_used_mean" not in run.dataset:
        found.append("No CD-DSGLD run ended well: nothing was measured of its power and its gains.")
    tuning = run.dataset.attrs.get("evaluated_on") == "validation"
    if not run.claims and not run.linear and not tuning and not missing_for_claims(run.dataset):
        graphs = ", ".join(GRAPHS)
        found.append(f"The paper's claims are not scored: they are of {graphs} at low and at high SNR.")
    if words := silence_words(run.dataset, run.config, show_topology):
        found.append(words)
    return found


def _fault_words(config: ExperimentConfig) -> str:
    """What was set to fail in the whole study; a scenario has its own rates in its name."""
    idle = {"attack_rate": not config.network.attackers, "jam_rate": not config.channel.jammed}
    rates = {name: getattr(config.channel if name in CHANNEL_RATES else config.network, name) for name in NAMES}
    said = ", ".join(fault_words(name, rate) for name, rate in rates.items() if rate > 0 and not idle.get(name))
    scenarios = any(own_settings(name) for name in config.network.topologies)
    return f"Faults on every graph{' without a rate of its own' * scenarios}: {said}." if said else ""


def _same_law_words(run: Run) -> str:
    """Where two gain policies are one sampler, so that nobody takes their difference for a finding."""
    same = same_law(run.dataset)
    if not same.any():
        return ""
    places: dict[str, list[str]] = {}
    for name in run.topologies:
        if at := ", ".join(decibels(snr) for snr in run.snrs if same.sel(topology=name, snr_db=snr)):
            places.setdefault(at, []).append(show_topology(name))
    where = "; ".join(
        f"{', '.join(names[:MAX_PLACES])}{' …' * (len(names) > MAX_PLACES)} at {at}" for at, names in places.items()
    )
    policies = listed(short(variant) for variant in run.variants if variant.startswith("cd_"))
    return f"{policies} are one sampler where every gain is 1 ({where}): what they differ by there is chance."
