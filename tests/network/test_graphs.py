"""Graphs, their builders, and their errors."""

import tracemalloc

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.errors import GraphError
from airbayes.network import (
    Graph,
    best_constant,
    by_name,
    erdos_renyi,
    from_edges,
    full,
    grid,
    line,
    random_geometric,
    ring,
    second_eigenvalue,
    small_world,
    star,
    to_networkx,
)
from airbayes.network.builders import BUILDERS, _pair_of
from airbayes.network.graphs import MAX_AGENTS


def edge_set(graph: Graph) -> set[tuple[int, int]]:
    return {(i, j) for i, j in graph.edges.tolist()}


def networkx_edges(graph: networkx.Graph) -> set[tuple[int, int]]:
    return {(min(e), max(e)) for e in graph.edges()}


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_builders_match_networkx(n):
    assert edge_set(full(n)) == networkx_edges(networkx.complete_graph(n))
    assert edge_set(star(n)) == networkx_edges(networkx.star_graph(n - 1))
    assert edge_set(line(n)) == networkx_edges(networkx.path_graph(n))
    if n > 1:  # networkx gives one agent a self-loop
        assert edge_set(ring(n)) == networkx_edges(networkx.cycle_graph(n))
    lattice = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(n, 3))
    assert edge_set(grid(n, 3)) == networkx_edges(lattice)


def test_a_full_graph_takes_little_more_memory_than_its_edges():
    """98 million edges are allowed. A sort of them, a mask of N×N or a walk along them takes minutes and gigabytes."""
    tracemalloc.start()
    graph = full(1500)
    assert graph.is_connected()
    assert second_eigenvalue(graph, best_constant(graph)) < 1e-9
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * graph.edges.nbytes


def test_a_hub_joins_all_and_a_loose_agent_is_found():
    hub = from_edges([(0, 1), (0, 2), (0, 3), (2, 3)])
    assert hub.components().tolist() == [0, 0, 0, 0]
    assert not from_edges([(0, 1), (0, 2), (1, 2)], 4).is_connected()


def test_small_rings():
    assert ring(1).num_edges == 0
    assert edge_set(ring(2)) == {(0, 1)}


def test_matrices_and_degrees():
    graph = star(4)
    np.testing.assert_array_equal(graph.degrees, [3, 1, 1, 1])
    adjacency = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(graph.adjacency(), adjacency)
    np.testing.assert_array_equal(graph.laplacian(), np.diag([3, 1, 1, 1]) - adjacency)
    single = full(1)
    assert single.is_connected()
    assert single.degrees.tolist() == [0]


def test_random_geometric_joins_exactly_the_near_pairs():
    graph = random_geometric(150, 0.15, seed=3)
    assert graph.positions is not None
    distance = np.linalg.norm(graph.positions[:, None] - graph.positions[None], axis=-1)
    near = np.argwhere(np.triu(distance <= 0.15, 1))
    np.testing.assert_array_equal(graph.edges, near)


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_erdos_renyi_extremes(n):
    assert erdos_renyi(n, 0.0, 0).num_edges == 0
    assert edge_set(erdos_renyi(n, 1.0, 0)) == edge_set(full(n))


def test_erdos_renyi_is_uniform_over_pairs():
    # χ² over the 45 pairs of 10 agents, 1,000 graphs; fixed seeds, false-alarm rate 1e-4.
    from scipy.stats import chi2

    counts = np.zeros((10, 10))
    for seed in range(1000):
        i, j = erdos_renyi(10, 0.3, seed).edges.T
        counts[i, j] += 1
    observed = counts[np.triu_indices(10, 1)]
    statistic = ((observed - 300) ** 2 / (1000 * 0.3 * 0.7)).sum()
    assert chi2.sf(statistic, 45) > 1e-4


