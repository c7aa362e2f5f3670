"""Mixing on the device: equal to W, exact at consensus, the same under vmap, padding and sharding."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unchecked import answers

from airbayes.errors import GraphError
from airbayes.network import (
    EdgeMixing,
    Graph,
    Mixing,
    best_constant,
    build_mixing,
    by_name,
    from_edges,
    full,
    link_mask,
    max_degree,
    metropolis,
    mix,
    mixing_matrix,
    neighbour_sum,
    random_geometric,
    ring,
    stack_mixings,
    star,
)
from airbayes.network.builders import BUILDERS

RULES = {"best-constant": best_constant, "max-degree": max_degree, "metropolis": metropolis}


def normal(seed: int, *shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), shape)


@pytest.mark.parametrize("layout", ["table", "edges"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", BUILDERS)
def test_mix_equals_the_product_with_w(name, rule, layout):
    n = 80 if name == "full" else 24  # full: 79 slots, more than are unrolled
    graph = by_name(name, n)
    dense = mixing_matrix(graph, RULES[rule](graph))
    with jax.enable_x64(True):
        theta = normal(0, n, 7)
        mixed = jax.jit(mix)(theta, build_mixing(graph, rule, layout=layout))
        np.testing.assert_allclose(mixed, dense @ np.asarray(theta), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["full", "random_geometric"])
def test_float32_stays_float32(name):
    graph = by_name(name, 80)
    theta = normal(0, 80, 7)
    mixed = jax.jit(mix)(theta, build_mixing(graph))
    assert mixed.dtype == jnp.float32
    dense = mixing_matrix(graph, best_constant(graph))
    np.testing.assert_allclose(mixed, dense @ np.asarray(theta, float), rtol=0, atol=2e-6)


@settings(max_examples=15, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]), max_size=30
    ),
    seed=st.integers(0, 1000),
)
def test_any_graph_any_weights_any_gains(pairs, seed):
    graph = from_edges(pairs, 10)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=graph.num_edges)
    values, own = rng.normal(size=(2, 10, 3))
    gain = rng.normal(size=graph.num_edges)
    expected = np.zeros((10, 3))
    for (i, j), w, g in zip(graph.edges, weights, gain, strict=True):
        expected[i] += w * g * (values[j] - own[i])
        expected[j] += w * g * (values[i] - own[j])
    for mixing in (
        build_mixing(graph, weights, layout="table", slots=9, max_edges=45, check=False),
        build_mixing(graph, weights, layout="table", slots=70, max_edges=45, check=False),  # scanned
        build_mixing(graph, weights, layout="edges", check=False),
    ):
        per_link = jnp.asarray(np.append(gain, np.zeros(46))[np.asarray(mixing.edge_ids)])
        heard = jax.jit(neighbour_sum)(jnp.asarray(values), jnp.asarray(own), mixing, per_link)
        np.testing.assert_allclose(heard, expected, atol=2e-5)
        assert mixing.edge_weight is None


@pytest.mark.parametrize("layout", ["table", "edges"])
@pytest.mark.parametrize("name", ["full", "star", "ring", "random_geometric"])
def test_consensus_is_a_fixed_point_to_the_bit(name, layout):
    mixing = build_mixing(by_name(name, 90), layout=layout)
    theta = jnp.tile(normal(1, 1, 33), (90, 1))
    mask = link_mask(jax.random.key(2), mixing, 0.3)
    assert (jax.jit(mix)(theta, mixing) == theta).all()
    assert (jax.jit(mix)(theta, mixing, mask) == theta).all()


@pytest.mark.parametrize("name", ["full", "star", "ring"])
def test_no_phantom_prior(name):
    # 1,000 float32 mixes keep the mean of the network; a product with a rounded W does not.
    graph = by_name(name, 5)
    mixing = build_mixing(graph)
    theta = 1.0 + normal(3, 5, 40)

    def iterate(step, theta):
        return jax.lax.scan(lambda state, _: (step(state), None), theta, length=1000)[0]

    mean = np.asarray(theta, float).mean(0)
    drift = np.asarray(iterate(lambda state: mix(state, mixing), theta), float).mean(0) - mean
    assert np.abs(drift).max() < 1e-5
    rounded = jnp.asarray(mixing_matrix(graph, best_constant(graph)), jnp.bfloat16).astype(jnp.float32)
    rounded_drift = np.asarray(iterate(lambda state: rounded @ state, theta), float).mean(0) - mean
    assert np.abs(rounded_drift).max() > 1e-2


@pytest.mark.parametrize("weights", ["best-constant", "metropolis"])
def test_vmap_over_stacked_graphs_equals_a_loop(weights):
    graphs = [full(5), star(5), ring(5)]
    mixings = stack_mixings(graphs, weights)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *mixings)
    thetas, keys = normal(4, 3, 5, 11), jax.random.split(jax.random.key(5), 3)

    def step(key, theta, mixing):
        mask = link_mask(key, mixing, 0.2)
        return mix(theta, mixing, mask), mask, mixing.links.sum()

    together, masks, links = jax.jit(jax.vmap(step))(keys, thetas, stacked)
    np.testing.assert_array_equal(links, [20, 8, 10])
    for k, graph in enumerate(graphs):
        alone = build_mixing(graph, weights, layout="table")
        expected, mask, _ = jax.jit(step)(keys[k], thetas[k], alone)
        np.testing.assert_allclose(together[k], expected, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(masks[k][:, : mask.shape[1]], mask)  # padding redraws nothing
        assert not masks[k][:, mask.shape[1] :].any()


def test_fields_of_the_table():
    mixing = build_mixing(star(4), layout="table", slots=4, max_edges=6)
    assert mixing.edge_weight == pytest.approx(2 / 5)
    np.testing.assert_array_equal(mixing.degrees, [3, 1, 1, 1])
    np.testing.assert_array_equal(mixing.neighbours, [[1, 2, 3, 0], [0, 1, 1, 1], [0, 2, 2, 2], [0, 3, 3, 3]])
    np.testing.assert_array_equal(mixing.edge_ids, [[0, 1, 2, 6], [0, 6, 6, 6], [1, 6, 6, 6], [2, 6, 6, 6]])
    np.testing.assert_array_equal(mixing.links, [[1, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_allclose(mixing.weights, 0.4 * mixing.links, rtol=1e-6)
    assert (mixing.num_agents, mixing.num_edges) == (4, 6)


def test_one_agent_keeps_its_value():
    for layout in ("table", "edges"):
        mixing = build_mixing(full(1), layout=layout)
        theta = normal(6, 1, 9)
        assert mixing.edge_weight == 0
        assert (mix(theta, mixing) == theta).all()


def test_agents_without_links_need_check_off():
    apart = Graph(3, np.zeros((0, 2), np.int32))
    with pytest.raises(GraphError, match="3 components"):
        build_mixing(apart)
    theta = normal(7, 3, 2)
    assert (mix(theta, build_mixing(apart, check=False)) == theta).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: build_mixing(ring(5), "metropolice"), "'metropolice'. Did you mean 'metropolis'"),
        (lambda: build_mixing(ring(5), 0.9), "will not contract"),
        (lambda: build_mixing(ring(5), float("nan")), "nan"),
        (lambda: build_mixing(ring(5), np.ones(3)), r"shape \[3\] do not fit 5 edges"),
        (lambda: build_mixing(star(5), slots=3), "slots = 3 is less than the largest degree, 4"),
        (lambda: build_mixing(star(5), max_edges=3), "max_edges = 3 is less than the number of edges, 4"),
        (lambda: build_mixing(star(100_000), layout="table"), "layout='edges'"),
        (lambda: stack_mixings([ring(5), ring(6)]), r"\[5, 6\] agents"),
    ],
)
def test_errors_name_the_value(build, message):
    with pytest.raises(GraphError, match=message):
        build()


def test_graphs_of_others_are_told_how_to_become_ours():
    said = {
        "build_mixing(networkx.cycle_graph(5))": "got a networkx.classes.graph.Graph: use network.from_networkx(graph)",
        "build_mixing(from_mixing_matrix(W))": "got a builtins.tuple: give its parts, as in build_mixing(*network.",
        "best_constant(build_mixing(ring(5)))": "got a airbayes.network.mixing.Mixing: make one",
        "mixing_matrix(build_mixing(ring(5)), 0.3)": "got a airbayes.network.mixing.Mixing: make one",
        "max_degree(W)": "got a numpy.ndarray: make one",
        "build_mixing(W)": "got a numpy.ndarray: make one with network.from_edges or network.from_adjacency",
        "stack_mixings([ring(5), networkx.cycle_graph(5)])": "use network.from_networkx(graph)",
    }
    setup = "import networkx; from airbayes.network import *; W = mixing_matrix(ring(5), 0.3)"
    for wanted, message in zip(said.values(), answers(setup, list(said)).values(), strict=True):
        assert message.startswith("GraphError: A graph must be an airbayes.network.Graph, ")
        assert wanted in message


def test_names_of_weights_are_told_how_to_become_numbers():
    given = [
        f"{what}(ring(5), 'best-constant')" for what in ("mixing_matrix", "second_eigenvalue", "check_contraction")
    ]
    for message in answers("from airbayes.network import *", given).values():
        assert message.startswith(
            "GraphError: Edge weights must be numbers here, got 'best-constant'. Give network.best_"
        )


@pytest.mark.parametrize("name", ["ring", "random_geometric"])
def test_200_000_agents_in_linear_memory(name):
    graph = ring(200_000) if name == "ring" else random_geometric(200_000, 0.005, seed=0)
    mixing = build_mixing(graph, "max-degree", check=name == "ring")  # this radius leaves a few agents apart
    assert isinstance(mixing, Mixing)
    theta = normal(8, 200_000, 4)
    analysis = jax.jit(mix).lower(theta, mixing).compile().memory_analysis()
    assert analysis is not None
    assert analysis.temp_size_in_bytes <= 4 * theta.nbytes + 2 * mixing.weights.nbytes
    mixed = np.asarray(jax.jit(mix)(theta, mixing))
    theta, w = np.asarray(theta, float), max_degree(graph)
    expected = theta.copy()
    i, j = graph.edges.T
    np.add.at(expected, i, w * (theta[j] - theta[i]))
    np.add.at(expected, j, w * (theta[i] - theta[j]))
    np.testing.assert_allclose(mixed, expected, atol=1e-5)


def test_a_large_star_takes_edges_and_a_small_one_the_table():
    assert isinstance(build_mixing(star(500)), Mixing)
    large = build_mixing(star(100_000))
    assert isinstance(large, EdgeMixing)
    theta = normal(9, 100_000, 2)
    mixed = np.asarray(mix(theta, large))
    theta, w = np.asarray(theta, float), 2 / 100_001
    np.testing.assert_allclose(mixed[1:], theta[1:] + w * (theta[0] - theta[1:]), atol=1e-6)
    np.testing.assert_allclose(mixed[0], theta[0] + w * (theta[1:] - theta[0]).sum(0), atol=1e-4)


SHARDED = """
import jax, jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from airbayes.network import build_mixing, by_name, link_mask, neighbour_sum, mix

