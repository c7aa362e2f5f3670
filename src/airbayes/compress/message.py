"""The message of one agent and block, as bytes.

    positions (Golomb) | sign and level of each, N_b bits | scale, float32

Entries whose level is 0 are not sent. Both ends know m and N_b. An empty message is the count alone.
"""

import numpy as np
from jaxtyping import Float32, Integer

from airbayes.compress.golomb import CodeError, check_padding, position_bits, read_positions
from airbayes.compress.quantise import levels_of

SCALE_BITS = 32


def encode_message(signed_levels: Integer[np.ndarray, " param"], scale: float, *, value_bits: int = 10) -> bytes:
    """Bytes of a quantised vector, as `quantise` returns it.

    Args:
        signed_levels: −s, …, s with s = 2^(N_b − 1) − 1.
        scale: largest magnitude, a positive float32 (any number when all levels are 0).
        value_bits: N_b, bits of one value.
    """
    positions = np.flatnonzero(signed_levels)
    sent = signed_levels[positions].astype(np.int64)
    parts = [position_bits(positions, len(signed_levels))]
    if len(sent):
        if np.abs(sent).max() > levels_of(value_bits):
            raise CodeError(f"A level of {np.abs(sent).max()} does not fit into {value_bits} bits with its sign.")
        with np.errstate(over="ignore", under="ignore"):
            scale32 = np.array([scale], ">f4")
        if not (scale32[0] > 0 and np.isfinite(scale32[0])):
            raise CodeError(f"The scale must be a positive, finite float32, got {scale}. Has the run diverged?")
        codes = np.abs(sent) | ((sent < 0) << (value_bits - 1))
        parts.append(((codes[:, None] >> np.arange(value_bits)[::-1]) & 1).astype(np.uint8).ravel())
        parts.append(np.unpackbits(scale32.view(np.uint8)))
    return np.packbits(np.concatenate(parts)).tobytes()


def decode_message(data: bytes, num_params: int, *, value_bits: int = 10) -> Float32[np.ndarray, " param"]:
    """The dense vector of a message, bit for bit what `dequantise` gives on the device.

    Damaged bytes raise `CodeError` or give another valid vector; there is no checksum to pay for.
    """
    levels = levels_of(value_bits)
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    positions, start = read_positions(bits, num_params)
    dense = np.zeros(num_params, np.float32)
    end = start + (len(positions) * value_bits + SCALE_BITS) * bool(len(positions))
    if end > len(bits):
        raise CodeError(f"The message has {len(bits)} bits; its {len(positions)} values need {end}.")
    check_padding(bits, end)
    if len(positions):
        rows = bits[start : end - SCALE_BITS].reshape(-1, value_bits)
        magnitudes = rows[:, 1:] @ (1 << np.arange(value_bits - 1)[::-1])
        scale = np.packbits(bits[end - SCALE_BITS : end]).view(">f4")[0].astype(np.float32)
        if not (magnitudes.all() and scale > 0 and np.isfinite(scale)):
            raise CodeError(f"The message holds a level of 0 or an impossible scale ({scale}).")
        signed = np.where(rows[:, 0], -magnitudes, magnitudes).astype(np.float32)
        dense[positions] = signed * (scale * np.float32(1 / levels))
    return dense
