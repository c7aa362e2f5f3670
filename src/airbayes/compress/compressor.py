"""What Q-DSGD asks of a compressor: q = C(x), of which at most t coordinates are not zero.

To use your own, subclass `Compressor`; it acts on one agent's vector and is vmapped over agents.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from airbayes.compress.golomb import golomb_length
from airbayes.compress.message import SCALE_BITS
from airbayes.compress.quantise import dequantise, levels_of, quantise
from airbayes.compress.topt import top_t


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
    """

    value_bits: int = eqx.field(static=True, default=10)  # N_b

    def __check_init__(self):
        levels_of(self.value_bits)

    def __call__(
        self, key: Key[Array, ""], values: Float[Array, " param"], t: Int[Array, ""] | int
    ) -> tuple[Float[Array, " param"], CompressInfo]:
        levels = levels_of(self.value_bits)
        mask = top_t(values, t)
        signed_levels, scale = quantise(key, jnp.where(mask, values, 0.0), levels)
        positions, kept = golomb_length(signed_levels != 0)
        bits = positions + self.value_bits * kept + SCALE_BITS * (kept > 0)
        compressed = jnp.where(mask, dequantise(signed_levels, scale, levels), 0.0)
        return compressed, CompressInfo(kept, scale, bits.astype(jnp.float32))


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
