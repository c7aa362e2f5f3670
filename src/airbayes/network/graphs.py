"""Undirected graphs as edge lists, on the host.

A_kj = 1 when (k, j) is an edge, deg_k = Σ_j A_kj, L = diag(deg) − A. Nothing here but `adjacency` and
`laplacian` makes an N×N array, so a graph may have millions of agents.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int, Int32

from airbayes.errors import GraphError

MAX_AGENTS = 100_000_000  # more is an identifier mistaken for an index
MAX_DENSE_AGENTS = 5_000


@dataclass(frozen=True, eq=False)
class Graph:
    """Agents 0…N−1 and edges (i, j) with i < j, sorted and unique; `from_edges` takes them in any order.

    `positions` (one point of the plane per agent) are kept for geometric graphs.
    """

    num_agents: int
    edges: Int32[np.ndarray, "edge 2"]
    name: str = "custom"
    positions: Float[np.ndarray, "agent 2"] | None = None

    def __post_init__(self):
        if not 1 <= self.num_agents <= MAX_AGENTS:
            raise GraphError(f"A graph has 1 to {MAX_AGENTS:,} agents, not {self.num_agents:,}.")
        edges, (low, high) = self.edges, self.edges.T
        if edges.size and (edges.min() < 0 or edges.max() >= self.num_agents):
            outside = np.flatnonzero((edges < 0).any(1) | (edges >= self.num_agents).any(1))
            raise GraphError(f"Edge {_pair(edges[outside[0]])} is out of range: agents are 0 to {self.num_agents - 1}.")
        disordered = np.flatnonzero(low >= high)
        if disordered.size:
            raise GraphError(f"Edge {_pair(edges[disordered[0]])} must have i < j, no self-loops; see from_edges.")
        behind = (low[1:] < low[:-1]) | ((low[1:] == low[:-1]) & (high[1:] <= high[:-1]))
        repeated = np.flatnonzero(behind)
        if repeated.size:
            raise GraphError(
                f"Edge {_pair(edges[repeated[0] + 1])} is repeated or out of order; from_edges sorts edges."
            )
        if self.positions is not None and not np.isfinite(self.positions).all():
            raise GraphError("Positions must be finite.")
        if self.positions is not None and len(self.positions) != self.num_agents:
            raise GraphError(f"There are {len(self.positions)} positions for {self.num_agents} agents.")

    @property
    def num_edges(self) -> int:
        return len(self.edges)

    @cached_property
    def degrees(self) -> Int[np.ndarray, " agent"]:
        """deg_k, the number of neighbours."""
        low, high = (np.bincount(ends, minlength=self.num_agents) for ends in self.edges.T)
        return low + high

    def adjacency(self) -> Float[np.ndarray, "agent agent"]:
        """A, dense 0/1; for small graphs only."""
        if self.num_agents > MAX_DENSE_AGENTS:
            raise GraphError(
                f"A dense matrix of {self.num_agents:,} agents is refused (limit {MAX_DENSE_AGENTS:,}); "
                "use `edges`, or `build_mixing` for mixing."
            )
        dense = np.zeros((self.num_agents, self.num_agents))
        i, j = self.edges.T
        dense[i, j] = dense[j, i] = 1.0
        return dense

    def laplacian(self) -> Float[np.ndarray, "agent agent"]:
        """L = diag(deg) − A, dense; for small graphs only."""
        return np.diag(self.degrees.astype(float)) - self.adjacency()

    def components(self) -> Int[np.ndarray, " agent"]:
        """The label of each agent's connected component, 0, 1, …"""
        return self._components

    @cached_property
    def _components(self) -> Int[np.ndarray, " agent"]:
        if int(self.degrees.max()) == self.num_agents - 1:  # a hub, as in full graphs: no need to follow the edges
            return np.zeros(self.num_agents, np.int32)
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        shape = (self.num_agents, self.num_agents)
        links = coo_array((np.ones(self.num_edges, np.int8), tuple(self.edges.T)), shape=shape)
        return connected_components(links.tocsr(), directed=False)[1]

    def is_connected(self) -> bool:
        return self.num_edges >= self.num_agents - 1 and int(self.components().max()) == 0


def require_graph(graph: object) -> None:
    """Other graphs are not ours yet: say how they become ours."""
    if isinstance(graph, Graph):
        return
    kind = type(graph)
    if kind.__module__.partition(".")[0] == "networkx":
        how = "use network.from_networkx(graph)"
    elif isinstance(graph, tuple) and graph and isinstance(graph[0], Graph):
        how = "give its parts, as in build_mixing(*network.from_mixing_matrix(W))"
    else:
        how = "make one with network.from_edges or network.from_adjacency, or take network.ring(5)"
    raise GraphError(f"A graph must be an airbayes.network.Graph, got a {kind.__module__}.{kind.__name__}: {how}.")


def _pair(edge: Int[np.ndarray, " 2"]) -> str:
    return f"({edge[0]}, {edge[1]})"
