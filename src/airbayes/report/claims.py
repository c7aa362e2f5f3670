"""The paper's four claims about its Fig. 2, scored on a results Dataset. `docs/claims.md` explains the rules.

C1  high SNR:                ECE(CD) < ECE(Q)             on full, star and ring
C2  low SNR:                 accuracy(CD) < accuracy(Q)   on star and ring
C3  high SNR:                accuracy(CD) > accuracy(Q)   on full, star and ring
C4  every SNR, full graph:   accuracy(CD) > accuracy(Q) and ECE(CD) < ECE(Q)

Low is 0–5 dB, high 25–30 dB, the whole axis 0–30 dB, at the points the study has there. C1 to C3 judge each graph on
the per-seed mean over the band; C4 judges every point by itself. A claim holds when every interval it needs excludes 0
on the claimed side, does not hold when any excludes 0 on the other side, and is undecided otherwise. In C4 points with
vacuous ECE are left out of the ECE half, but their accuracy still counts: a collapsed model cannot win there.
"""

import dataclasses
import json
from pathlib import Path
from typing import Literal

import xarray as xr

from airbayes.errors import ResultsError
from airbayes.experiment.dataset import CELL_DIMS
from airbayes.experiment.scenario import graph_name, simulated_faults
from airbayes.experiment.store import CLAIMS_FILE
from airbayes.files import write_text
from airbayes.report.chance import accuracy_name, collapse_floor, config_of, num_classes
from airbayes.report.paired import (
    LEVEL,
    MIN_SEEDS,
    RESAMPLES,
    Effect,
    Metric,
    Pair,
    Verdict,
    read_pair,
)
from airbayes.report.plain import plain_part
from airbayes.text import plural

DIGITAL = "q_dsgd"
GAINS = ("optimal", "common")  # the paper's power policy, then ours
GRAPHS = ("full", "star", "ring")  # the paper's; others in a study are not part of its claims
LOW, HIGH = (0.0, 5.0), (25.0, 30.0)  # dB

Band = Literal["low", "high", "whole"]


@dataclasses.dataclass(frozen=True)
class Claim:
    name: str
    text: str
    band: Band
    graphs: tuple[str, ...]
    parts: tuple[tuple[Metric, int], ...]  # (metric, sign of CD − Q that the paper claims)


CLAIMS = (
    Claim("C1", "at high SNR CD-DSGLD is better calibrated", "high", GRAPHS, (("ece", -1),)),
    Claim("C2", "at low SNR on star and ring CD-DSGLD is less accurate", "low", ("star", "ring"), (("accuracy", -1),)),
    Claim("C3", "at high SNR CD-DSGLD is more accurate", "high", GRAPHS, (("accuracy", 1),)),
    Claim(
        "C4",
        "on the full graph CD-DSGLD is more accurate and better calibrated at every SNR",
        "whole",
        ("full",),
        (("accuracy", 1), ("ece", -1)),
    ),
)


@dataclasses.dataclass(frozen=True)
class ClaimRecord:
    """A claim with its verdict for one power policy, and every comparison behind it."""

    claim: str
    text: str
    gains: str
    verdict: Verdict
    reasons: tuple[str, ...]  # why it is not plainly "holds"
    effects: tuple[Effect, ...]
    accuracy: str = "accuracy"  # the variable that its comparisons of accuracy are of


def claims_table(dataset: xr.Dataset) -> list[ClaimRecord]:
    """All four claims for `optimal`, then for `common`, as far as the study has them."""
    missing = missing_for_claims(dataset)
    if missing:
        raise ResultsError(
            "The claims compare CD-DSGLD with Q-DSGD on a classification problem; "
            f"these results lack {', '.join(missing)}. Run cd_dsgld and q_dsgd on one, with nothing that fails."
        )
    chance = 1.0 / num_classes(dataset)
    records = []
    for gains in GAINS:
        variant = f"cd_dsgld:{gains}"
        if variant in dataset.method.values:
            pairs = {graph: read_pair(dataset, variant, DIGITAL, graph, chance) for graph in GRAPHS}
            scored = [score(claim, gains, pairs) for claim in CLAIMS]
            records += [dataclasses.replace(each, accuracy=accuracy_name(dataset)) for each in scored]
    return records


def missing_for_claims(dataset: xr.Dataset) -> list[str]:
    """What the claims need and these results do not have; empty when they can be scored."""
    methods = [str(name) for name in dataset.method.values]
    missing = [] if DIGITAL in methods else [DIGITAL]
    if not any(f"cd_dsgld:{gains}" in methods for gains in GAINS):
        missing.append("cd_dsgld with gains " + " or ".join(GAINS))
    if has_faults(dataset):
        missing.append("a radio network without faults or gain errors, as the paper's")
    for name in ("accuracy", "ece"):
        if name not in dataset or dataset[name].dims != CELL_DIMS:
            missing.append(f"the variable {name}")
    return missing


def has_faults(dataset: xr.Dataset) -> bool:
    """Whether the radio network failed on purpose: then it is not the study that the paper's claims are about."""
    if plain_part(dataset) is None:  # all have rates of their own, or are what those are compared with
        return True
    if "config_toml" not in dataset.attrs:
        return False
    config = config_of(dataset)
    plain = tuple(name for name in config.network.topologies if graph_name(name) == name)
    network = dataclasses.replace(config.network, topologies=plain)
    return bool(plain) and simulated_faults(dataclasses.replace(config, network=network)).any_fault


