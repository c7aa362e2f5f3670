"""Weights and eigenvalues, against the design's values and dense eigensolvers."""

import math

import numpy as np
import pytest

from airbayes.errors import GraphError
from airbayes.network import (
    Graph,
    best_constant,
    by_name,
    check_contraction,
    check_mixing_matrix,
    erdos_renyi,
    from_edges,
    full,
    grid,
    laplacian_extremes,
    line,
    max_degree,
    metropolis,
    mixing_matrix,
    ring,
    second_eigenvalue,
    star,
)
from airbayes.network import spectrum as spectrum_module
from airbayes.network.known_spectra import grid_extremes


@pytest.mark.parametrize(
    ("graph", "weight", "self_weights", "second"),
    [
        (full(5), 1 / 5, [1 / 5] * 5, 0.0),
        (ring(5), 2 / 5, [1 / 5] * 5, 1 / math.sqrt(5)),
        (star(5), 1 / 3, [-1 / 3] + [2 / 3] * 4, 2 / 3),
    ],
    ids=["full", "ring", "star"],
)
def test_values_of_five_agents(graph, weight, self_weights, second):
    w = best_constant(graph)
    assert w == pytest.approx(weight, rel=1e-14)
    np.testing.assert_allclose(np.diag(mixing_matrix(graph, w)), self_weights, atol=1e-14)
    assert second_eigenvalue(graph, w) == pytest.approx(second, abs=1e-14)
    check_contraction(graph, w)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9, 30])
@pytest.mark.parametrize("builder", [full, star, ring, line])
def test_closed_forms_equal_the_dense_eigenvalues_however_labelled(builder, n):
    labels = np.random.default_rng(n).permutation(n)
    graph = from_edges(labels[builder(n).edges], n)
    eigenvalues = np.linalg.eigvalsh(graph.laplacian())
    largest, smallest = laplacian_extremes(graph)
    assert largest == pytest.approx(eigenvalues[-1], rel=1e-12)
    assert smallest == pytest.approx(eigenvalues[1], rel=1e-10)


