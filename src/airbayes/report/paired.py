"""Two methods compared seed by seed: the mean difference d of a metric, and a bootstrap interval for it.

d_i = mean over SNRs of (CD-DSGLD − Q-DSGD) in seed i;  d = mean_i d_i;  interval: resample the seeds i.
A seed redraws data, θ⁰ and noise for both methods, so d_i is free of what makes one seed harder than another.
"""

import dataclasses
import math
from functools import lru_cache
from typing import Literal

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from airbayes.experiment.dataset import STATUS_CODES
from airbayes.report.chance import accuracy_name, floor_above

LEVEL, RESAMPLES, RESAMPLING_SEED = 0.95, 10_000, 0
MIN_SEEDS = 8  # fewer give no verdict

Metric = Literal["accuracy", "ece"]
Verdict = Literal["holds", "does not hold", "undecided", "vacuous", "not measured"]


@dataclasses.dataclass(frozen=True)
class Scores:
    """One method on one graph. Absent cells are NaN; diverged ones have chance accuracy and no ECE."""

    accuracy: Float[np.ndarray, "snr seed"]
    ece: Float[np.ndarray, "snr seed"]
    diverged: Bool[np.ndarray, "snr seed"]


@dataclasses.dataclass(frozen=True)
class Effect:
    """One comparison: a metric on one graph over some SNRs. Differences are CD-DSGLD − Q-DSGD."""

    topology: str
    metric: Metric
    snr_db: tuple[float, ...]
    verdict: Verdict
    leans: Literal["for", "against", "neither"] = "neither"  # where d points, seen from the claim
    cd_mean: float | None = None
    q_mean: float | None = None
    difference: float | None = None
    low: float | None = None  # of the 95 % interval; None with one seed
    high: float | None = None
    seeds: int = 0  # that could be scored, of seeds_total
    seeds_total: int = 0
    runs: int = 0  # pairs of runs (SNR, seed), of which `vacuous` are too inaccurate for their ECE to mean anything
    vacuous: int = 0
    vacuous_snr_db: tuple[float, ...] = ()
    cd_diverged: int = 0  # runs
    q_diverged: int = 0


@dataclasses.dataclass(frozen=True)
class Pair:
    """Both methods on one graph, over the SNRs at which both ran."""

    topology: str
    snr_db: tuple[float, ...]
    cd: Scores
    q: Scores
    accuracy_floor: float  # ECE is scored above it only
    in_study: bool = True  # whether the study has the graph at all

    def compare(self, metric: Metric, sign: int, snrs: tuple[float, ...]) -> Effect:
        """The effect over `snrs`; `sign` is +1 where the claim says CD-DSGLD has the larger value, else −1."""
        rows = [self.snr_db.index(snr) for snr in snrs]
        cd, q = _at(self.cd, rows), _at(self.q, rows)
        complete = np.isfinite(cd.accuracy + q.accuracy).all(axis=0)  # seeds that ran at every one of the SNRs
        total = complete.size
        if not rows or not complete.any():
            return Effect(self.topology, metric, snrs, "not measured", seeds_total=total)
        scored = np.broadcast_to(complete, cd.accuracy.shape)
        empty = np.zeros_like(scored)
        if metric == "ece":
            meaningful = (np.minimum(cd.accuracy, q.accuracy) > self.accuracy_floor) & np.isfinite(cd.ece + q.ece)
            scored, empty = scored & meaningful, scored & ~meaningful
        counts = {
            "seeds": int(scored.any(axis=0).sum()),
            "seeds_total": total,
            "runs": int(complete.sum()) * len(rows),
            "vacuous": int(empty.sum()),
            "vacuous_snr_db": tuple(snr for snr, row in zip(snrs, empty, strict=True) if row.any()),
            "cd_diverged": int(cd.diverged[:, complete].sum()),
            "q_diverged": int(q.diverged[:, complete].sum()),
        }
        if not scored.any():
            return Effect(self.topology, metric, snrs, "vacuous", **counts)
        first, second = (_per_seed(getattr(scores, metric), scored) for scores in (cd, q))
        differences = first - second
        mean = float(differences.mean())
        low, high = bootstrap_interval(differences) if len(differences) > 1 else (None, None)
        return Effect(
            self.topology,
            metric,
            snrs,
            judge(sign, low, high, len(differences)),
            "neither" if mean == 0 else "for" if sign * mean > 0 else "against",
            float(first.mean()),
            float(second.mean()),
            mean,
            low,
            high,
            **counts,
        )


