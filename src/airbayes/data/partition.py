"""Which agent holds which training examples.

A class that has fewer objects than are wanted is gone through again, in a new order, so examples repeat: the drawn
points of a repeated object differ, the object does not.
"""

from typing import Literal

import numpy as np

from airbayes.errors import DataError

Rule = Literal["iid", "dirichlet", "by-class", "by-scene"]


def partition(
    label: np.ndarray,
    scene: np.ndarray,
    agents: int,
    per_class: int,
    rule: Rule,
    rng: np.random.Generator,
    *,
    concentration: float = 0.5,
    classes_per_agent: int = 2,
) -> list[np.ndarray]:
    """Rows of every agent. The network holds agents × per_class examples of every class (by-scene: up to that).

    iid: every agent holds per_class of every class. dirichlet: a class is shared out by p ~ Dir(a, …, a).
    by-class: agent k holds `classes_per_agent` neighbouring classes. by-scene: agents own whole scenes.
    """
    classes = np.unique(label)
    if rule == "by-scene":
        return _by_scene(label, scene, agents, per_class, rng)
    shares = _shares(rule, agents, len(classes), rng, concentration, classes_per_agent)
    parts: list[list[np.ndarray]] = [[] for _ in range(agents)]
    for index, value in enumerate(classes):
        rows = _take(np.flatnonzero(label == value), agents * per_class, rng)
        counts = per_class * np.ones(agents, int) if rule == "iid" else _round(shares[:, index], len(rows))
        for agent, part in enumerate(np.split(rows, np.cumsum(counts)[:-1])):
            parts[agent].append(part)
    rows_of = [np.concatenate(part) for part in parts]
    for agent, rows in enumerate(rows_of):
        if len(rows) == 0:  # Dirichlet at small concentration: nobody may be left with nothing
            rows_of[agent] = rng.choice(len(label), 1)
    return [rng.permutation(rows) for rows in rows_of]


def spread_in_total(per_class: int, agents: int) -> int:
    """The share of each agent when `per_class` counts for the whole network."""
    if per_class % agents:
        near = agents * max(1, round(per_class / agents))
        raise DataError(f"{per_class} examples per class do not divide over {agents} agents; take {near}.")
    return per_class // agents


def _shares(
    rule: str, agents: int, classes: int, rng: np.random.Generator, concentration: float, classes_per_agent: int
) -> np.ndarray:
    """The share [agent, class] of a class that each agent holds; columns sum to 1."""
    if rule == "dirichlet":
        return rng.dirichlet(np.full(agents, concentration), size=classes).T
    # by-class: start points are spread over the classes, so that together the agents hold them all
    wanted = max(classes_per_agent, -(-classes // agents))
    starts = (np.arange(agents) * classes) // agents
    holds = (np.arange(classes)[None] - starts[:, None]) % classes < wanted
    return holds / np.maximum(holds.sum(axis=0), 1)


def _by_scene(
    label: np.ndarray, scene: np.ndarray, agents: int, per_class: int, rng: np.random.Generator
) -> list[np.ndarray]:
    names, place, sizes = np.unique(scene, return_inverse=True, return_counts=True)
    if len(names) < agents:
        raise DataError(f"{agents} agents cannot own whole scenes: the training objects come from {len(names)}.")
    owner, load = np.zeros(len(names), int), np.zeros(agents)
    for index in np.argsort(-sizes):  # the largest scene goes to whoever has least so far
        owner[index] = np.argmin(load)
        load[owner[index]] += sizes[index]
    parts = []
    for agent in range(agents):
        mine = np.flatnonzero(owner[place] == agent)
        parts.append(
            np.concatenate([_take(mine[label[mine] == value], per_class, rng) for value in np.unique(label[mine])])
        )
    return [rng.permutation(part) for part in parts]


def _take(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` rows, each used equally often (to within one)."""
    passes = -(-count // len(rows))
    return np.concatenate([rng.permutation(rows) for _ in range(passes)])[:count]


def _round(shares: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers that sum to `total` and lie within one of shares · total."""
    exact = shares * total
    counts = np.floor(exact).astype(int)
    short = total - counts.sum()
    counts[np.argsort(counts - exact)[:short]] += 1
    return counts
