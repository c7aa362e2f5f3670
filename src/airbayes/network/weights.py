"""Edge weights w of the mixing matrix W = I − L_w.

    best constant  w = 2/(λ_1 + λ_{N−1}), the single weight with the smallest second |eigenvalue|
    max-degree     w = 1/(1 + max_k deg_k)
    Metropolis     w_ij = 1/(1 + max(deg_i, deg_j)), one per edge

The first two are one weight for all edges, as CD-DSGLD needs.
"""

import difflib

import numpy as np
from jaxtyping import ArrayLike, Float, Real

from airbayes.errors import GraphError
from airbayes.network.graphs import Graph, require_graph
from airbayes.network.spectrum import laplacian_extremes, per_edge

WEIGHT_RULES = ("best-constant", "max-degree", "metropolis")
Weights = str | Real[ArrayLike, ""] | Real[ArrayLike, " edge"]


def best_constant(graph: Graph) -> float:
    """w = 2/(λ_1 + λ_{N−1}); 0 for a graph without edges. See `laplacian_extremes` for sizes and errors."""
    largest, smallest = laplacian_extremes(graph)
    return 2 / (largest + smallest) if largest > 0 else 0.0


def max_degree(graph: Graph) -> float:
    """w = 1/(1 + max_k deg_k); 0 for a graph without edges. Needs no eigenvalues."""
    require_graph(graph)
    return 1 / (1 + float(graph.degrees.max())) if graph.num_edges else 0.0


def metropolis(graph: Graph) -> Float[np.ndarray, " edge"]:
    """w_ij = 1/(1 + max(deg_i, deg_j)) for every edge; each agent needs its neighbours' degrees only."""
    require_graph(graph)
    return 1 / (1 + graph.degrees[graph.edges].max(1).astype(float))


def resolve(graph: Graph, weights: Weights) -> float | Float[np.ndarray, " edge"]:
    """One weight, or one per edge, from a rule's name, a number or an array."""
    if isinstance(weights, str):
        match weights.replace("_", "-"):
            case "best-constant":
                return best_constant(graph)
            case "max-degree":
                return max_degree(graph)
            case "metropolis":
                return metropolis(graph)
        close = difflib.get_close_matches(weights, WEIGHT_RULES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise GraphError(f"Unknown weights {weights!r}.{hint} Known: {', '.join(WEIGHT_RULES)}, a number, an array.")
    per_edge(graph, weights)  # raises on a wrong shape or value
    return float(np.asarray(weights)) if np.ndim(weights) == 0 else np.asarray(weights, float)
