"""Golomb code for the positions of t kept entries out of m.

    gap g = position − previous position − 1 = q·M + r:   q zeros, a one, then r in truncated binary
    M = max(1, ⌊ln2·m/t + 0.15⌋), the optimal parameter for gaps of density t/m

The stream starts with t in as many bits as m has; M follows from (m, t), computed as (9m + 2t)//(13t) so
that host and device agree to the integer. When t > m/2 the positions left out are coded instead.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, Integer, UInt8, UInt32

from airbayes.errors import AirbayesError

MAX_PARAMS = 2**28  # keeps 9m + 2t within 32 bits
WORD, BLOCK = 16, 2048


class CodeError(AirbayesError):
    """Positions or bytes that are not a valid code."""


def encode_positions(positions: Integer[np.ndarray, " kept"], num_params: int) -> bytes:
    """Bytes of the strictly increasing `positions` in 0, …, m − 1, the last byte padded with zeros."""
    return np.packbits(position_bits(positions, num_params)).tobytes()


def decode_positions(data: bytes, num_params: int) -> Int[np.ndarray, " kept"]:
    """Inverse of `encode_positions`. Damaged bytes raise `CodeError` or give other valid positions."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    positions, used = read_positions(bits, num_params)
    check_padding(bits, used)
    return positions


def position_bits(positions: Integer[np.ndarray, " kept"], num_params: int) -> UInt8[np.ndarray, " bit"]:
    """The code as an array of bits (uint8), not padded."""
    header = _header(num_params)
    positions = positions.astype(np.int64)
    if (np.diff(positions, prepend=-1, append=num_params) < 1).any():
        raise CodeError(f"Positions must increase strictly from 0 to at most {num_params - 1}.")
    coded = _complement(positions, num_params) if 2 * len(positions) > num_params else positions
    start = ((len(positions) >> np.arange(header)[::-1]) & 1).astype(np.uint8)
    if not len(coded):
        return start
    m_golomb, short, cutoff = _parameters(num_params, len(coded))
    quotient, remainder = np.divmod(np.diff(coded, prepend=-1) - 1, m_golomb)
    is_long = remainder >= cutoff
    word = np.where(is_long, remainder + cutoff, remainder)
    end = np.cumsum(quotient + 1 + short + is_long)
    body = np.zeros(end[-1], np.uint8)
    body[end - 1 - short - is_long] = 1
    for place in range(short + 1):
        rows = slice(None) if place < short else is_long
        body[end[rows] - 1 - place] = (word[rows] >> place) & 1
    return np.concatenate([start, body])


def read_positions(bits: UInt8[np.ndarray, " bit"], num_params: int) -> tuple[Int[np.ndarray, " kept"], int]:
    """Positions at the start of a stream of bits, and how many bits they took."""
    header = _header(num_params)
    if len(bits) < header:
        raise CodeError(f"The code ends after {len(bits)} bits, inside its count of {header} bits.")
    total = int(bits[:header] @ (1 << np.arange(header, dtype=np.int64)[::-1]))
    if total > num_params:
        raise CodeError(f"The code claims {total} positions out of {num_params}.")
    count = min(total, num_params - total)
    coded, used = _read_gaps(bits[header:], num_params, count)
    return (_complement(coded, num_params) if 2 * total > num_params else coded), header + used


def check_padding(bits: UInt8[np.ndarray, " bit"], used: int) -> None:
    """Refuse a stream with anything but less than one byte of zeros behind its last code word."""
    if len(bits) - used >= 8 or bits[used:].any():
        raise CodeError(f"The code ends after {used} bits, but {len(bits)} were given: not this code, or not this m.")


def golomb_bits(mask: Bool[Array, " param"]) -> Int[Array, ""]:
    """Exact length of the code of a mask, in bits, on the device (jit and vmap)."""
    return golomb_length(mask)[0]


