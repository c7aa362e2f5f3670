"""The local order: what a Hilbert curve is, that renumbering keeps the graph, and that splits cut few edges."""

import math

import numpy as np
import pytest

from airbayes.errors import GraphError
from airbayes.network import (
    by_name,
    edges_cut,
    from_edges,
    grid,
    hilbert_order,
    local_order,
    random_geometric,
    renumber,
    ring,
)


def test_the_curve_walks_a_square_in_unit_steps():
    cells = np.stack(np.meshgrid(np.arange(32), np.arange(32)), -1).reshape(-1, 2)
    shuffled = np.random.default_rng(0).permutation(cells) * 3.5 - 20.0
    walk = shuffled[hilbert_order(shuffled)]
    np.testing.assert_array_equal(np.abs(np.diff(walk, axis=0)).sum(1), 3.5)  # to a neighbouring cell each time
    assert len(np.unique(walk, axis=0)) == 32 * 32


def test_equal_points_keep_their_order_and_flat_clouds_are_sorted():
    assert hilbert_order(np.ones((4, 2))).tolist() == [0, 1, 2, 3]
    assert hilbert_order(np.zeros((0, 2))).tolist() == []
    flat = np.stack([np.array([0.3, 0.1, 0.9, 0.2]), np.zeros(4)], 1)
    assert flat[hilbert_order(flat), 0].tolist() in ([0.1, 0.2, 0.3, 0.9], [0.9, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("parts", [2, 8, 64])
def test_blocks_of_a_geometric_graph_are_compact(parts):
    n, degree = 20_000, 12
    graph = random_geometric(n, math.sqrt(degree / (math.pi * n)), seed=0)
    # (2/3) ρ² r³ L edges cross a straight border of length L at density ρ = N. Square blocks have a border of
    # 4 √(1/p) each, every piece shared by two; patches of the curve may have twice that.
    squares = 2 / 3 * n**2 * (degree / (math.pi * n)) ** 1.5 * parts * 4 * math.sqrt(1 / parts) / 2
    assert edges_cut(graph, parts) < 2 * squares
    scattered = renumber(graph, np.random.default_rng(1).permutation(n))
    assert edges_cut(scattered, parts) > 0.9 * (1 - 1 / parts) * graph.num_edges


def test_renumbering_is_a_relabelling():
    graph = by_name("small_world", 40, seed=3)
    order = np.random.default_rng(2).permutation(40)
    np.testing.assert_array_equal(renumber(graph, order).adjacency(), graph.adjacency()[np.ix_(order, order)])
    placed = random_geometric(50, 0.3, seed=1)
    order = np.random.default_rng(3).permutation(50)
    moved = renumber(placed, order)
    assert placed.positions is not None
    np.testing.assert_array_equal(moved.positions, placed.positions[order])
    np.testing.assert_array_equal(renumber(moved, local_order(moved)).edges, placed.edges)  # back on the curve


@pytest.mark.parametrize("graph", [ring(300), grid(20, 30), from_edges([(0, 1)], 7)], ids=lambda graph: graph.name)
def test_graphs_without_positions_become_narrow(graph):
    width = np.abs(np.diff(graph.edges, axis=1)).max()
    scattered = renumber(graph, np.random.default_rng(0).permutation(graph.num_agents))
    narrow = renumber(scattered, local_order(scattered))
    assert narrow.num_edges == graph.num_edges
    assert np.abs(np.diff(narrow.edges, axis=1)).max() <= max(2, min(width, 20))


def test_cut_edges_of_a_ring():
    assert [edges_cut(ring(12), parts) for parts in (1, 2, 3, 12)] == [0, 2, 3, 12]


def test_an_order_must_hold_every_agent_once():
    with pytest.raises(GraphError, match="0 to 4 once"):
        renumber(ring(5), np.array([0, 1, 2, 3, 3]))
