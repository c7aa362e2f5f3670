"""Graphs from and to other forms: edge lists, matrices, networkx and CSV files."""

import os
import re
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from airbayes.errors import GraphError
from airbayes.network.graphs import MAX_AGENTS, Graph
from airbayes.network.spectrum import check_mixing_matrix

MAX_CSV_BYTES = 256_000_000  # 20 million links
MAX_LINE = 1000  # characters


def from_edges(
    edges: Any,
    num_agents: int | None = None,
    name: str = "custom",
    positions: Float[np.ndarray, "agent 2"] | None = None,
) -> Graph:
    """A graph from pairs of agents in any order, repeats counted once. N defaults to the largest index + 1."""
    try:
        pairs = np.asarray(edges)
    except ValueError as error:
        raise GraphError(f"Edges must be pairs of agents: {error}") from None
    pairs = np.zeros((0, 2), np.int64) if pairs.size == 0 else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphError(f"Edges must be pairs, an array [edge, 2]; the shape is {list(pairs.shape)}.")
    if not np.issubdtype(pairs.dtype, np.integer):
        raise GraphError(f"Edges must be integer agent indices, not {pairs.dtype}.")
    if num_agents is None:
        if not len(pairs):
            raise GraphError("Without edges the number of agents is unknown: pass num_agents.")
        num_agents = int(pairs.max()) + 1
    limit = min(num_agents, MAX_AGENTS)
    outside = np.flatnonzero(((pairs < 0) | (pairs >= limit)).any(1))
    if outside.size:
        raise GraphError(
            f"Edge {outside[0]}, {tuple(pairs[outside[0]].tolist())}, is out of range: agents are 0 to "
            f"{limit - 1:,}. Renumber identifiers from 0."
        )
    low, high = (f(pairs[:, 0], pairs[:, 1]).astype(np.int64) for f in (np.minimum, np.maximum))
    loops = np.flatnonzero(low == high)
    if loops.size:
        raise GraphError(f"Edge {loops[0]} joins agent {low[loops[0]]} to itself; remove self-loops.")
    codes = np.sort(low * num_agents + high)  # np.unique took 20 times longer on 8 million edges
    codes = codes[np.diff(codes, prepend=-1) > 0]
    ordered = np.stack([codes // num_agents, codes % num_agents], axis=1).astype(np.int32)
    return Graph(num_agents, ordered, name, positions)


def from_adjacency(adjacency: Any, name: str = "custom") -> Graph:
    """A graph from a dense symmetric 0/1 matrix A with zero diagonal."""
    if hasattr(adjacency, "toarray"):
        raise GraphError("The adjacency matrix must be dense: give matrix.toarray(), or its pairs to from_edges.")
    try:
        dense = np.asarray(adjacency, float)
    except (TypeError, ValueError) as error:
        raise GraphError(f"The adjacency matrix must hold numbers: {error}") from None
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or not dense.size:
        raise GraphError(f"The adjacency matrix must be square; its shape is {list(dense.shape)}.")
    for wrong, why in (
        ((dense != 0) & (dense != 1), "every entry must be 0 or 1 (give weights to build_mixing)"),
        (np.diag(np.diag(dense) != 0), "the diagonal must be 0 (no self-loops)"),
        (dense != dense.T, "the matrix must be symmetric, A_ij = A_ji"),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise GraphError(f"Adjacency entry [{i}, {j}] is {dense[i, j]:g}, [{j}, {i}] is {dense[j, i]:g}: {why}.")
    return from_edges(np.argwhere(np.triu(dense)), len(dense), name)


def from_mixing_matrix(mixing_matrix: Any, name: str = "custom") -> tuple[Graph, Float[np.ndarray, " edge"]]:
    """The graph and the weights w_e [edge] of a user's own W, ready for `build_mixing(graph, weights)`."""
    matrix = np.asarray(mixing_matrix)
    matrix = matrix if matrix.dtype == np.float32 else matrix.astype(float)
    check_mixing_matrix(matrix)
    graph = from_edges(np.argwhere(np.triu(matrix, 1)), len(matrix), name)
    i, j = graph.edges.T
    return graph, matrix[i, j].astype(float)


def from_networkx(graph: Any, name: str | None = None) -> Graph:
    """An undirected networkx graph, nodes renumbered in their order; their `pos` become `positions`."""
    if graph.is_directed():
        raise GraphError("A directed graph cannot be mixed symmetrically; pass graph.to_undirected().")
    index = {node: k for k, node in enumerate(graph.nodes)}
    points = [point for _, point in graph.nodes(data="pos") if point is not None]
    positions = np.asarray(points, float) if index and len(points) == len(index) else None
    edges = [(index[a], index[b]) for a, b in graph.edges()]
    return from_edges(edges, len(index), name or graph.name or "custom", positions)


def to_networkx(graph: Graph) -> Any:
    """A networkx.Graph with nodes 0…N−1, and `pos` where the graph has positions."""
    import networkx

    result = networkx.Graph(name=graph.name)
    result.add_nodes_from(range(graph.num_agents))
    result.add_edges_from(graph.edges.tolist())
    if graph.positions is not None:
        networkx.set_node_attributes(result, dict(enumerate(graph.positions.tolist())), "pos")
    return result


def from_csv(path: str | os.PathLike[str], num_agents: int | None = None, name: str | None = None) -> Graph:
    """Edges from a text file: two agent indices a line; a header line and # comments are allowed."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():  # a pipe might never end
            raise GraphError(f"Cannot read the edge list {path}: it is not a file.")
        size = path.stat().st_size
        if size > MAX_CSV_BYTES:
            raise GraphError(f"{path} has {size:,} bytes; the limit is {MAX_CSV_BYTES:,}. Use from_edges.")
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            edges = _parse_lines(path, lines)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise GraphError(f"Cannot read the edge list {path}: {getattr(error, 'strerror', None) or error}.") from None
    if not edges and num_agents is None:
        raise GraphError(f"{path} holds no edge; write two agent indices a line, for example 0,1.")
    return from_edges(np.asarray(edges, np.int64).reshape(-1, 2), num_agents, name or path.stem)


MORE_COLUMNS = (
    " A line is one edge, for example 0,1: leave weights out. An adjacency matrix A becomes such a file with "
    "np.savetxt('edges.csv', np.argwhere(np.triu(A)), '%d', ',')."
)


def _parse_lines(path: Path, lines: Any) -> "array[int]":
    """The indices of all edges, one after the other."""
    edges = array("q")
    header_allowed = True
    for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE + 1), ""), start=1):
        if len(line) > MAX_LINE:
            raise GraphError(f"{path}, line {number}: longer than {MAX_LINE} characters.")
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        fields = re.split(r"\s*[,;]\s*|\s+", text)
        try:
            i, j = map(int, fields)
        except ValueError:
            if header_allowed and len(fields) == 2 and not any(re.match(r"[+-]?[\d.]", f) for f in fields):
                header_allowed = False
                continue
            more = MORE_COLUMNS if len(fields) > 2 else ""
            raise GraphError(f"{path}, line {number}: expected two agent indices, found {text[:60]!r}.{more}") from None
        header_allowed = False
        if not (0 <= i < MAX_AGENTS and 0 <= j < MAX_AGENTS and i != j):
            why = "an agent joined to itself" if i == j else f"indices must be 0 to {MAX_AGENTS - 1:,}"
            raise GraphError(f"{path}, line {number}: {text[:60]!r}: {why}.")
        edges.extend((i, j))
    return edges
