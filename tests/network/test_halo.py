"""The plan of a halo exchange, carried out by numpy: every shard ends up with exactly the rows its agents hear."""

import jax
import numpy as np
import pytest
from jax.sharding import AbstractMesh

from airbayes.errors import GraphError
from airbayes.network import build_mixing, by_name, random_geometric, shard_mixings
from airbayes.network.halo import AXIS, plan_halos


def mesh(shards: int):
    return AbstractMesh((shards,), (AXIS,))  # plans need its size alone


def exchanged(halo, values: np.ndarray, shards: int) -> list[np.ndarray]:
    """x_s of every shard, by the plan."""
    blocks = np.split(values, shards)
    out = []
    for shard in range(shards):
        parts = [blocks[shard]]
        for offset, send in zip(halo.offsets, halo.send, strict=True):
            source = (shard + offset) % shards
            parts.append(blocks[source][np.asarray(send)[source]])
        out.append(np.concatenate(parts))
    return out


@pytest.mark.parametrize("shards", [2, 3, 4])
@pytest.mark.parametrize("topology", ["ring", "star", "full", "random_geometric", "erdos_renyi", "line"])
def test_every_slot_finds_its_neighbour(topology, shards):
    table = np.asarray(build_mixing(by_name(topology, 24, seed=1), layout="table").neighbours)
    [halo] = plan_halos([table], mesh(shards))
    values = np.random.default_rng(0).normal(size=(24, 3))
    fetched = exchanged(halo, values, shards)
    for shard, places in enumerate(np.split(np.asarray(halo.rows), shards)):
        np.testing.assert_array_equal(fetched[shard][places], values[np.split(table, shards)[shard]])


def test_graphs_that_run_together_are_padded_alike():
    mixings = [
        build_mixing(by_name(name, 12, seed=0), layout="table", slots=11, max_edges=66) for name in ("ring", "full")
    ]
    ring, full = shard_mixings(mixings, mesh(3))
    assert jax.tree.structure(ring) == jax.tree.structure(full)
    assert [leaf.shape for leaf in jax.tree.leaves(ring)] == [leaf.shape for leaf in jax.tree.leaves(full)]
    assert ring.halo is not None
    assert full.halo is not None
    assert (ring.halo.heard(), full.halo.heard()) == (2, 8)


def test_a_ring_sends_one_row_either_way_and_a_geometric_graph_its_rim():
    [ring] = plan_halos([np.asarray(build_mixing(by_name("ring", 400), layout="table").neighbours)], mesh(8))
    assert ring.offsets == (1, 7)
    assert [send.shape for send in ring.send] == [(8, 1), (8, 1)]
    graph = random_geometric(4000, 0.04, seed=0)
    [patch] = plan_halos([np.asarray(build_mixing(graph, layout="table", check=False).neighbours)], mesh(4))
    # The rim of a quarter: strips of 0.04 along its two inner sides of 0.5 hold about 160 of the 4000 agents.
    assert 100 < patch.heard() < 220


def test_agents_that_do_not_split_evenly_are_refused():
    table = np.asarray(build_mixing(by_name("ring", 10), layout="table").neighbours)
    with pytest.raises(GraphError, match="10 agents do not split evenly over 4 devices"):
        plan_halos([table], mesh(4))