@partial(jax.jit, inline=True)  # kept when steps are not compiled as a whole
def golomb_length(mask: Bool[Array, " param"]) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """The length of the code of a mask, in bits, and the number of places that are set.

    Two loops over blocks of places; on a CPU the first one counts. A loop that slices an array makes the compiler store
    it, as it lies, before; it would else compute the mask anew, random numbers and all, for every use of it.
    """
    m = mask.size
    stored = jnp.pad(mask, (0, max(0, BLOCK - m)))
    place, blocks = jnp.arange(BLOCK, dtype=jnp.int32), -(-m // BLOCK)

    ends = np.int32(0), np.int32(blocks)  # 32 bits in 64-bit JAX, too

    def block_at(index: Int[Array, ""]) -> tuple[Int[Array, " place"], Bool[Array, " place"], Bool[Array, " place"]]:
        """Where its places lie, what they hold, and which count: the last block begins early, to fit."""
        first = jnp.minimum(index * BLOCK, stored.size - BLOCK)
        where = first + place
        return where, lax.dynamic_slice(stored, (first,), (BLOCK,)), (where >= index * BLOCK) & (where < m)

    def add(index: Int[Array, ""], total: Int[Array, ""]) -> Int[Array, ""]:
        _, held, counts = block_at(index)
        return total + jnp.sum(held & counts, dtype=jnp.int32)

    count = partial(lax.fori_loop, *ends, add, jnp.zeros((), jnp.int32))
    total = lax.platform_dependent(cpu=count, default=lambda: jnp.sum(mask, dtype=jnp.int32))
    rest = 2 * total > m  # then the places that are not set are coded
    m_golomb = _parameter(jnp.minimum(total, m - total), m)

    def code(index: Int[Array, ""], so_far: tuple) -> tuple[Int[Array, ""], Int[Array, ""]]:
        """`so_far`: the last place that was coded, −1 before the first, and the bits."""
        latest, bits = so_far
        where, held, counts = block_at(index)
        coded = (held ^ rest) & counts
        before, last = _previous(coded)
        gap = where - jnp.where(before < 0, latest, where[0] + before) - 1
        length = _word_length(gap, m_golomb, m)
        return jnp.where(last < 0, latest, where[0] + last), bits + jnp.sum(
            jnp.where(coded, length, 0), dtype=jnp.int32
        )

    nothing = jnp.full((), -1, jnp.int32), jnp.zeros((), jnp.int32)
    return _header(m) + lax.fori_loop(*ends, code, nothing)[1], total


def golomb_length_at(
    places: Int[Array, " slot"], sent: Bool[Array, " slot"], num_params: int
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """`golomb_length` of a mask that is set at those of some increasing places that are sent, at most half of all m.
    The number of slots is a multiple of 16."""
    total = jnp.sum(sent, dtype=jnp.int32)
    before, _ = _previous(sent)
    gap = places - jnp.where(before < 0, -1, places[jnp.maximum(before, 0)]) - 1
    length = _word_length(gap, _parameter(total, num_params), num_params)
    return _header(num_params) + jnp.sum(jnp.where(sent, length, 0)), total


def _parameter(coded: Int[Array, ""], num_params: int) -> Int[Array, ""]:
    """M of so many coded places."""
    some = jnp.maximum(coded, 1).astype(jnp.uint32)
    return jnp.maximum((jnp.uint32(9 * num_params) + 2 * some) // (13 * some), 1).astype(jnp.int32)


def _word_length(gap: Int[Array, " gap"], m_golomb: Int[Array, ""], num_params: int) -> Int[Array, " gap"]:
    """Bits of the code word of each gap."""
    short = 31 - lax.clz(m_golomb)
    quotient, remainder = _divide(gap, m_golomb, num_params)
    return quotient + 1 + short + (remainder >= (2 << short) - m_golomb)


def _previous(coded: Bool[Array, " place"]) -> tuple[Int[Array, " place"], Int[Array, ""]]:
    """The last coded place before each place, and the last of all; −1 where there is none. Places are packed into
    words of 16 bits, and only the words are scanned."""
    bit = jnp.arange(WORD, dtype=jnp.uint32)
    word = jnp.sum(coded.reshape(-1, WORD).astype(jnp.uint32) << bit, axis=1, dtype=jnp.uint32)
    first = WORD * jnp.arange(word.size, dtype=jnp.int32)
    seen = lax.cummax(jnp.where(word > 0, first + _highest(word), -1))
    before = jnp.concatenate([jnp.array([-1], jnp.int32), seen[:-1]])
    lower = word[:, None] & ((jnp.uint32(1) << bit) - 1)  # of the same word
    return jnp.where(lower > 0, first[:, None] + _highest(lower), before[:, None]).reshape(-1), seen[-1]


def _highest(word: UInt32[Array, "..."]) -> Int[Array, "..."]:
    """Place of the highest bit that is set."""
    return 31 - lax.clz(word).astype(jnp.int32)


def _divide(
    gap: Int[Array, " param"], divisor: Int[Array, ""], num_params: int
) -> tuple[Int[Array, " param"], Int[Array, " param"]]:
    """Quotient and remainder. (g + ½)/M is at least 1/(2M) from any integer, and g/M·2⁻²² is less for g < 2²¹: then
    float32, which has vector instructions, finds the same quotient."""
    if num_params > 2**21:
        return jnp.divmod(gap, divisor)
    inverse = np.float32(1) / divisor.astype(jnp.float32)
    quotient = jnp.floor((gap.astype(jnp.float32) + np.float32(0.5)) * inverse).astype(jnp.int32)
    return quotient, gap - quotient * divisor


def _header(num_params: int) -> int:
    if not 1 <= num_params <= MAX_PARAMS:
        raise CodeError(f"The number of parameters must be 1 to {MAX_PARAMS}, got {num_params}.")
    return num_params.bit_length()


def _parameters(num_params: int, count: int) -> tuple[int, int, int]:
    """M; k = ⌊log2 M⌋; and 2^(k+1) − M, the number of remainders that need only k bits."""
    m_golomb = max(1, (9 * num_params + 2 * count) // (13 * count))
    short = m_golomb.bit_length() - 1
    return m_golomb, short, (2 << short) - m_golomb


def _complement(positions: Int[np.ndarray, " kept"], num_params: int) -> Int[np.ndarray, " rest"]:
    rest = np.ones(num_params, bool)
    rest[positions] = False
    return np.flatnonzero(rest)


def _read_gaps(bits: UInt8[np.ndarray, " bit"], num_params: int, count: int) -> tuple[Int[np.ndarray, " kept"], int]:
    if not count:
        return np.zeros(0, np.int64), 0
    m_golomb, short, cutoff = _parameters(num_params, count)
    # Whatever the bytes say: no code of `count` positions is shorter or longer than these two.
    n = min(len(bits), count * (short + 2) + num_params // m_golomb)
    if n < count * (short + 1):
        raise CodeError(f"The code ends after {n} bits; {count} positions need {count * (short + 1)} or more.")
    bits = bits[:n]
    ones = np.append(np.flatnonzero(bits), n)
    next_one = ones[np.searchsorted(ones, np.arange(n + 1))].tolist()
    padded = np.concatenate([bits, np.zeros(short + 1, np.uint8)]).astype(np.int64)
    words = np.sum([padded[i : i + n + 1] << (short - i) for i in range(short + 1)], axis=0).tolist()
    positions, cursor, position = [], 0, -1
    for i in range(count):
        one = next_one[cursor]
        if one == n:
            raise CodeError(f"The code ends inside position {i} of {count}.")
        word, width = words[one + 1], short + 1
        if word >> 1 < cutoff:
            word, width = word >> 1, short
        else:
            word -= cutoff
        position += (one - cursor) * m_golomb + word + 1
        cursor = one + 1 + width
        if cursor > n or position >= num_params:
            raise CodeError(f"Position {i} of {count} lies beyond the code or the {num_params} parameters.")
        positions.append(position)
    return np.array(positions), cursor
