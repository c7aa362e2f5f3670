"""Spectra of Laplacians and mixing matrices, and the checks that gossip contracts.

L_w = Σ_e w_e (e_i − e_j)(e_i − e_j)ᵀ,  W = I − L_w,  |λ₂(W)| = max(|1 − μ_max|, |1 − μ_min|),
where μ_max and μ_min are the extreme eigenvalues of L_w on vectors that sum to zero. Self-weights
w_kk = 1 − Σ_j w_kj may be negative: a star's hub has −1/3 at N = 5 with the best constant weight.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float, Real

from airbayes.errors import GraphError
from airbayes.network.graphs import Graph, require_graph
from airbayes.network.known_spectra import grid_extremes, known_extremes

MAX_DENSE_EIGEN = 3_000
MAX_LANCZOS_AGENTS = 200_000  # for both ends of the spectrum
MIN_WIDE_AGENTS = 20_000  # from here on the small end is not computed where it is seen to be negligible
_TOLERANCE = 1e-4  # of Lanczos eigenvalues, relative to μ_max
_NEGLIGIBLE = 1e-3  # of μ_min against μ_max
_MARGIN = 1e-12  # rounding of dense eigenvalues

EdgeWeights = Real[ArrayLike, ""] | Real[ArrayLike, " edge"]


def per_edge(graph: Graph, edge_weights: EdgeWeights) -> Float[np.ndarray, " edge"]:
    """w_e for every edge, from one weight or one per edge."""
    require_graph(graph)
    if isinstance(edge_weights, str):
        raise GraphError(
            f"Edge weights must be numbers here, got {edge_weights!r}. Give network.best_constant(graph), max_degree "
            "or metropolis."
        )
    weights = np.asarray(edge_weights, float)
    if weights.shape not in ((), (graph.num_edges,)):
        raise GraphError(
            f"Edge weights of shape {list(weights.shape)} do not fit {graph.num_edges} edges; give one or one each."
        )
    finite = np.isfinite(weights).all()  # before one number becomes millions
    weights = np.broadcast_to(weights, (graph.num_edges,))
    if graph.num_edges and not finite:
        bad = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise GraphError(f"The weight of edge {bad}, {graph.edges[bad].tolist()}, is {weights[bad]}: not finite.")
    return weights


def mixing_matrix(graph: Graph, edge_weights: EdgeWeights) -> Float[np.ndarray, "agent agent"]:
    """W = I − L_w, dense; an oracle for small graphs, never the way to mix."""
    weights = per_edge(graph, edge_weights)
    dense = graph.adjacency()
    i, j = graph.edges.T
    dense[i, j] = dense[j, i] = weights
    np.fill_diagonal(dense, 1.0 - _strengths(graph, weights))
    return dense


def laplacian_extremes(graph: Graph, edge_weights: EdgeWeights = 1.0) -> tuple[float, float]:
    """(μ_max, μ_min) of L_w on vectors that sum to zero: (λ_1, λ_{N−1}) for unit weights, (0, 0) for N = 1.

    Exact for full, star, ring and line graphs under one weight (however labelled), and for grids as `grid` makes them;
    dense up to 3,000 agents, Lanczos beyond: then μ_max errs upwards and μ_min, if tiny, may be off by 1e-4 μ_max. Of
    wide graphs of over 20,000 agents (such as geometric ones, up to millions) μ_min is an upper bound below 1e-3 μ_max.
    """
    weights = per_edge(graph, edge_weights)
    if graph.num_edges == 0:
        return 0.0, 0.0
    if weights[0] > 0 and (np.ndim(edge_weights) == 0 or (weights == weights[0]).all()):
        largest, smallest = _unit_extremes(graph)
        return float(largest * weights[0]), float(smallest * weights[0])
    return _extremes(graph, weights)


@lru_cache(maxsize=8)
def _unit_extremes(graph: Graph) -> tuple[float, float]:
    """Of L itself: asked for by a check, a run and a forecast, and slow to compute."""
    return _extremes(graph, np.ones(graph.num_edges))


def _extremes(graph: Graph, weights: Float[np.ndarray, " edge"]) -> tuple[float, float]:
    known = known_extremes(graph) or (grid_extremes(graph) if graph.num_agents > MAX_DENSE_EIGEN else None)
    if known is not None and (weights == weights[0]).all():
        ends = (known[0] * weights[0], known[1] * weights[0])
        return float(max(ends)), float(min(ends))
    if graph.num_agents <= MAX_DENSE_EIGEN:
        laplacian = np.eye(graph.num_agents) - mixing_matrix(graph, weights)
        # The eigenvalue 0 of the constant vector is moved to the mean of the others, so never an extreme.
        centre = np.trace(laplacian) / (graph.num_agents - 1)
        eigenvalues = np.linalg.eigvalsh(laplacian + centre / graph.num_agents)
        return float(eigenvalues[-1]), float(eigenvalues[0])
    if graph.num_agents > MIN_WIDE_AGENTS and (weights > 0).all():
        wide = _wide_extremes(graph, weights)
        if wide is not None:
            return wide
    if graph.num_agents > MAX_LANCZOS_AGENTS:
        raise GraphError(
            f"The eigenvalues of {graph.num_agents:,} agents take too long (limit {MAX_LANCZOS_AGENTS:,}, more for "
            "graphs as wide as a ring, a grid or a geometric one). Take fewer agents; a run, not a plan, can also do "
            "without eigenvalues, with 'max-degree' or 'metropolis' weights."
        )
    return _lanczos_extremes(graph, weights)


def second_eigenvalue(graph: Graph, edge_weights: EdgeWeights) -> float:
    """The second-largest |eigenvalue| of W: disagreement shrinks by this factor a step. 0 for N = 1."""
    if graph.num_agents == 1:
        return 0.0
    largest, smallest = laplacian_extremes(graph, edge_weights)
    return max(abs(1 - largest), abs(1 - smallest))


def check_connected(graph: Graph) -> None:
    """Raise GraphError unless the graph is connected."""
    require_graph(graph)
    if graph.components().any():
        from_one = int(graph.degrees[0]) == 0  # nobody speaks of agent 0
        raise GraphError(
            "Gossip will not contract: second-largest |eigenvalue| is 1.0 ≥ 1. Is the graph connected? "
            f"It has {_components_of(graph)}; join them or drop the loose agents."
            + " Agents are counted from 0: do these edges count from 1?"
            * from_one
        )


def check_contraction(graph: Graph, edge_weights: EdgeWeights) -> None:
    """Raise GraphError unless the second-largest |eigenvalue| of W is below 1."""
    weights = per_edge(graph, edge_weights)
    check_connected(graph)
    unused = np.flatnonzero(weights == 0)
    left = Graph(graph.num_agents, graph.edges[weights != 0]) if unused.size else graph
    if left.components().any():
        raise GraphError(
            f"Gossip will not contract: the weight of edge {unused[0]}, {graph.edges[unused[0]].tolist()}, is 0, and "
            f"without the edges of weight 0 the graph has {_components_of(left)}. Give positive weights; "
            "try 'best-constant', 'max-degree' or 'metropolis'."
        )
    if graph.num_agents == 1:
        return
    # Connected with positive weights: μ_min > 0, and μ_max ≤ max over edges of s_i + s_j (Anderson–Morley).
    if (weights > 0).all() and _largest_bound(graph, weights) < 2:
        return
    second = second_eigenvalue(graph, weights)
    if second >= 1 - _MARGIN:
        raise GraphError(
            f"Gossip will not contract: second-largest |eigenvalue| is {second:.6g} ≥ 1. The graph is "
            "connected, so a weight is negative or too large; try 'best-constant', 'max-degree' or 'metropolis'."
        )


def check_mixing_matrix(mixing_matrix: Float[np.ndarray, "..."], tolerance: float = 1e-9) -> None:
    """Raise GraphError unless a dense W is symmetric, finite, has rows that sum to one, and contracts.

    Of float32 matrices the tolerance is 1e-6, since no other W of that type is nearer.
    """
    given = np.asarray(mixing_matrix)
    if given.dtype == np.float32:
        tolerance = max(tolerance, 1e-6)
    matrix = given.astype(float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise GraphError(f"A mixing matrix must be square; its shape is {list(matrix.shape)}.")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise GraphError(f"Mixing matrix entry [{i}, {j}] is {matrix[i, j]}: not finite.")
    gap = np.abs(matrix - matrix.T)
    if gap.max() > tolerance:
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        raise GraphError(
            f"The mixing matrix is not symmetric: [{i}, {j}] is {matrix[i, j]:.9g}, [{j}, {i}] is {matrix[j, i]:.9g}."
        )
    excess = matrix.sum(1) - 1
    row = int(np.abs(excess).argmax())
    if abs(excess[row]) > tolerance:
        raise GraphError(
            f"Row {row} of the mixing matrix sums to {1 + excess[row]:.9g}, not 1: an error δ acts as a "
            f"prior of precision Nδ/η. Set its diagonal entry to {matrix[row, row] - excess[row]:.9g}."
        )
    second = float(np.abs(np.linalg.eigvalsh(matrix - 1 / len(matrix))).max())
    if second >= 1 - _MARGIN:
        raise GraphError(
            f"Gossip will not contract: second-largest |eigenvalue| is {second:.6g} ≥ 1. Is the graph connected?"
        )


def _strengths(graph: Graph, weights: Float[np.ndarray, " edge"]) -> Float[np.ndarray, " agent"]:
    """s_k = Σ_j w_kj."""
    sums = np.bincount(graph.edges.ravel(), np.repeat(weights, 2), minlength=graph.num_agents)
    return sums.astype(float)  # bincount of nothing is an integer


def _largest_bound(graph: Graph, weights: Float[np.ndarray, " edge"]) -> float:
    """An upper bound of μ_max for weights of any sign."""
    return float(_strengths(graph, np.abs(weights))[graph.edges].sum(1).max())


def _lanczos_extremes(graph: Graph, weights: Float[np.ndarray, " edge"]) -> tuple[float, float]:
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import ArpackNoConvergence, aslinearoperator, eigsh

    n, (i, j) = graph.num_agents, graph.edges.T
    strengths, bound = _strengths(graph, weights), _largest_bound(graph, weights)
    half = coo_array((weights, (i, j)), shape=(n, n)).tocsr()
    # The shift by `bound` makes the solver's relative tolerance one relative to μ_max at both ends.
    shifted = (diags_array(strengths + bound) - half - half.T).tocsr()
    centre = np.full((n, 1), strengths.sum() / (n - 1) / n)  # as in the dense case
    operator = aslinearoperator(shifted) + aslinearoperator(centre) @ aslinearoperator(np.ones((1, n)))
    start = np.random.default_rng(0).standard_normal(n)
    options: dict[str, Any] = {"tol": _TOLERANCE, "v0": start, "ncv": 60}
    try:
        ends = eigsh(operator, k=2, which="BE", return_eigenvectors=False, **options)
    except ArpackNoConvergence:
        raise GraphError(
            f"The eigenvalues of this graph of {n:,} agents did not converge; use 'max-degree' weights."
        ) from None
    # A Ritz value lies inside the spectrum: too small a μ_max would give weights that diverge.
    largest = max(ends) * (1 + _TOLERANCE) - bound
    return float(min(largest, bound)), float(min(ends) - bound)


def _wide_extremes(graph: Graph, weights: Float[np.ndarray, " edge"]) -> tuple[float, float] | None:
    """μ_max from Lanczos, and a bound of μ_min that shows it to be negligible; None where the bound does not.

    Distances d from one agent change slowly over a wide graph: μ_min ≤ Σ_e w_e (d_i − d_j)² / Σ_k (d_k − d̄)².
    """
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.csgraph import dijkstra
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n, (i, j) = graph.num_agents, graph.edges.T
    half = coo_array((weights, (i, j)), shape=(n, n)).tocsr()
    distance = dijkstra(half, directed=False, indices=0, unweighted=True)
    if not np.isfinite(distance).all():
        return None
    spread = np.sum((distance - distance.mean()) ** 2)
    smallest = float(np.sum(weights * (distance[i] - distance[j]) ** 2) / spread)
    strengths = _strengths(graph, weights)
    if smallest > _NEGLIGIBLE * strengths.max():  # μ_max is at least the largest strength
        return None
    laplacian = (diags_array(strengths) - half - half.T).tocsr()
    options: dict[str, Any] = {"tol": _TOLERANCE, "v0": np.random.default_rng(0).standard_normal(n), "ncv": 20}
    try:
        ritz = eigsh(laplacian, k=1, which="LA", return_eigenvectors=False, **options)
    except ArpackNoConvergence:
        return None
    return float(min(ritz[0] * (1 + _TOLERANCE), _largest_bound(graph, weights))), smallest


def _components_of(graph: Graph) -> str:
    """The sizes of the components, and who is in the smallest."""
    labels = graph.components()
    sizes = np.bincount(labels)
    smallest = np.flatnonzero(labels == sizes.argmin()).tolist()
    agents = f"agent{'s' * (len(smallest) > 1)} {_few(smallest)}"
    return f"{len(sizes):,} components, of {_few(np.sort(sizes)[::-1].tolist())} agents, the smallest with {agents}"


def _few(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:4])) + (", …" if len(numbers) > 4 else "")
