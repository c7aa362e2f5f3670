"""How many coordinates fit into a block: the largest t with

    log2 C(m, t) + t·N_b (+ the scale's bits, when t > 0)  ≤  bits

The left side is concave in t, so it may fall again near t = m. Either t = m fits and is the answer, or
nothing on the falling side fits either; then exactly 0, …, t* fit and bisection finds t*.
"""

import math

import numpy as np
from jaxtyping import Float, Int

from airbayes.errors import AirbayesError

_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def log2_binomial(num_params: int, t: Int[np.ndarray, "*batch"] | int) -> Float[np.ndarray, "*batch"]:
    """log2 C(m, t), float64: what the best code spends on t positions out of m.

    C(m, t) is a power of two only when t or m − t is 0 or 1, so only there can a whole number of bits be
    met exactly. These are exact; the rest is good to about 1e-15·m·log2 m.
    """
    m, t = num_params, np.asarray(t, np.int64)
    if m < 1 or (t < 0).any() or (t > m).any():
        raise AirbayesError(f"Choosing t of m parameters needs 0 ≤ t ≤ m and m ≥ 1, got t = {t}, m = {m}.")
    # Once for each number that occurs: of a million agents most send the same.
    rare, place = np.unique(np.minimum(t, m - t), return_inverse=True)
    nats = math.lgamma(m + 1) - np.asarray(_lgamma(rare + 1) + _lgamma(m - rare + 1), np.float64)
    found = np.where(rare <= 1, rare * math.log2(m), nats / math.log(2))
    return np.asarray(found[place]).reshape(t.shape)


def message_bits(
    num_params: int, t: Int[np.ndarray, "*batch"] | int, value_bits: int = 10, scale_bits: int = 0
) -> Float[np.ndarray, "*batch"]:
    """Bits of a message with t of m coordinates, log2 C(m, t) + t·N_b, plus the scale's when t > 0.

    Args:
        num_params: m.
        t: coordinates kept.
        value_bits: N_b, bits of one value (sign and level).
        scale_bits: bits of the quantiser's scale; 0 leaves it uncounted, 32 is what is really sent.
    """
    if value_bits < 1 or scale_bits < 0:
        raise AirbayesError(f"It needs value_bits ≥ 1 and scale_bits ≥ 0, got {value_bits} and {scale_bits}.")
    t = np.asarray(t, np.int64)
    return np.asarray(log2_binomial(num_params, t) + t * value_bits + (t > 0) * scale_bits)


def largest_t(
    num_params: int, bits: Float[np.ndarray, "*batch"] | float, value_bits: int = 10, scale_bits: int = 0
) -> Int[np.ndarray, "*batch"]:
    """The largest t in 0, …, m whose message fits into `bits` (one budget per agent; ∞ is legal), int64."""
    bits = np.asarray(bits, np.float64)
    if not (bits >= 0).all():
        raise AirbayesError(f"A block's bits must be zero or more, got {bits}.")
    shape = bits.shape
    bits, place = np.unique(bits, return_inverse=True)
    everything = message_bits(num_params, num_params, value_bits, scale_bits) <= bits
    low, high = np.zeros(bits.shape, np.int64), np.full(bits.shape, num_params)
    while (high - low > 1).any():  # low fits, high does not
        middle = np.asarray((low + high) // 2)
        fits = message_bits(num_params, middle, value_bits, scale_bits) <= bits
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return np.asarray(np.where(everything, num_params, low)[place]).reshape(shape)