assert jax.device_count() == 2
mesh = jax.make_mesh((2,), ("agents",), axis_types=(AxisType.Auto,))
rows = NamedSharding(mesh, P("agents"))

def run(theta, mixing):
    def step(theta, key):
        return mix(theta, mixing, link_mask(key, mixing, 0.1)), None
    return jax.lax.scan(step, theta, jax.random.split(jax.random.key(1), 20))[0]

for name in ("random_geometric", "full", "ring"):
    mixing = build_mixing(by_name(name, 80), layout="table")
    theta = jax.random.normal(jax.random.key(0), (80, 33))
    alone = jax.jit(run)(theta, mixing)
    place = lambda x: jax.device_put(x, rows if jnp.ndim(x) else NamedSharding(mesh, P()))
    split = jax.jit(run)(place(theta), jax.tree.map(place, mixing))
    assert len(split.sharding.device_set) == 2
    assert (alone == split).all(), name

    def local(theta, mixing):
        everyone = jax.lax.all_gather(theta, "agents", tiled=True)
        return theta + neighbour_sum(everyone, theta, mixing)
    specs = jax.tree.map(lambda x: P("agents") if jnp.ndim(x) else P(), mixing)
    mapped = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(P("agents"), specs), out_specs=P("agents")))
    assert (mapped(place(theta), jax.tree.map(place, mixing)) == jax.jit(mix)(theta, mixing)).all(), name
print("equal")
"""


@pytest.mark.long
def test_sharding_the_agents_changes_no_bit():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SHARDED], env=os.environ | flags, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "equal", done.stderr
