"""Extreme eigenvalues of Laplacians in closed form, (λ_1, λ_{N−1}), for shapes that can be told from their edges.

full N, N;   star N, 1;   ring 4 sin²(π⌊N/2⌋/N), 4 sin²(π/N);   line 4 cos²(π/2N), 4 sin²(π/2N)
grid of r × c agents: the sums of the eigenvalues of a line of r and a line of c
"""

import math

import numpy as np

from airbayes.network.graphs import Graph


def known_extremes(graph: Graph) -> tuple[float, float] | None:
    """Of full, star, ring and line, which the degrees and connectivity alone identify; None for all others."""
    n, most = graph.num_agents, int(graph.degrees.max())
    if 2 * graph.num_edges == n * (n - 1):
        return float(n), float(n)
    if graph.num_edges == n - 1 == most:
        return float(n), 1.0
    if most == 2 and graph.num_edges >= n - 1 and graph.is_connected():
        if graph.num_edges == n:
            return 4 * math.sin(math.pi * (n // 2) / n) ** 2, 4 * math.sin(math.pi / n) ** 2
        return _line(n)
    return None


def grid_extremes(graph: Graph) -> tuple[float, float] | None:
    """Of a grid numbered row by row, as `grid` makes it: a million agents in no time. None for all others."""
    n, edges = graph.num_agents, graph.edges.astype(np.int64)
    if len(edges) < 2 or edges[1, 0] != 0:
        return None
    cols = int(edges[1, 1])  # agent 0 is joined to 1 and, below it, to `cols`
    rows = n // cols
    if rows < 2 or cols < 2 or rows * cols != n or len(edges) != 2 * n - rows - cols:
        return None
    left, step = edges[:, 0], edges[:, 1] - edges[:, 0]
    # No edge occurs twice, so if each is one of the grid's, and there are as many, all are there.
    if not ((step == cols) | ((step == 1) & ((left + 1) % cols != 0))).all():
        return None
    (tall, _), (wide, _) = _line(rows), _line(cols)
    return tall + wide, _line(max(rows, cols))[1]


def _line(n: int) -> tuple[float, float]:
    """2 − 2cos x is written 4 sin²(x/2), which keeps its digits when x is small."""
    return 4 * math.cos(math.pi / (2 * n)) ** 2, 4 * math.sin(math.pi / (2 * n)) ** 2
