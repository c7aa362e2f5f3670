"""The places of the t entries of largest magnitude, where t ≪ m: the ones that `top_t` marks, in a few slots.

On a CPU a pass over all m entries is what costs. From a guess, made with a sample of them, a few passes find a c with

    t ≤ #{i : |x_i| ≥ c} ≤ slots ;

these candidates are taken out, and the exact search, ties and all, is among them. On a GPU passes cost little and loops
that ask their own results whether to go on much: there the threshold of `top_t` is found first.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt32

from airbayes.compress.slots import WORD, Words, count, first_set, pack, places_of
from airbayes.compress.topt import BITS, magnitude_bits, threshold_of, top_ranks

_SAMPLE = 17  # every 17th entry: layers have even widths, so that it meets all columns
_GUESSED_BITS = 14  # exponent and 6 bits: 1 or 2 %
_LANES = 128
_ABOVE_ALL = np.uint32(1 << 31)
_A_STEP = 1 << 20  # an eighth of an octave

Places = tuple[Int[Array, " slot"], Bool[Array, " slot"]]


def slots_for(most: int, num_params: int) -> int | None:
    """Slots for the candidates among which up to `most` are found: half as many again, since an exact c would need more
    passes. None where that is more than half of all entries."""
    slots = max(-(-3 * most // (2 * _LANES)), 1) * _LANES
    return slots if 2 * slots <= num_params else None


@partial(jax.jit, inline=True, static_argnames="slots")  # kept when steps are not compiled as a whole
def largest_places(values: Float[Array, " param"], t: Int[Array, ""], slots: int) -> Places:
    """Increasing places, and which slots hold the t entries of largest magnitude; 0 ≤ t ≤ slots.

    Other slots hold any place, also past the end of `values`.
    """
    return lax.platform_dependent(
        values, t, cpu=partial(_among_candidates, slots=slots), default=partial(_by_threshold, slots=slots)
    )


def _by_threshold(values: Float[Array, " param"], t: Int[Array, ""], slots: int) -> Places:
    ranks = magnitude_bits(values)
    threshold = threshold_of(ranks, t, unroll=BITS.size)
    above = pack(ranks > threshold)
    words = above | first_set(pack(ranks == threshold), t - jnp.sum(count(above)))
    return places_of(words, slots), jnp.arange(slots) < t


def _among_candidates(values: Float[Array, " param"], t: Int[Array, ""], slots: int) -> Places:
    ranks = magnitude_bits(values)
    places = places_of(_candidates(ranks, jnp.maximum(t, 1), slots), slots)
    there = places < values.size
    # An empty slot has the rank of a zero, but lies behind all zeros: it is never among the first t.
    return places, top_ranks(jnp.where(there, ranks[jnp.where(there, places, 0)], 0), t)


class _Bracket(NamedTuple):
    """At least t ranks are ≥ low, and fewer than t are ≥ high."""

    low: UInt32[Array, ""]
    high: UInt32[Array, ""]
    from_low: Words  # the ranks ≥ low
    from_high: Words
    probe: UInt32[Array, ""]  # to try next
    stride: UInt32[Array, ""]  # to the next probe, as long as only one side has moved


def _candidates(ranks: UInt32[Array, " param"], t: Int[Array, ""], slots: int) -> Words:
    """At most `slots` places that hold the t ≥ 1 largest: those of all ranks from some c on, or, where more than fit
    are equal, the first of these."""
    wanted = (t + slots) // (2 * _SAMPLE) + 1
    guess = threshold_of(ranks[::_SAMPLE], wanted, unroll=1, bits=BITS[:_GUESSED_BITS])
    ranks = jnp.pad(ranks, (0, -ranks.size % WORD))  # here, not in every pass; zeros at the end come last of all zeros

    def is_open(at: _Bracket) -> Bool[Array, ""]:
        return (jnp.sum(count(at.from_low)) > slots) & (at.high - at.low > 1)

    def narrow(at: _Bracket) -> _Bracket:
        words = pack(ranks >= at.probe)
        enough = jnp.sum(count(words)) >= t
        low, high = jnp.where(enough, at.probe, at.low), jnp.where(enough, at.high, at.probe)
        onwards = jnp.minimum(at.stride, high - low - 1)
        onwards = jnp.where(enough, low + onwards, high - onwards)
        between = low + (high - low) // 2
        return _Bracket(
            low,
            high,
            jnp.where(enough, words, at.from_low),
            jnp.where(enough, at.from_high, words),
            jnp.where((low > 0) & (high < _ABOVE_ALL), between, onwards),
            2 * at.stride,
        )

    everything = pack(jnp.ones(ranks.shape, bool))
    start = _Bracket(
        jnp.uint32(0),
        jnp.asarray(_ABOVE_ALL),
        everything,
        jnp.zeros_like(everything),
        jnp.maximum(guess, 1),
        jnp.uint32(_A_STEP),
    )
    found = lax.while_loop(is_open, narrow, start)
    room = slots - jnp.sum(count(found.from_high))
    return found.from_high | first_set(found.from_low & ~found.from_high, room)
