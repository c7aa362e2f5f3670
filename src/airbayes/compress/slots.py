"""A few of many: the places of a mask's set bits, in order, in a fixed number of slots.

A mask of m places is packed into words of 32 bits, the lowest bit first. Slot k holds the k-th place that is set:

    word w  = #{words that end at or before k set bits},   place = 32·w + (the (k − set bits before w)-th set bit of w)

What follows then costs as much as there are slots, not as there are places.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, UInt32

WORD = 32
_BIT = np.arange(WORD, dtype=np.uint32)

Words = UInt32[Array, " word"]


def pack(mask: Bool[Array, " param"]) -> Words:
    """The mask as words; places past its end are not set."""
    rows = jnp.pad(mask, (0, -mask.size % WORD)).reshape(-1, WORD)
    return jnp.sum(rows.astype(jnp.uint32) << _BIT, axis=1, dtype=jnp.uint32)


def count(words: UInt32[Array, "..."]) -> Int[Array, "..."]:
    """The set bits of each word."""
    return lax.population_count(words).astype(jnp.int32)


def first_set(words: Words, most: Int[Array, ""]) -> Words:
    """The first `most` set bits, and no others."""
    inside = count(words)
    left = most - (jnp.cumsum(inside) - inside)  # for this word
    below = (jnp.uint32(1) << _place_in_word(words, jnp.clip(left, 0, WORD - 1)).astype(jnp.uint32)) - 1
    return jnp.where(left >= inside, words, words & below)


def places_of(words: Words, slots: int) -> Int[Array, " slot"]:
    """The places of the first `slots` set bits in increasing order; slots without one lie past the end, each at
    another place."""
    ends = jnp.cumsum(count(words))
    slot = jnp.arange(slots, dtype=jnp.int32)
    ended = jnp.zeros(slots, jnp.int32).at[ends].add(1, mode="drop", indices_are_sorted=True)
    word = jnp.cumsum(ended)
    inside = jnp.minimum(word, words.size - 1)
    held = words[inside]
    nth = slot - (ends[inside] - count(held))
    return jnp.where(word < words.size, WORD * word + _place_in_word(held, nth), WORD * words.size + slot)


def _place_in_word(word: UInt32[Array, "..."], nth: Int[Array, "..."]) -> Int[Array, "..."]:
    """Place of the nth set bit, counted from 0, by halves; the word has more than `nth` of them, else any place."""
    place = jnp.zeros_like(nth)
    for half in (16, 8, 4, 2, 1):
        lower = count(word & np.uint32((1 << half) - 1))
        above = nth >= lower
        nth = jnp.where(above, nth - lower, nth)
        word = jnp.where(above, word >> np.uint32(half), word)
        place = jnp.where(above, place + half, place)
    return place
