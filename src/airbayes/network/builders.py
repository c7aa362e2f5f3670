"""The usual graphs. Each is named after its function; `by_name` builds from a string.

Random graphs are drawn from numpy's default generator and are a function of their seed alone. Agents of a geometric
graph are numbered along a curve, see `airbayes.network.order`.
"""

import difflib
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int

from airbayes.errors import GraphError
from airbayes.network.graphs import MAX_AGENTS, Graph
from airbayes.network.interop import from_edges
from airbayes.network.order import hilbert_order

MAX_EDGES = 100_000_000
ATTEMPTS = 20  # seeds tried by by_name until a random graph is connected


def full(num_agents: int) -> Graph:
    """Every pair of agents is joined."""
    _check_size("full", num_agents, num_agents * (num_agents - 1) / 2)
    # Edge by edge in their order: of 14,000 agents there are 98 million, and an N×N mask or a sort takes long.
    later = np.arange(num_agents - 1, -1, -1)  # agents after each
    first = np.cumsum(later) - later  # where the edges of each begin
    low = np.repeat(np.arange(num_agents, dtype=np.int32), later)
    edges = np.empty((len(low), 2), np.int32)
    edges[:, 0] = low
    edges[:, 1] = np.arange(len(low), dtype=np.int32)
    edges[:, 1] -= np.repeat((first - np.arange(1, num_agents + 1)).astype(np.int32), later)
    return Graph(num_agents, edges, "full")


def star(num_agents: int) -> Graph:
    """Agent 0 is the hub, the others its leaves."""
    _check_size("star", num_agents)
    leaves = np.arange(1, num_agents)
    return from_edges(np.stack([np.zeros_like(leaves), leaves], 1), num_agents, "star")


def ring(num_agents: int) -> Graph:
    """Agent k is joined to k ± 1 modulo N; two agents share one edge."""
    _check_size("ring", num_agents)
    agents = np.arange(num_agents if num_agents > 1 else 0)
    return from_edges(np.stack([agents, (agents + 1) % num_agents], 1), num_agents, "ring")


def line(num_agents: int) -> Graph:
    """Agent k is joined to k + 1."""
    _check_size("line", num_agents)
    agents = np.arange(num_agents - 1)
    return from_edges(np.stack([agents, agents + 1], 1), num_agents, "line")


def grid(rows: int, cols: int) -> Graph:
    """Agent r·cols + c is joined to the agents above, below, left and right of it."""
    if rows < 1 or cols < 1:
        raise GraphError(f"A grid needs rows ≥ 1 and cols ≥ 1, not {rows} × {cols}.")
    _check_size("grid", rows * cols)
    agents = np.arange(rows * cols).reshape(rows, cols)
    right = np.stack([agents[:, :-1].ravel(), agents[:, 1:].ravel()], 1)
    down = np.stack([agents[:-1].ravel(), agents[1:].ravel()], 1)
    return from_edges(np.concatenate([right, down]), rows * cols, "grid")


def random_geometric(num_agents: int, radius: float, seed: int) -> Graph:
    """Agents uniform in the unit square, joined when at most `radius` apart; numbered along a Hilbert curve."""
    from scipy.spatial import KDTree

    if not radius >= 0:
        raise GraphError(f"The radius must be ≥ 0, not {radius}.")
    _check_size("random_geometric", num_agents, num_agents**2 * min(1.0, math.pi * radius**2) / 2)
    positions = np.random.default_rng(seed).random((num_agents, 2))
    positions = positions[hilbert_order(positions)]
    pairs = KDTree(positions).query_pairs(radius, output_type="ndarray")
    return from_edges(pairs, num_agents, "random_geometric", positions)


def erdos_renyi(num_agents: int, probability: float, seed: int) -> Graph:
    """Each pair is an edge with this probability; only the gaps between edges are drawn, so cost is O(edges)."""
    if not 0 <= probability <= 1:
        raise GraphError(f"The edge probability must be in [0, 1], not {probability}.")
    num_pairs = num_agents * (num_agents - 1) // 2
    _check_size("erdos_renyi", num_agents, num_pairs * probability)
    rng = np.random.default_rng(seed)
    chosen = np.zeros(0, np.int64)
    last = -1
    while probability > 0 and last < num_pairs - 1:
        expected = (num_pairs - last) * probability
        gaps = rng.geometric(probability, size=int(expected + 4 * math.sqrt(expected)) + 8)
        # A gap beyond the last pair ends the list; the clip keeps the sum of huge gaps from overflowing.
        more = last + np.cumsum(np.minimum(gaps, num_pairs + 1))
        chosen, last = np.concatenate([chosen, more]), int(more[-1])
    return from_edges(_pair_of(chosen[chosen < num_pairs]), num_agents, "erdos_renyi")