def score(claim: Claim, gains: str, pairs: dict[str, Pair]) -> ClaimRecord:
    effects: list[Effect] = []
    verdicts: list[Verdict] = []
    for metric, sign in claim.parts:
        part = []
        for graph in claim.graphs:
            snrs = band_snrs(claim.band, pairs[graph].snr_db)
            # Over the whole axis every SNR is a comparison of its own; otherwise the band is one.
            groups = [(snr,) for snr in snrs] if claim.band == "whole" and snrs else [snrs]
            part += [pairs[graph].compare(metric, sign, group) for group in groups]
        effects += part
        found = [effect.verdict for effect in part]
        verdicts.append(combine_points(found) if claim.band == "whole" else combine(found))
    absent = tuple(graph for graph in claim.graphs if not pairs[graph].in_study)
    why = reasons(claim, effects, absent)
    return ClaimRecord(claim.name, claim.text, gains, combine(verdicts), why, tuple(effects))


def combine(verdicts: list[Verdict]) -> Verdict:
    """One counter-example settles it; otherwise all must agree."""
    if "does not hold" in verdicts:
        return "does not hold"
    return verdicts[0] if len(set(verdicts)) == 1 else "undecided"


def combine_points(verdicts: list[Verdict]) -> Verdict:
    """Points of one axis: those with vacuous ECE are left out, unless there are no others."""
    return combine([verdict for verdict in verdicts if verdict != "vacuous"] or verdicts)


def band_snrs(band: Band, snrs: tuple[float, ...]) -> tuple[float, ...]:
    """The study's points in Fig. 2's band; if it has none there, those beyond it (below 0 dB, above 30 dB)."""
    low = tuple(s for s in snrs if LOW[0] <= s <= LOW[1]) or tuple(s for s in snrs if s <= LOW[1])
    high = tuple(s for s in snrs if HIGH[0] <= s <= HIGH[1]) or tuple(s for s in snrs if s >= HIGH[0])
    if band == "low":
        return low
    if band == "high":
        return high
    if not (low and high):
        return ()  # the axis has not been walked from end to end
    return tuple(s for s in snrs if low[0] <= s <= high[-1])


def reasons(claim: Claim, effects: list[Effect], absent: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What stands between the claim and a plain verdict, in words. absent: graphs that the study does not have."""
    found = [f"the study has no {graph} graph" for graph in absent]
    without = [effect.topology for effect in effects if effect.verdict == "not measured"]
    unmeasured = [graph for graph in dict.fromkeys(without) if graph not in absent]
    if unmeasured:
        need = {"low": "an SNR of 5 dB or less", "high": "an SNR of 25 dB or more", "whole": "SNRs from low to high"}
        found.append(f"not measured on {', '.join(unmeasured)}: both methods need {need[claim.band]} there")
    few = [effect.seeds for effect in effects if 0 < effect.seeds < MIN_SEEDS]
    if few:
        shown = "sizes and intervals" if max(few) > 1 else "sizes"  # of one seed there is no interval
        found.append(f"only {plural(min(few), 'seed')} scored; a verdict needs {MIN_SEEDS}, {shown} are shown")
    for graph, count in _tally(effects, "vacuous").items():
        here = [effect for effect in effects if effect.topology == graph and effect.metric == "ece"]
        snrs = ", ".join(f"{snr:g}" for effect in here for snr in effect.vacuous_snr_db)
        runs = sum(effect.runs for effect in here)
        found.append(
            f"ECE vacuous in {count} of {plural(runs, 'run')} on {graph} ({snrs} dB): "
            "a model there is hardly better than chance"
        )
    # C4 looks at the same runs twice, once for each metric.
    once = [effect for effect in effects if effect.metric == claim.parts[0][0]]
    for method, field in (("CD-DSGLD", "cd_diverged"), ("Q-DSGD", "q_diverged")):
        where = ", ".join(f"{plural(count, 'run')} on {graph}" for graph, count in _tally(once, field).items())
        if where:
            found.append(f"{method} diverged in {where}: chance accuracy there, and no ECE")
    return tuple(found)


def _tally(effects: list[Effect], field: str) -> dict[str, int]:
    """The sum of a count over the effects of each graph, where there is any."""
    counts: dict[str, int] = {}
    for effect in effects:
        counts[effect.topology] = counts.get(effect.topology, 0) + getattr(effect, field)
    return {graph: count for graph, count in counts.items() if count}


def write_claims(folder: Path, dataset: xr.Dataset, records: list[ClaimRecord]) -> None:
    """claims.json: the rules' numbers, then every record with every comparison."""
    content = {
        "experiment": str(dataset.attrs.get("experiment")),
        "airbayes_version": str(dataset.attrs.get("airbayes_version")),
        "seeds": [int(seed) for seed in dataset.seed.values],
        "rules": {
            "interval_level": LEVEL,
            "resamples": RESAMPLES,
            "min_seeds": MIN_SEEDS,
            "ece_scored_above_accuracy": collapse_floor(dataset),
            "chance_accuracy": 1 / num_classes(dataset),
            "difference": "CD-DSGLD (predictive mean) minus Q-DSGD (last iterate)",
        },
        "claims": [dataclasses.asdict(record) for record in records],
    }
    write_text(folder / CLAIMS_FILE, json.dumps(content, indent=1, allow_nan=False) + "\n")
