"""Graphs from matrices, networkx and CSV files."""

import jax.numpy as jnp
import networkx
import numpy as np
import pytest

from airbayes.errors import GraphError
from airbayes.network import (
    best_constant,
    by_name,
    from_adjacency,
    from_csv,
    from_edges,
    from_mixing_matrix,
    from_networkx,
    metropolis,
    mixing_matrix,
    ring,
    star,
    to_networkx,
)
from airbayes.network.interop import MORE_COLUMNS


@pytest.mark.parametrize("name", ["full", "star", "grid", "random_geometric"])
def test_networkx_round_trip(name):
    graph = by_name(name, 12)
    back = from_networkx(to_networkx(graph))
    np.testing.assert_array_equal(back.edges, graph.edges)
    assert (back.num_agents, back.name) == (12, name)
    if graph.positions is None:
        assert back.positions is None
    else:
        np.testing.assert_array_equal(back.positions, graph.positions)


def test_networkx_nodes_are_renumbered_in_order():
    source = networkx.Graph()
    source.add_nodes_from(["c", "a", "b"])
    source.add_edge("b", "c")
    assert from_networkx(source).edges.tolist() == [[0, 2]]
    with pytest.raises(GraphError, match="to_undirected"):
        from_networkx(networkx.DiGraph(source))


def test_adjacency_round_trip():
    graph = by_name("erdos_renyi", 20)
    np.testing.assert_array_equal(from_adjacency(graph.adjacency()).edges, graph.edges)
    np.testing.assert_array_equal(from_adjacency(graph.adjacency().astype(bool)).edges, graph.edges)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({(0, 1): 0.0}, r"\[0, 1\] is 0, \[1, 0\] is 1: .*symmetric"),
        ({(1, 2): 0.5, (2, 1): 0.5}, r"\[1, 2\] is 0.5.*0 or 1"),
        ({(2, 2): 1.0}, r"\[2, 2\] is 1.*diagonal"),
        ({(0, 3): np.nan}, r"\[0, 3\] is nan"),
    ],
)
def test_bad_adjacency_names_the_entry(changes, message):
    adjacency = ring(5).adjacency()
    for entry, value in changes.items():
        adjacency[entry] = value
    with pytest.raises(GraphError, match=message):
        from_adjacency(adjacency)


def test_adjacency_must_be_a_square_of_numbers():
    with pytest.raises(GraphError, match=r"shape is \[2, 3\]"):
        from_adjacency(np.zeros((2, 3)))
    with pytest.raises(GraphError, match="numbers"):
        from_adjacency([["a", "b"], ["c", "d"]])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (2, 2)], "Edge 1 joins agent 2 to itself"),
        ([(0, 5)], r"Edge 0, \(0, 5\), is out of range: agents are 0 to 3"),
        ([(0, -1)], "out of range"),
        ([(0.5, 1)], "integer"),
        ([(0, 1, 2)], r"shape is \[1, 3\]"),
        ([(0, 1), (2,)], "pairs"),
    ],
)
def test_bad_edges_name_the_edge(edges, message):
    with pytest.raises(GraphError, match=message):
        from_edges(edges, 4)


def test_number_of_agents_defaults_to_the_largest_index():
    assert from_edges([(3, 1)]).num_agents == 4
    with pytest.raises(GraphError, match="num_agents"):
        from_edges([])
    with pytest.raises(GraphError, match="Renumber"):
        from_edges([(0, 123_456_789_012)])


def test_mixing_matrix_round_trip():
    graph = star(6)
    again, weights = from_mixing_matrix(mixing_matrix(graph, metropolis(graph)))
    np.testing.assert_array_equal(again.edges, graph.edges)
    np.testing.assert_allclose(weights, metropolis(graph), rtol=1e-15)


def test_a_mixing_matrix_of_float32_or_of_lists_is_one():
    given = mixing_matrix(ring(5), best_constant(ring(5)))
    for form in (given.tolist(), given.astype(np.float32), jnp.asarray(given, jnp.float32)):
        assert np.allclose(from_mixing_matrix(form)[1], best_constant(ring(5)), rtol=1e-6)
    with pytest.raises(GraphError, match=r"Row 0 of the mixing matrix sums to 1\.0001"):
        from_mixing_matrix((given + 1e-4 * np.eye(5)).astype(np.float32))


@pytest.mark.parametrize(
    "text",
    ["0,1\n1,2\n", "source,target\n0,1\n1,2", "# made by hand\n\n2 1  # last\n1\t0\n", "\ufeff0; 1\n1 ; 2\n"],
)
def test_csv_forms(tmp_path, text):
    path = tmp_path / "mesh.csv"
    path.write_text(text, encoding="utf-8")
    graph = from_csv(path)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert (graph.num_agents, graph.name) == (3, "mesh")
    assert from_csv(path, num_agents=5).num_agents == 5


def test_the_advice_about_an_adjacency_matrix_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(MORE_COLUMNS.partition("file with ")[2].removesuffix("."), {"np": np, "A": ring(5).adjacency()})
    assert from_csv("edges.csv").edges.tolist() == ring(5).edges.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n# fine\n1,x\n", "line 3: expected two agent indices, found '1,x'"),
        ("0,1\ni,j\n", "line 2: expected two"),
        ("i,j\nk,l\n", "line 2: expected two"),
        ("0.5,1\n", "line 1: expected two"),
        ("0,1,1\n", "line 1: expected two agent indices, found '0,1,1'. A line is one edge, .* leave weights out"),
        ("0 1 0 0\n1 0 1 0\n", r"line 1: expected two .* An adjacency matrix A becomes such a file with np\.savetxt"),
        ("0,1\n4,4\n", "line 2: '4,4': an agent joined to itself"),
        ("0,1\n-1,2\n", "line 2: .* indices must be 0 to"),
        ("0,9999999999999\n", "line 1: .* indices must be 0 to"),
        ("x" * 1000, "line 1: expected two agent indices, found 'x{60}'"),
        ("0,1\n" + "0" * 10_000 + ",1\n", "line 2: longer than 1000 characters"),
        ("", r"bad\.csv holds no edge; write two agent indices a line"),
    ],
)
def test_bad_csv_names_the_line(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(GraphError, match=message):
        from_csv(path)


def test_csv_that_cannot_be_read(tmp_path):
    with pytest.raises(GraphError, match=r"nowhere.csv: No such file"):
        from_csv(tmp_path / "nowhere.csv")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    with pytest.raises(GraphError, match="line 1"):
        from_csv(tmp_path / "binary.csv")
    huge = tmp_path / "huge.csv"
    with huge.open("wb") as file:
        file.truncate(1_000_000_001)  # sparse: takes no disk
    with pytest.raises(GraphError, match="1,000,000,001 bytes"):
        from_csv(huge)
