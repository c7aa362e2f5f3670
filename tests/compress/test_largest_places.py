"""The few largest entries, found among candidates or by their threshold: those of `top_t`."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.compress import largest
from airbayes.compress.largest import largest_places, slots_for
from airbayes.compress.topt import magnitude_bits, top_t

M, SLOTS = 5000, 384
RNG = np.random.default_rng(0)


def one_ulp_apart():
    """Neighbouring floats everywhere, three of each in random order."""
    bits = np.float32(1).view(np.uint32) + np.arange(M, dtype=np.uint32) // 3
    return RNG.permutation(bits).view(np.float32) * RNG.choice([-1, 1], M)


def few_in_a_row():
    """All that is large lies where no sample is taken."""
    values = 1e-3 * RNG.standard_normal(M)
    values[17 * 20 + 1 : 17 * 20 + 17] = 100 + np.arange(16)
    return values


NORMAL = RNG.standard_normal(M)
CASES = {
    "normal": NORMAL,
    "heavy-tailed": NORMAL**9,
    "one ulp apart": one_ulp_apart(),
    "all equal": np.full(M, -2.0),
    "all zero": np.zeros(M),
    "mostly zero": np.where(RNG.random(M) < 0.01, NORMAL, 0),
    "three values": RNG.integers(0, 3, M) * RNG.choice([-1, 1], M),
    "more equal than slots, few above": np.where(RNG.random(M) < 0.005, 5 + NORMAL, np.where(NORMAL > 0, 1, 0.5)),
    "few in a row": few_in_a_row(),
    "samples alone are large": np.where(np.arange(M) % 17 == 0, 50, 1) * NORMAL,
    "rising": np.arange(M),
    "all scales": 10 ** RNG.uniform(-44, 38, M),
    "some NaN": np.where(RNG.random(M) < 0.02, np.nan, NORMAL),
    "all NaN": np.full(M, np.nan),
    "infinite": np.where(RNG.random(M) < 0.2, np.inf, NORMAL),
}


def mask_of(places, kept, size):
    places, kept = np.asarray(places), np.asarray(kept)
    assert (places[kept] < size).all()
    assert (np.diff(places) > 0).all()
    mask = np.zeros(size, bool)
    mask[places[kept]] = True
    return mask


WAYS = {
    "here": largest_places,
    "candidates": largest._among_candidates,  # what CPUs do
    "threshold": largest._by_threshold,  # what GPUs do
}
top_t_jit = jax.jit(top_t)
compiled = {name: jax.jit(partial(way, slots=SLOTS)) for name, way in WAYS.items()}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_they_are_the_entries_that_top_t_keeps(way, case):
    values = jnp.asarray(CASES[case], jnp.float32)
    for t in (0, 1, 17, 255, 256, SLOTS - 1, SLOTS):
        places, kept = compiled[way](values, jnp.int32(t))
        assert kept.sum() == t
        np.testing.assert_array_equal(mask_of(places, kept, M), top_t_jit(values, t), err_msg=f"t = {t}")


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_a_batch_do_not_disturb_each_other(way):
    values = jnp.asarray(np.stack(list(CASES.values())), jnp.float32)
    t = jnp.asarray(np.arange(len(values)) * 25, jnp.int32)
    places, kept = jax.jit(jax.vmap(partial(WAYS[way], slots=SLOTS)))(values, t)
    for row in range(len(values)):
        np.testing.assert_array_equal(mask_of(places[row], kept[row], M), top_t_jit(values[row], t[row]))


def test_candidates_fit_and_hold_the_largest():
    """Also in the fewest passes that a good guess allows: the loop does not lean on the exact search behind it."""
    candidates = jax.jit(partial(largest._candidates, slots=SLOTS))
    for values in CASES.values():
        ranks = magnitude_bits(jnp.asarray(values, jnp.float32))
        found = int(largest.count(candidates(ranks, jnp.int32(200))).sum())
        assert 200 <= found <= SLOTS


@pytest.mark.parametrize("most", [0, 1, 85, 86, 1474, 10_000])
def test_slots_leave_room_for_candidates(most):
    slots = slots_for(most, 40_855)
    assert slots is not None
    assert slots % 16 == 0
    assert 1.5 * most <= slots <= 1.5 * most + 128


def test_where_most_entries_are_kept_there_are_no_slots():
    assert slots_for(20_000, 40_855) is None
    assert slots_for(1, 200) is None
