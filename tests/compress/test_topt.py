import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.compress import top_t

top_t_jit = jax.jit(top_t)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 1e-42, -3e38, np.inf, -np.inf, np.nan, np.nan], np.float32)
SPECIAL.view(np.uint32)[-1] = 0xFFFFFFFF  # the NaN above all others


def by_sorting(values, t):
    """The definition: a stable sort by decreasing magnitude; NaN counts above ∞."""
    magnitude = np.abs(values).view(np.uint32).astype(np.int64)
    mask = np.zeros(len(values), bool)
    mask[np.argsort(-magnitude, kind="stable")[:t]] = True
    return mask


@pytest.mark.parametrize("t", [0, 1, 2, 255, 256, 257, 2662, 40_854, 40_855])
def test_top_t_at_the_papers_size(t):
    values = np.random.default_rng(t).standard_normal(40_855).astype(np.float32)
    mask = np.asarray(top_t_jit(values, t))
    np.testing.assert_array_equal(mask, by_sorting(values, t))


@pytest.mark.parametrize("t", [0, 1, 300, 512, 513, 777, 1000])
@pytest.mark.parametrize("distinct", [1, 2, 5])
def test_ties_go_to_the_lowest_index_and_exactly_t_are_kept(t, distinct):
    rng = np.random.default_rng(distinct)
    values = (rng.integers(0, distinct, 1000) * rng.choice([-1, 1], 1000)).astype(np.float32)
    mask = np.asarray(top_t_jit(values, t))
    assert mask.sum() == t
    np.testing.assert_array_equal(mask, by_sorting(values, t))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(range(len(SPECIAL))), min_size=12, max_size=12), st.integers(0, 12))
def test_special_numbers(which, t):
    values = SPECIAL[which]
    np.testing.assert_array_equal(np.asarray(top_t_jit(values, t)), by_sorting(values, t))


def test_vmap_with_a_different_t_for_each_agent_equals_a_loop():
    rng = np.random.default_rng(0)
    values = jnp.asarray(rng.integers(-9, 9, (3, 4, 700)), jnp.float32)  # cells, agents, parameters
    t = jnp.asarray(rng.integers(0, 701, (3, 4)), jnp.int32).at[0, :2].set(jnp.array([0, 700]))
    got = jax.jit(jax.vmap(jax.vmap(top_t)))(values, t)
    for cell in range(3):
        for agent in range(4):
            wanted = by_sorting(np.asarray(values[cell, agent]), int(t[cell, agent]))
            np.testing.assert_array_equal(got[cell, agent], wanted)


def test_jit_and_no_jit_agree_and_one_trace_serves_every_t():
    traces = []

    @jax.jit
    def counted(values, t):
        traces.append(1)
        return top_t(values, t)

    values = jax.random.normal(jax.random.key(0), (500,))
    for t in (0, 3, 500):
        np.testing.assert_array_equal(counted(values, jnp.asarray(t)), top_t(values, t))
    assert len(traces) == 1


def test_a_t_out_of_range_is_clipped():
    values = jnp.arange(5.0)
    assert not top_t(values, -2).any()
    assert top_t(values, 9).all()
