"""Outage masks: symmetric where promised, right in rate, and never changing a row sum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.network import (
    AnyMixing,
    build_mixing,
    by_name,
    combine,
    full,
    link_mask,
    mix,
    node_mask,
    one_way_mask,
    ring,
    star,
    surviving_components,
)

MASKS = {"link": link_mask, "one-way": one_way_mask, "node": node_mask}
KEY = jax.random.key(11)


def dense_mask(mask: jax.Array, mixing: AnyMixing) -> np.ndarray:
    """M[k, j] = 1 where agent k hears agent j."""
    receivers = np.broadcast_to(np.asarray(mixing.receivers), mask.shape)
    dense = np.zeros((mixing.num_agents, mixing.num_agents))
    np.add.at(dense, (receivers, np.asarray(mixing.senders)), np.asarray(mask))
    return dense


@pytest.mark.parametrize("layout", ["table", "edges"])
@pytest.mark.parametrize("kind", MASKS)
def test_masks_are_zero_or_one_and_only_on_links(kind, layout):
    graph = by_name("random_geometric", 60)
    mixing = build_mixing(graph, layout=layout)
    draw = jax.jit(MASKS[kind])
    mask = draw(KEY, mixing, 0.3)
    assert mask.shape == mixing.weights.shape
    assert mask.dtype == mixing.weights.dtype
    dense = dense_mask(mask, mixing)
    assert set(np.unique(dense)) == {0.0, 1.0}
    assert (dense <= graph.adjacency()).all()
    assert (dense == dense.T).all() == (kind != "one-way")
    np.testing.assert_array_equal(dense_mask(draw(KEY, mixing, 0.0), mixing), graph.adjacency())
    assert not draw(KEY, mixing, 1.0).any()


@pytest.mark.parametrize("kind", MASKS)
def test_layouts_draw_the_same_mask(kind):
    graph = by_name("small_world", 40)
    table, edges = (build_mixing(graph, layout=layout) for layout in ("table", "edges"))
    np.testing.assert_array_equal(
        dense_mask(MASKS[kind](KEY, table, 0.4), table), dense_mask(MASKS[kind](KEY, edges, 0.4), edges)
    )


@pytest.mark.parametrize("kind", MASKS)
def test_rows_sum_to_one_and_symmetric_masks_keep_the_mean(kind):
    mixing = build_mixing(by_name("erdos_renyi", 30))
    mask = MASKS[kind](KEY, mixing, 0.4)
    masked = jax.jit(mix)(jnp.eye(30), mixing, mask)  # the masked W itself
    np.testing.assert_allclose(masked.sum(1), 1, atol=1e-6)
    symmetric = bool(np.allclose(masked, masked.T, atol=1e-7))
    assert symmetric == (kind != "one-way")
    assert (jax.jit(mix)(jnp.full((30, 3), 1.7), mixing, mask) == jnp.float32(1.7)).all()


def test_outage_rates():
    # 100,000 edges; five standard deviations: false-alarm rate 6e-7 each, with a fixed key.
    mixing, p = build_mixing(ring(100_000)), 0.2
    sigma = np.sqrt(p * (1 - p) / 100_000)
    assert abs(float(link_mask(KEY, mixing, p).mean()) - (1 - p)) < 5 * sigma
    one_way = one_way_mask(KEY, mixing, p)
    assert abs(float(one_way.mean()) - (1 - p)) < 5 * sigma
    both = dense_pairs(one_way, mixing)
    assert abs(both - (1 - p) ** 2) < 5 * np.sqrt(0.64 * 0.36 / 100_000)  # directions fail independently
    assert abs(float(node_mask(KEY, mixing, p).mean()) - (1 - p) ** 2) < 5 * 2 * sigma


def dense_pairs(mask: jax.Array, mixing: AnyMixing) -> float:
    """The share of edges alive in both directions."""
    alive = np.bincount(np.asarray(mixing.edge_ids).ravel(), np.asarray(mask).ravel())
    return float((alive == 2).mean())


def test_a_node_down_loses_every_link():
    mixing = build_mixing(full(12))
    dense = dense_mask(node_mask(KEY, mixing, 0.4), mixing)
    up = dense.any(1)
    assert 0 < up.sum() < 12
    np.testing.assert_array_equal(dense, np.outer(up, up) ^ np.diag(up))


def test_combine_keeps_links_alive_in_every_mask():
    mixing = build_mixing(full(8))
    first, second = link_mask(KEY, mixing, 0.5), node_mask(KEY, mixing, 0.3)
    np.testing.assert_array_equal(combine(first, second), np.minimum(first, second))
    np.testing.assert_array_equal(combine(first), first)


@pytest.mark.parametrize("layout", ["table", "edges"])
def test_surviving_components(layout):
    mixing = build_mixing(ring(6), layout=layout)
    assert surviving_components(mixing.links, mixing) == 1
    assert surviving_components(0 * mixing.links, mixing) == 6
    cut = (mixing.edge_ids != 0) & (mixing.edge_ids != 3)
    assert surviving_components(mixing.links * cut, mixing) == 2
    clockwise = mixing.links * ((mixing.receivers - mixing.senders) % 6 == 1)
    assert surviving_components(clockwise, mixing) == 1  # everyone still reaches everyone, one way round
    hub = build_mixing(star(5), layout=layout)
    assert surviving_components(hub.links * (hub.receivers == 0), hub) == 5


def test_masks_follow_the_key_and_vmap():
    mixing = build_mixing(by_name("grid", 30))
    keys = jax.random.split(KEY, 4)
    masks = jax.vmap(lambda key: link_mask(key, mixing, 0.5))(keys)
    for key, mask in zip(keys, masks, strict=True):
        np.testing.assert_array_equal(mask, link_mask(key, mixing, 0.5))
    assert len({mask.tobytes() for mask in np.asarray(masks)}) == 4