def test_two_triangles_are_not_taken_for_a_ring():
    triangles = from_edges([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    assert laplacian_extremes(triangles) == pytest.approx((3.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("name", ["grid", "random_geometric", "erdos_renyi", "small_world"])
def test_second_eigenvalue_and_optimality(name):
    graph = by_name(name, 24)
    for weights in (best_constant(graph), max_degree(graph), metropolis(graph)):
        matrix = mixing_matrix(graph, weights)
        eigenvalues = np.linalg.eigvalsh(matrix)
        second = second_eigenvalue(graph, weights)
        assert second == pytest.approx(np.sort(np.abs(eigenvalues))[-2], abs=1e-12)
        np.testing.assert_allclose(matrix.sum(1), 1, atol=1e-14)
        check_mixing_matrix(matrix)
    w = best_constant(graph)
    assert second_eigenvalue(graph, w) < min(second_eigenvalue(graph, c * w) for c in (0.98, 1.02))


@pytest.mark.parametrize("name", ["random_geometric", "erdos_renyi", "small_world"])
def test_lanczos_agrees_with_dense_and_errs_on_the_safe_side(name):
    graph = by_name(name, 400)
    for weights in (np.ones(graph.num_edges), metropolis(graph)):
        largest, smallest = laplacian_extremes(graph, weights)
        about_largest, about_smallest = spectrum_module._lanczos_extremes(graph, weights)
        assert largest <= about_largest < largest * (1 + 5e-4)
        assert abs(about_smallest - smallest) < 1e-4 * largest


@pytest.mark.parametrize(("rows", "cols"), [(2, 2), (2, 9), (9, 2), (5, 7), (6, 6)])
def test_grids_have_their_closed_form(rows, cols):
    graph = grid(rows, cols)
    eigenvalues = np.linalg.eigvalsh(graph.laplacian())
    assert grid_extremes(graph) == pytest.approx((eigenvalues[-1], eigenvalues[1]), rel=1e-12)
    assert grid_extremes(from_edges((np.arange(rows * cols) + 1)[graph.edges], rows * cols + 1)) is None


def test_what_only_resembles_a_grid_is_not_taken_for_one():
    edges = grid(3, 4).edges.tolist()
    torn = [edge for edge in edges if edge != [5, 6]]
    assert grid_extremes(from_edges([*torn, [3, 4]])) is None  # the end of a row joined to the next row
    assert grid_extremes(from_edges([*torn, [5, 8]])) is None
    assert grid_extremes(from_edges(torn)) is None
    assert grid_extremes(line(12)) is grid_extremes(ring(12)) is grid_extremes(star(12)) is None


def test_a_million_agents_on_a_grid_need_no_solver(monkeypatch):
    monkeypatch.setattr(spectrum_module, "_wide_extremes", None)
    largest, smallest = laplacian_extremes(grid(1000, 1000), 0.5)
    assert largest == pytest.approx(4 * math.cos(math.pi / 2000) ** 2, rel=1e-12)
    assert smallest == pytest.approx(2 * math.sin(math.pi / 2000) ** 2, rel=1e-12)


def test_large_grid_is_safe_and_nearly_optimal():
    rows, cols = 60, 70  # 4,200 agents: beyond the dense limit
    largest = 4 * math.cos(math.pi / 2 / rows) ** 2 + 4 * math.cos(math.pi / 2 / cols) ** 2
    smallest = 4 * math.sin(math.pi / 2 / cols) ** 2
    w = best_constant(grid(rows, cols))
    assert w == pytest.approx(2 / (largest + smallest), rel=1e-12)
    assert abs(1 - w * largest) < 1 - w * smallest + 1e-12
    check_contraction(grid(rows, cols), w)


def test_rules_without_eigenvalues():
    graph = from_edges([(0, 1), (1, 2), (2, 3), (1, 3)])
    assert max_degree(graph) == 1 / 4
    np.testing.assert_allclose(metropolis(graph), [1 / 4, 1 / 4, 1 / 4, 1 / 3])


def test_one_agent():
    graph = full(1)
    assert best_constant(graph) == max_degree(graph) == 0.0
    assert metropolis(graph).shape == (0,)
    assert second_eigenvalue(graph, 0.0) == 0.0
    np.testing.assert_array_equal(mixing_matrix(graph, 0.0), [[1.0]])
    check_contraction(graph, 0.0)
    check_mixing_matrix(np.ones((1, 1)))


def test_huge_known_shapes_have_their_best_weight():
    large_ring = ring(1_000_000)
    assert best_constant(large_ring) == pytest.approx(0.5, rel=1e-10)
    assert best_constant(star(1_000_000)) == 2 / 1_000_001
    check_contraction(large_ring, best_constant(large_ring))


def test_the_small_end_of_a_wide_spectrum_is_bounded_and_that_of_an_expander_refused():
    large_grid = from_edges(np.roll(np.arange(150 * 150), 7)[grid(150, 150).edges])  # by its labels no grid
    largest, smallest = laplacian_extremes(large_grid)
    exact_largest, exact_smallest = 8 * math.sin(math.pi * 149 / 300) ** 2, 4 * math.sin(math.pi / 300) ** 2
    assert exact_largest <= largest <= exact_largest * (1 + 2e-4)
    assert exact_smallest <= smallest <= 1e-3 * exact_largest
    assert best_constant(large_grid) == pytest.approx(2 / (exact_largest + exact_smallest), rel=1e-3)
    check_contraction(large_grid, best_constant(large_grid))
    check_contraction(large_grid, max_degree(large_grid))

    expander = erdos_renyi(210_000, 8 / 210_000, seed=0)
    with pytest.raises(GraphError, match=r"210,000 agents .*'max-degree'"):
        best_constant(expander)


def test_wide_graphs_agree_with_lanczos_at_both_ends():
    graph = by_name("random_geometric", 21_000)
    largest, smallest = laplacian_extremes(graph)
    reference = spectrum_module._lanczos_extremes(graph, np.ones(graph.num_edges))
    assert largest == pytest.approx(reference[0], rel=3e-4)
    assert reference[1] - 1e-4 * largest <= smallest <= 1e-3 * largest


@pytest.mark.parametrize(
    ("graph", "weights", "message"),
    [
        (from_edges([(0, 1), (2, 3)]), 0.4, r"1.0 ≥ 1. Is the graph connected\? It has 2 components, of 2, 2 agents"),
        (Graph(3, np.zeros((0, 2), np.int32)), 0.1, "3 components, of 1, 1, 1"),
        (line(3), np.array([0.3, 0.0]), r"edge 1, \[1, 2\], is 0, .* 2 components, of 2, 1 agents, .* with agent 2\."),
        (ring(5), 0.0, r"edge 0, \[0, 1\], is 0, and without .* Give positive weights; try 'best-constant'"),
        (from_edges([(1, 2), (2, 3)]), 0.3, r"of 3, 1 agents, .* agent 0; .* from 0: do these edges count from 1\?"),
        (from_edges([(0, 1), (1, 2), (3, 4)]), 0.3, r"the smallest with agents 3, 4; join them .* agents\.$"),
        (ring(4), 0.5, "is 1 ≥ 1. The graph is connected"),
        (ring(5), 0.7, r"is 1.53\d+ ≥ 1"),
        (full(5), -0.1, "is 1.5 ≥ 1.*negative or too large"),
        (ring(5_000), 0.5, "is 1 ≥ 1"),
        (grid(60, 70), 0.26, r"is 1.0\d+ ≥ 1"),
        (ring(4), np.array([0.2, 0.2]), r"shape \[2\] do not fit 4 edges"),
        (ring(4), np.array([0.2, np.nan, 0.2, 0.2]), r"edge 1, \[0, 3\], is nan"),
    ],
)
def test_weights_that_do_not_contract(graph, weights, message):
    with pytest.raises(GraphError, match=message):
        check_contraction(graph, weights)


def test_a_negative_edge_weight_may_contract():
    weights = np.full(10, 0.2)
    weights[0] = -0.05
    check_contraction(full(5), weights)
    check_mixing_matrix(mixing_matrix(full(5), weights))


def test_own_mixing_matrix_errors():
    good = mixing_matrix(ring(5), 0.4)
    for entry, value, message in (
        ((0, 1), 0.5, r"not symmetric: \[0, 1\] is 0.5, \[1, 0\] is 0.4"),
        ((2, 2), 0.3, r"Row 2 .* sums to 1.1, not 1.* entry to 0.2"),
        ((3, 1), np.inf, r"\[3, 1\] is inf"),
    ):
        bad = good.copy()
        bad[entry] = value
        with pytest.raises(GraphError, match=message):
            check_mixing_matrix(bad)
    with pytest.raises(GraphError, match=r"shape is \[2, 3\]"):
        check_mixing_matrix(np.ones((2, 3)))
    with pytest.raises(GraphError, match="will not contract"):
        check_mixing_matrix(np.eye(3))


def test_erdos_renyi_best_weight_beats_the_local_rules():
    graph = erdos_renyi(60, 0.2, 0)
    best = second_eigenvalue(graph, best_constant(graph))
    assert best < second_eigenvalue(graph, max_degree(graph)) < 1