def small_world(num_agents: int, neighbours: int, rewire: float, seed: int) -> Graph:
    """Watts–Strogatz: each agent joined to its `neighbours` nearest on a ring, each edge's far end
    moved to a random agent with probability `rewire`."""
    _check_size("small_world", num_agents, num_agents * neighbours / 2)
    if neighbours % 2 or not 0 <= neighbours <= num_agents:
        raise GraphError(f"neighbours must be even and 0 to N = {num_agents}, not {neighbours}.")
    if not 0 <= rewire <= 1:
        raise GraphError(f"The rewiring probability must be in [0, 1], not {rewire}.")
    rng = np.random.default_rng(seed)
    agents = np.repeat(np.arange(num_agents), neighbours // 2)
    steps = np.tile(np.arange(1, neighbours // 2 + 1), num_agents)
    lattice = from_edges(np.stack([agents, (agents + steps) % num_agents], 1), num_agents).edges
    codes = set((lattice[:, 0].astype(np.int64) * num_agents + lattice[:, 1]).tolist())
    for i, j in lattice[rng.random(len(lattice)) < rewire].tolist():
        for target in rng.integers(num_agents, size=20).tolist():  # keeps its place if 20 draws are all taken
            moved = min(i, target) * num_agents + max(i, target)
            if target != i and moved not in codes:
                codes.remove(i * num_agents + j)
                codes.add(moved)
                break
    pairs = np.divmod(np.fromiter(codes, np.int64, len(codes)), num_agents)
    return from_edges(np.stack(pairs, 1), num_agents, "small_world")


def by_name(name: str, num_agents: int, *, seed: int = 0, **options: Any) -> Graph:
    """Any of the graphs above by name, with sensible options where none are given.

    A grid takes the most square factorisation of N; a prime N above 3 has none and is refused. Random graphs try
    `seed`, seed + 1000003, … until connected; `seed` is ignored by the others.
    """
    key = name.replace("-", "_")
    if key not in BUILDERS:
        close = difflib.get_close_matches(key, BUILDERS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise GraphError(f"Unknown graph {name!r}.{hint} Known: {', '.join(BUILDERS)}.")
    _check_size(key, num_agents)
    builder, defaults = BUILDERS[key]
    known = [option for option in inspect.signature(builder).parameters if option not in ("num_agents", "seed")]
    for option in options:
        if option not in known:
            raise GraphError(f"Graph {key!r} has no option {option!r}. It takes: {', '.join(known) or 'none'}.")
    given = {option: value for option, value in options.items() if value is not None}
    chosen = defaults(num_agents, given) | given
    if key == "grid":
        if chosen["rows"] * chosen["cols"] != num_agents:
            raise GraphError(f"A grid of {chosen['rows']} × {chosen['cols']} does not have {num_agents} agents.")
        return grid(**chosen)
    if "seed" not in inspect.signature(builder).parameters:
        return builder(num_agents)
    for attempt in range(ATTEMPTS):
        graph = builder(num_agents, **chosen, seed=seed + 1_000_003 * attempt)
        if graph.is_connected():
            return graph
    values = ", ".join(f"{option} = {value:g}" for option, value in chosen.items())
    raise GraphError(
        f"No connected {key} graph of {num_agents} agents in {ATTEMPTS} seeds from {seed} with {values}; "
        "raise the radius, probability or number of neighbours."
    )


def _grid_shape(num_agents: int, given: dict) -> dict:
    if "cols" in given:
        return {"rows": num_agents // max(1, given["cols"])}
    rows = given.get("rows") or max(r for r in range(1, math.isqrt(num_agents) + 1) if num_agents % r == 0)
    if rows == 1 and num_agents > 3 and "rows" not in given:
        raise GraphError(
            f"A grid of {num_agents} agents, a prime number, is a line. Take {num_agents - 1} or {num_agents + 1} "
            "agents, or the graph 'line'."
        )
    return {"rows": rows, "cols": num_agents // max(1, rows)}


def _geometric_radius(num_agents: int, given: dict) -> dict:
    # Mean degree 2 ln N: twice the connectivity threshold.
    return {"radius": math.sqrt(2 * math.log(num_agents + 1) / (math.pi * num_agents))}


def _edge_probability(num_agents: int, given: dict) -> dict:
    return {"probability": min(1.0, 2 * math.log(num_agents + 1) / num_agents)}


def _small_world_options(num_agents: int, given: dict) -> dict:
    return {"neighbours": min(4 if num_agents >= 8 else 2, num_agents - num_agents % 2), "rewire": 0.1}


def _no_options(num_agents: int, given: dict) -> dict:
    return {}


BUILDERS: dict[str, tuple[Callable[..., Graph], Callable[[int, dict], dict]]] = {
    "full": (full, _no_options),
    "star": (star, _no_options),
    "ring": (ring, _no_options),
    "line": (line, _no_options),
    "grid": (grid, _grid_shape),
    "random_geometric": (random_geometric, _geometric_radius),
    "erdos_renyi": (erdos_renyi, _edge_probability),
    "small_world": (small_world, _small_world_options),
}


def _check_size(name: str, num_agents: int, expected_edges: float = 0) -> None:
    if not isinstance(num_agents, int | np.integer):
        raise GraphError(f"Graph {name!r} needs a whole number of agents, not {num_agents!r}.")
    if not 1 <= num_agents <= MAX_AGENTS:
        raise GraphError(f"Graph {name!r} needs 1 to {MAX_AGENTS:,} agents, not {num_agents:,}.")
    if expected_edges > MAX_EDGES:
        raise GraphError(
            f"Graph {name!r} of {num_agents:,} agents would have about {expected_edges:.2g} edges "
            f"(limit {MAX_EDGES:.0e}); choose a sparser graph such as 'ring' or a small radius."
        )


def _pair_of(code: Int[np.ndarray, " edge"]) -> Int[np.ndarray, "edge 2"]:
    """The pair (i, j), i < j, numbered code = j(j − 1)/2 + i."""
    j = ((1 + np.sqrt(1 + 8 * code.astype(float))) / 2).astype(np.int64)  # exact up to MAX_AGENTS
    return np.stack([code - j * (j - 1) // 2, j], axis=1)
