"""From the carry of a finished batch to the results of its cells, on the host."""

import dataclasses

import jax
import numpy as np

from airbayes.experiment.build import Builder
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import SAMPLING_METHODS
from airbayes.experiment.loop import Carry
from airbayes.experiment.problem import Outcome
from airbayes.experiment.results import CellResult, Divergence
from airbayes.metrics import ess, rhat

OF_EACH_AGENT = ("rho", "power_used", "bits")  # a hub and a leaf are not alike


def finish_cell(builder: Builder, cell: Cell, index: int, carry: Carry, history: dict[str, np.ndarray]) -> CellResult:
    """The result of the index-th cell of a batch; `history` is name → [step, cell, agent]."""
    mine: Carry = jax.tree.map(lambda leaf: np.asarray(leaf[index]), carry)
    over_time = {name: values[:, index] for name, values in history.items()}
    if (mine.bad_step >= 0).any():
        chain = int(np.argmin(np.where(mine.bad_step < 0, np.iinfo(np.int32).max, mine.bad_step)))
        first, agent = int(mine.bad_step[chain]), int(mine.bad_agent[chain])
        return CellResult(cell, None, over_time, Divergence(first, agent, np.asarray(mine.state.theta[chain])))
    gauges, per_agent = _gauge_metrics(mine)
    # Where every gain was 1 in every block, CD-DSGLD was DSGLD and has its law.
    law = builder.exact_law(cell) if gauges.get("unit_gain_min", 1.0) == 1.0 else None
    is_sampler = cell.method in SAMPLING_METHODS
    theta = np.asarray(mine.state.theta)
    metrics = builder.problem.finish(Outcome(cell.seed, is_sampler, mine.tracker, theta, over_time, law))
    scalars = metrics.scalars | gauges
    if is_sampler:  # R-hat of an optimiser's path would mean nothing
        scalars |= _diagnostics(np.asarray(mine.trace))
    scalars |= {name: float(values[-1].mean()) for name, values in over_time.items()}
    metrics = dataclasses.replace(metrics, scalars=scalars, per_agent=metrics.per_agent | per_agent)
    return CellResult(cell, metrics, over_time)


def _gauge_metrics(carry: Carry) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Means after burn-in (over agents and chains) and extremes over the whole run; of some the mean of each agent."""
    gauges = carry.gauges
    out: dict[str, float] = {}
    for name, mean in gauges.mean.items():
        out[f"{name}_mean"] = float(np.mean(mean))
        out[f"{name}_min"] = float(np.min(gauges.least[name]))
        out[f"{name}_max"] = float(np.max(gauges.most[name]))
    own = {f"{name}_mean": np.mean(gauges.mean[name], axis=0) for name in OF_EACH_AGENT if name in gauges.mean}
    return out, own


def _diagnostics(trace: np.ndarray) -> dict[str, float]:
    """The worst R-hat and ESS over the monitored quantities; absent when there are too few draws."""
    chains, draws, _ = trace.shape
    if draws < 8 or chains * draws < 16:
        return {}
    return {"rhat": float(np.nanmax(rhat(trace))), "ess": float(np.nanmin(ess(trace)))}
