"""An order of the agents in which neighbours have near numbers.

Rows of θ fetched from neighbours then lie in cache, and a split of the agents into consecutive blocks, one per
device or machine, cuts few edges. In the plane: the order along a Hilbert curve, on which N/p consecutive agents
fill a compact patch of some √(N/p) agents across. Graphs without positions: reverse Cuthill–McKee, breadth first.
"""

import numpy as np
from jaxtyping import Float, Int

from airbayes.errors import GraphError
from airbayes.network.graphs import Graph

LEVELS = 16  # the curve visits 2¹⁶ × 2¹⁶ cells; agents of one cell keep their order


def local_order(graph: Graph) -> Int[np.ndarray, " agent"]:
    """The agents in a local order, for `renumber`: along the curve where positions are known, else breadth first."""
    if graph.positions is not None:
        return hilbert_order(graph.positions)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    i, j = graph.edges.T
    shape = (graph.num_agents, graph.num_agents)
    links = coo_array((np.ones(2 * len(i), np.int8), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=shape)
    return reverse_cuthill_mckee(links.tocsr(), symmetric_mode=True).astype(np.int64)


def renumber(graph: Graph, order: Int[np.ndarray, " agent"]) -> Graph:
    """The same graph with agent order[k] called k; rows of data and θ follow as x[order]."""
    from airbayes.network.interop import from_edges

    if not np.array_equal(np.sort(order), np.arange(graph.num_agents)):
        raise GraphError(f"An order holds each of the agents 0 to {graph.num_agents - 1:,} once.")
    number = np.empty(graph.num_agents, np.int64)
    number[order] = np.arange(graph.num_agents)
    positions = None if graph.positions is None else graph.positions[order]
    return from_edges(number[graph.edges], graph.num_agents, graph.name, positions)


def edges_cut(graph: Graph, parts: int) -> int:
    """Edges between different ones of `parts` consecutive blocks, agent k in block ⌊k·parts/N⌋."""
    block = graph.edges.astype(np.int64) * parts // graph.num_agents
    return int((block[:, 0] != block[:, 1]).sum())


def hilbert_order(positions: Float[np.ndarray, "agent 2"]) -> Int[np.ndarray, " agent"]:
    """Points of the plane along a Hilbert curve over their bounding square."""
    if not len(positions):
        return np.zeros(0, np.int64)
    corner = positions.min(0)
    side = float((positions.max(0) - corner).max()) or 1.0
    cells = np.minimum((positions - corner) / side * 2**LEVELS, 2**LEVELS - 1).astype(np.uint32)
    return np.argsort(_along_curve(cells[:, 0], cells[:, 1]), kind="stable")


def _along_curve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The place of cell (x, y) on the curve: two bits a level, the coarsest first.

    Quadrants are visited (0,0), (0,1), (1,1), (1,0). The curve inside the first is mirrored on the diagonal, that
    inside the last on the other diagonal, so that the ends of successive quadrants meet.
    """
    place = np.zeros_like(x)
    for level in range(LEVELS - 1, -1, -1):
        right, top = (x >> level) & 1, (y >> level) & 1
        place = place << 2 | (3 * right ^ top)
        # ^ with all ones mirrors the lower bits: the other diagonal is both mirrors, then the swap.
        flip = np.where((right == 1) & (top == 0), np.uint32(2**LEVELS - 1), np.uint32(0))
        x, y = x ^ flip, y ^ flip
        swap = top == 0
        x, y = np.where(swap, y, x), np.where(swap, x, y)
    return place
