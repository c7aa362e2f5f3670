"""Bits a digital link carries in one block of m channel uses.

    SINR_k = P / (deg_k·P + N0),    bits_k = m·log2(1 + SINR_k)

As printed, each of the deg_k neighbours interferes; `others` leaves the wanted one out (deg_k − 1).
The uses are complex; `real` halves the rate, ½·log2(1 + SINR), for m real-valued uses.
"""

import math
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from airbayes.channel.decibel import db_to_linear
from airbayes.errors import AirbayesError, GraphError

Interferers = Literal["all", "others"]
Mode = Literal["complex", "real"]


def sinr(
    snr_linear: float, degree: Int[np.ndarray, "*agent"] | int, interferers: Interferers = "all"
) -> Float[np.ndarray, "*agent"]:
    """SINR, linear, of an agent with `degree` neighbours.

    Args:
        snr_linear: P/N0, linear; ∞ is a receiver without noise, limited by interference alone.
        degree: deg_k, the number of neighbours.
        interferers: `all` counts deg_k interferers (as printed), `others` deg_k − 1, never below 0.
    """
    count = np.asarray(degree)
    if not snr_linear >= 0:
        raise AirbayesError(f"The SNR must be zero or more (linear, not dB), got {snr_linear}.")
    if (count < 0).any():
        raise GraphError(f"A degree counts neighbours and cannot be negative, got {count.min()}.")
    if interferers not in ("all", "others"):
        raise AirbayesError(f"interferers must be 'all' or 'others', got {interferers!r}.")
    if interferers == "others":
        count = np.maximum(count - 1, 0)
    with np.errstate(divide="ignore"):  # 1/0 = ∞ is meant, at both places
        return np.asarray(1.0 / (count + 1.0 / np.float64(snr_linear)))


def bits_per_block(
    num_params: int,
    snr_db: float,
    degrees: Int[np.ndarray, " agent"],
    *,
    interferers: Interferers = "all",
    mode: Mode = "complex",
) -> Float[np.ndarray, " agent"]:
    """Bits each agent may send in a block, m·log2(1 + SINR_k), float64.

    Args:
        num_params: m, channel uses per block (one per parameter).
        snr_db: P/N0 in dB; ∞ without interferers gives ∞ bits.
        degrees: deg_k of every agent.
        interferers: see `sinr`.
        mode: `complex` uses carry log2(1 + SINR) bits each, `real` ones half of it.
    """
    if num_params < 1:
        raise AirbayesError(f"A block needs at least one parameter, got num_params = {num_params}.")
    if mode not in ("complex", "real"):
        raise AirbayesError(f"mode must be 'complex' or 'real', got {mode!r}.")
    uses = num_params if mode == "complex" else num_params / 2
    return uses * np.log1p(sinr(db_to_linear(snr_db), degrees, interferers)) / math.log(2)


def receiver_bits(bits: Float[np.ndarray, " agent"], edges: Int[np.ndarray, "edge 2"]) -> Float[np.ndarray, " agent"]:
    """Rate option `receivers`: agent k sends what its weakest neighbour decodes, min_{j ∈ N_k} bits_j.

    `edges` lists every undirected link (once or twice). An agent without neighbours has nobody to
    satisfy and keeps its own bits.
    """
    n = len(bits)
    if ((edges < 0) | (edges >= n)).any():
        raise GraphError(f"Edges must name agents 0 to {n - 1}, got {edges.min()} to {edges.max()}.")
    sender, receiver = np.concatenate([edges, edges[:, ::-1]]).T
    weakest = np.full(n, np.inf)
    np.minimum.at(weakest, sender, bits[receiver])
    return np.where(np.bincount(sender, minlength=n) > 0, weakest, bits)
