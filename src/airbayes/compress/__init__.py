"""Compression for the digital benchmark Q-DSGD: top-t, QSGD and a real Golomb position code.

`budget` says how many coordinates a block of bits can carry; `Compressor` acts in jit and counts the
bits of its messages exactly; `encode_message` and `decode_message` are the byte coder on the host.
"""

from airbayes.compress.budget import largest_t, log2_binomial, message_bits
from airbayes.compress.compressor import CompressInfo, Compressor, Identity, TopT, TopTQSGD
from airbayes.compress.golomb import CodeError, decode_positions, encode_positions, golomb_bits
from airbayes.compress.message import decode_message, encode_message
from airbayes.compress.quantise import dequantise, levels_of, quantise
from airbayes.compress.topt import top_t

__all__ = [
    "CodeError",
    "CompressInfo",
    "Compressor",
    "Identity",
    "TopT",
    "TopTQSGD",
    "decode_message",
    "decode_positions",
    "dequantise",
    "encode_message",
    "encode_positions",
    "golomb_bits",
    "largest_t",
    "levels_of",
    "log2_binomial",
    "message_bits",
    "quantise",
    "top_t",
]
