"""Which agents are looked at one by one. Of many, a few, evenly spread: a million say no more, and fill a disk."""

import numpy as np
from jaxtyping import Int, Num

from airbayes.experiment.config import ExperimentConfig

MAX_SHOWN = 10_000  # up to so many agents, all are shown
OF_MANY = 1_000  # and of more, so many
MAX_WORK = 100_000_000  # Σ m³ over shown agents of a linear problem, whose covariances are compared with the truth
FEW = 20  # shown in any case


def shown_agents(config: ExperimentConfig) -> Int[np.ndarray, " shown"]:
    """Numbers of the agents in results.nc, agent 0 first. Averages over agents in the summary are over all, except
    where a covariance is needed (W2 of a linear problem)."""
    agents, most, many = config.network.agents, MAX_SHOWN, OF_MANY
    if config.problem.kind == "linear":
        most = min(MAX_SHOWN, max(FEW, MAX_WORK // config.problem.features**3))
        many = min(OF_MANY, most)
    if agents <= most:
        return np.arange(agents)
    return np.unique(np.linspace(0, agents - 1, many).round().astype(np.int64))


def pick_shown(values: Num[np.ndarray, "..."], axis: int, shown: Int[np.ndarray, " shown"]) -> Num[np.ndarray, "..."]:
    """The rows of the shown agents; what has fewer rows is already chosen, or of a sampler without a network."""
    return values if values.shape[axis] <= len(shown) else values.take(shown, axis)