def test_pairs_are_numbered_without_gaps_up_to_the_largest_graph():
    small = _pair_of(np.arange(10_000))
    assert {tuple(p) for p in small.tolist()} == {(i, j) for j in range(142) for i in range(j)} - {
        (i, 141) for i in range(10_000 - 141 * 140 // 2, 141)
    }
    random = np.random.default_rng(0).integers(2, MAX_AGENTS, 100_000)
    j = np.concatenate([random, np.arange(MAX_AGENTS - 100_000, MAX_AGENTS)])
    first = j * (j - 1) // 2  # (0, j), which follows (j − 2, j − 1)
    np.testing.assert_array_equal(_pair_of(first), np.stack([0 * j, j], 1))
    np.testing.assert_array_equal(_pair_of(first - 1), np.stack([j - 2, j - 1], 1))


def test_small_world_keeps_its_number_of_edges():
    assert edge_set(small_world(20, 2, 0.0, seed=0)) == edge_set(ring(20))
    lattice, moved = small_world(200, 6, 0.0, seed=0), small_world(200, 6, 0.3, seed=0)
    assert lattice.num_edges == moved.num_edges == 600
    assert 0.15 < 1 - len(edge_set(lattice) & edge_set(moved)) / 600 < 0.45


@pytest.mark.parametrize("name", BUILDERS)
def test_by_name_is_named_connected_and_a_function_of_the_seed(name):
    for n in (1, 2, 3, 6, 12, 60):
        graph = by_name(name, n, seed=7)
        assert (graph.name, graph.num_agents) == (name, n)
        assert graph.is_connected()
        np.testing.assert_array_equal(graph.edges, by_name(name.replace("_", "-"), n, seed=7).edges)


def test_by_name_options():
    assert edge_set(by_name("grid", 12)) == edge_set(grid(3, 4))
    assert edge_set(by_name("grid", 12, cols=6)) == edge_set(grid(2, 6))
    assert edge_set(by_name("grid", 12, rows=6)) == edge_set(grid(6, 2))
    graph = by_name("random-geometric", 30, radius=2.0, seed=1)
    assert graph.num_edges == 30 * 29 / 2


def test_by_name_retries_until_connected():
    disconnected = [s for s in range(40) if not erdos_renyi(12, 0.25, s).is_connected()]
    assert disconnected
    assert all(by_name("erdos_renyi", 12, probability=0.25, seed=s).is_connected() for s in disconnected)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: by_name("rign", 5), "'rign'. Did you mean 'ring'.*random_geometric"),
        (lambda: by_name("ring", 5, radius=1), "no option 'radius'"),
        (lambda: by_name("grid", 5), "5 agents, a prime number, is a line. Take 4 or 6 agents, or the graph 'line'"),
        (lambda: by_name("grid", 12, rows=5), "5 × 2 does not have 12"),
        (lambda: by_name("random_geometric", 50, radius=0.01), "No connected .* radius = 0.01"),
        (lambda: by_name("star", 0), "not 0"),
        (lambda: full(1_000_000), "1,000,000 agents would have about 5e"),
        (lambda: random_geometric(5, -1.0, 0), "-1"),
        (lambda: erdos_renyi(5, 1.5, 0), "1.5"),
        (lambda: small_world(10, 3, 0.1, 0), "even .* not 3"),
        (lambda: small_world(10, 2, float("nan"), 0), "nan"),
        (lambda: ring(6_000).adjacency(), "6,000 agents is refused .limit 5,000"),
        (lambda: Graph(3, np.array([[0, 3]], np.int32)), r"\(0, 3\) is out of range: agents are 0 to 2"),
        (lambda: Graph(3, np.array([[1, 0]], np.int32)), r"\(1, 0\) must have i < j"),
        (lambda: Graph(3, np.array([[1, 1]], np.int32)), r"\(1, 1\) must have i < j"),
        (lambda: Graph(3, np.array([[0, 1], [0, 1]], np.int32)), "repeated or out of order"),
        (lambda: Graph(3, np.array([[1, 2], [0, 1]], np.int32)), "repeated or out of order"),
        (lambda: Graph(0, np.zeros((0, 2), np.int32)), "not 0"),
        (lambda: Graph(2, np.array([[0, 1]], np.int32), positions=np.zeros((3, 2))), "3 positions for 2"),
    ],
)
def test_errors_name_the_value(build, message):
    with pytest.raises(GraphError, match=message):
        build()


pairs = st.tuples(st.integers(0, 14), st.integers(0, 14)).filter(lambda pair: pair[0] != pair[1])


@settings(max_examples=60, deadline=None)
@given(edges=st.lists(pairs, max_size=40))
def test_any_edge_list_becomes_a_sound_graph(edges):
    graph = from_edges(edges, 15)
    assert edge_set(graph) == {(min(e), max(e)) for e in edges}
    labels = graph.components()
    for component in networkx.connected_components(to_networkx(graph)):
        assert len(np.unique(labels[list(component)])) == 1
    assert labels.max() + 1 == networkx.number_connected_components(to_networkx(graph))
    assert graph.is_connected() == (labels.max() == 0)
    np.testing.assert_array_equal(graph.degrees, graph.adjacency().sum(1))


def test_a_million_agents():
    graph = ring(1_000_000)
    assert graph.is_connected()
    assert graph.degrees.max() == 2
    assert not from_edges(graph.edges[1:-1], 1_000_000).is_connected()