def judge(sign: int, low: float | None, high: float | None, seeds: int) -> Verdict:
    """Whether the interval excludes 0, and on which side; never with fewer than MIN_SEEDS."""
    if low is None or high is None or seeds < MIN_SEEDS or low <= 0 <= high:
        return "undecided"
    return "holds" if (low > 0) == (sign > 0) else "does not hold"


def bootstrap_interval(differences: Float[np.ndarray, " seed"], level: float = LEVEL) -> tuple[float, float]:
    """Percentile interval of the mean over resampled seeds, its tails widened for small samples.

    The plain percentiles cover too little with few seeds (88 % instead of 95 with 8): they lack Student's t and the
    factor n/(n−1) of the variance. Hesterberg (2015) puts both back by taking the quantiles further out,
    at Φ(√(n/(n−1))·t_{n−1}).
    """
    from scipy.stats import norm, t

    count = len(differences)
    tail = norm.cdf(math.sqrt(count / (count - 1)) * t.ppf((1 - level) / 2, count - 1))
    means = differences[_resamples(count)].mean(axis=1)
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


@lru_cache
def _resamples(count: int) -> Int[np.ndarray, "resample seed"]:
    return np.random.default_rng(RESAMPLING_SEED).integers(count, size=(RESAMPLES, count))


def read_pair(dataset: xr.Dataset, cd: str, q: str, topology: str, chance: float) -> Pair:
    """Variants `cd` and `q` on one graph, at the finite SNRs where some seed ran with both."""
    floor = floor_above(chance)
    first, second = (_read_scores(dataset, variant, topology, chance) for variant in (cd, q))
    snrs = np.asarray(dataset.snr_db.values, np.float64)
    both = np.isfinite(first.accuracy + second.accuracy).any(axis=1) & np.isfinite(snrs)
    rows = [int(row) for row in np.argsort(snrs) if both[row]]
    at_both = tuple(float(snrs[row]) for row in rows)
    in_study = topology in dataset.topology.values
    return Pair(topology, at_both, _at(first, rows), _at(second, rows), floor, in_study)


def _read_scores(dataset: xr.Dataset, variant: str, topology: str, chance: float) -> Scores:
    """What the method predicts with: a sampler's predictive mean over kept samples, an optimiser's last iterate.

    Accuracy is balanced over classes where that is stored: chance is then 1/C whatever the test set holds most of.
    """
    shape = (dataset.sizes["snr_db"], dataset.sizes["seed"])
    if topology not in dataset.topology.values:
        nothing = np.full(shape, np.nan)
        return Scores(nothing, nothing, np.zeros(shape, bool))
    cells = dataset.sel({"method": variant, "topology": topology}).transpose("snr_db", "seed", ...)
    status = cells["status"].values
    accuracy, ece = (cells[name].values.astype(np.float64) for name in (accuracy_name(dataset), "ece"))
    ok = (status == STATUS_CODES["ok"]) & np.isfinite(accuracy) & np.isfinite(ece)
    diverged = (status != STATUS_CODES["absent"]) & ~ok
    return Scores(np.where(ok, accuracy, np.where(diverged, chance, np.nan)), np.where(ok, ece, np.nan), diverged)


def _at(scores: Scores, rows: list[int]) -> Scores:
    return Scores(scores.accuracy[rows], scores.ece[rows], scores.diverged[rows])


def _per_seed(values: Float[np.ndarray, "snr seed"], scored: Bool[np.ndarray, "snr seed"]) -> Float[np.ndarray, " s"]:
    """The mean over each seed's scored SNRs; seeds without one are left out."""
    kept = scored.any(axis=0)
    return np.where(scored, values, 0.0).sum(axis=0)[kept] / scored.sum(axis=0)[kept]
