"""Noise: the fast rows are those of jax.random, bit for bit, however they are computed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes import keys as keys_module
from airbayes.keys import Purpose, agent_keys, normal_rows, normal_rows_plain, uniform_rows


@pytest.mark.parametrize(("agents", "params"), [(1, 1), (5, 7), (33, 130), (2, 40_855)])
def test_fast_rows_are_those_of_jax(agents, params):
    keys = agent_keys(jax.random.key(3), 11, Purpose.CHANNEL, agents)
    plain = np.asarray(normal_rows_plain(keys, params))
    np.testing.assert_array_equal(normal_rows(keys, params), plain)
    np.testing.assert_array_equal(jax.jit(normal_rows, static_argnums=1)(keys, params), plain)
    assert plain.dtype == np.float32
    uniform = jax.vmap(lambda key: jax.random.uniform(key, (params,)))(keys)
    np.testing.assert_array_equal(jax.jit(uniform_rows, static_argnums=1)(keys, params), uniform)


def test_under_vmap_and_inside_a_loop_too():
    runs = jax.random.split(jax.random.key(5), 3)

    def drawn(rows):
        def body(step, total):
            return total + jax.vmap(lambda key: rows(agent_keys(key, step, Purpose.LANGEVIN, 4), 9))(runs)

        return jax.jit(lambda: jax.lax.fori_loop(0, 6, body, jnp.zeros((3, 4, 9))))()

    np.testing.assert_array_equal(drawn(normal_rows), drawn(normal_rows_plain))


def test_other_generators_and_settings_go_through_jax():
    keys = jax.random.split(jax.random.key(0, impl="rbg"), 4)
    np.testing.assert_array_equal(normal_rows(keys, 6), normal_rows_plain(keys, 6))
    np.testing.assert_array_equal(uniform_rows(keys, 6), jax.vmap(lambda key: jax.random.uniform(key, (6,)))(keys))
    default = jax.random.split(jax.random.key(0), 4)
    with jax.threefry_partitionable(False):
        np.testing.assert_array_equal(normal_rows(default, 6), normal_rows_plain(default, 6))
    assert keys_module._is_default(default)


def test_threefry_is_that_of_its_authors():
    """Known answers of the reference implementation (Random123, threefry2x32 with 20 rounds)."""
    ones = np.uint32(0xFFFFFFFF)
    pi = [np.uint32(word) for word in (0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3)]
    cases = [
        ([np.uint32(0)] * 4, (0x6B200159, 0x99BA4EFE)),
        ([ones] * 4, (0x1CB996FC, 0xBB002BE7)),
        (pi, (0xC4923A9C, 0x483DF7A0)),
    ]
    for words, expected in cases:
        found = keys_module._threefry(*(jnp.full((1, 1), word) for word in words))
        assert tuple(int(word[0, 0]) for word in found) == expected


def test_a_purpose_of_a_users_own_is_a_number_that_no_other_has():
    own = agent_keys(jax.random.key(3), 11, 1000, 2)
    assert max(Purpose) < 1000
    for purpose in Purpose:
        assert not bool(jnp.any(own == agent_keys(jax.random.key(3), 11, purpose, 2)))
