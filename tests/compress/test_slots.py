"""Places of a mask's set bits, against numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.compress.slots import WORD, count, first_set, pack, places_of

RNG = np.random.default_rng(0)


def some_mask(size, share):
    return RNG.random(size) < share


MASKS = [some_mask(size, share) for size in (1, 33, 1000) for share in (0.0, 0.03, 0.5, 1.0)]
MASKS += [np.arange(1000) == place for place in (0, 31, 32, 999)] + [np.arange(1000) >= 990]


def unpack(words, size):
    return np.unpackbits(np.asarray(words).view(np.uint8), bitorder="little")[:size].astype(bool)


pack_jit, first_jit, places_jit = jax.jit(pack), jax.jit(first_set), jax.jit(places_of, static_argnums=1)


def test_packing_keeps_every_place():
    for mask in MASKS:
        words = pack_jit(jnp.asarray(mask))
        np.testing.assert_array_equal(unpack(words, mask.size), mask)
        assert np.asarray(count(words)).sum() == mask.sum()  # nothing past the end


@pytest.mark.parametrize("slots", [1, 64, 1100])
def test_slots_hold_the_first_places_in_order(slots):
    for mask in MASKS:
        places = np.asarray(places_jit(pack_jit(jnp.asarray(mask)), slots))
        wanted = np.flatnonzero(mask)[:slots]
        np.testing.assert_array_equal(places[: len(wanted)], wanted)
        assert (places[len(wanted) :] >= mask.size).all()
        assert (np.diff(places) > 0).all()  # also of those past the end: a scatter may rely on it


@pytest.mark.parametrize("most", [0, 1, 5, WORD, 499, 5000])
def test_the_first_that_are_set(most):
    for mask in MASKS:
        found = unpack(first_jit(pack_jit(jnp.asarray(mask)), jnp.int32(most)), mask.size)
        np.testing.assert_array_equal(found, mask & (np.cumsum(mask) <= most))
