"""What Q-DSGD asks of a compressor: q = C(x), of which at most t coordinates are not zero.

To use your own, subclass `Compressor`; it acts on one agent's vector and is vmapped over agents.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from airbayes.compress.golomb import golomb_length, golomb_length_at
from airbayes.compress.largest import largest_places, slots_for
from airbayes.compress.message import SCALE_BITS
from airbayes.compress.quantise import dequantise, levels_of, quantise, quantise_with
from airbayes.compress.topt import top_t
from airbayes.errors import AirbayesError
from airbayes.keys import uniform_at


class CompressInfo(NamedTuple):
    """What a message cost."""

    kept: Int[Array, ""]  # coordinates sent
    scale: Float[Array, ""]  # ‖·‖∞ of what is sent
    bits: Float[Array, ""]  # length of the message really sent, float32


class Compressor(eqx.Module):
    """Base of all compressors; subclasses are final."""

    @abc.abstractmethod
    def __call__(
        self, key: Key[Array, ""], values: Float[Array, " param"], t: Int[Array, ""] | int
    ) -> tuple[Float[Array, " param"], CompressInfo]:
        """Compress `values` to at most t coordinates; what the receivers decode, dense, and its cost."""


class TopTQSGD(Compressor):
    """Top-t, then QSGD with N_b bits a value: the paper's compressor.

    Kept entries rounded to level 0 need not be sent, so `kept` may be a little below t. `bits` is the
    length of `encode_message` before padding: positions with their count, values and the scale.

    Who knows that no t exceeds some number well below m says so with `most`: then all but the search for the largest
    costs as much as t coordinates, not as m, with the same result. Of a larger t only `most` are kept.
    """

    value_bits: int = eqx.field(static=True, default=10)  # N_b
    most: int | None = eqx.field(static=True, default=None)  # the largest t

    def __check_init__(self):
        levels_of(self.value_bits)
        if self.most is not None and self.most < 0:
            raise AirbayesError(f"most, the largest t, must be zero or more, got {self.most}.")

    def __call__(
        self, key: Key[Array, ""], values: Float[Array, " param"], t: Int[Array, ""] | int
    ) -> tuple[Float[Array, " param"], CompressInfo]:
        levels, m = levels_of(self.value_bits), values.size
        if self.most is not None:
            t = jnp.minimum(t, self.most)
            if (slots := slots_for(self.most, m)) is not None:
                return self._in_slots(key, values, jnp.maximum(t, 0), slots)
        mask = top_t(values, t)
        signed_levels, scale = quantise(key, jnp.where(mask, values, 0.0), levels)
        positions, kept = golomb_length(signed_levels != 0)
        bits = positions + self.value_bits * kept + SCALE_BITS * (kept > 0)
        compressed = jnp.where(mask, dequantise(signed_levels, scale, levels), 0.0)
        return compressed, CompressInfo(kept, scale, bits.astype(jnp.float32))

    def _in_slots(
        self, key: Key[Array, ""], values: Float[Array, " param"], t: Int[Array, ""], slots: int
    ) -> tuple[Float[Array, " param"], CompressInfo]:
        """The same, from the few largest entries alone."""
        levels, m = levels_of(self.value_bits), values.size
        places, is_kept = largest_places(values, t, slots)
        largest = jnp.where(is_kept, values[jnp.minimum(places, m - 1)], 0.0)
        signed_levels, scale = quantise_with(uniform_at(key, places, m), largest, levels)
        positions, kept = golomb_length_at(places, signed_levels != 0, m)
        bits = positions + self.value_bits * kept + SCALE_BITS * (kept > 0)
        sent = jnp.where(is_kept, dequantise(signed_levels, scale, levels), 0.0)
        dense = jnp.zeros(m).at[places].set(sent, mode="drop", indices_are_sorted=True, unique_indices=True)
        return dense, CompressInfo(kept, scale, bits.astype(jnp.float32))


class TopT(Compressor):
    """Top-t with the kept values sent as float32: sparsification without quantisation."""

    def __call__(
        self, key: Key[Array, ""], values: Float[Array, " param"], t: Int[Array, ""] | int
    ) -> tuple[Float[Array, " param"], CompressInfo]:
        mask = top_t(values, t)
        compressed = jnp.where(mask, values, 0.0)
        positions, kept = golomb_length(mask)
        bits = positions + 32 * kept
        return compressed, CompressInfo(kept, jnp.max(jnp.abs(compressed)), bits.astype(jnp.float32))


class Identity(Compressor):
    """Everything is sent as float32, whatever t: the ideal link."""

    def __call__(
        self, key: Key[Array, ""], values: Float[Array, " param"], t: Int[Array, ""] | int
    ) -> tuple[Float[Array, " param"], CompressInfo]:
        m = values.size
        return values, CompressInfo(jnp.asarray(m), jnp.max(jnp.abs(values)), jnp.asarray(32.0 * m, jnp.float32))
