"""Mistakes in what Q-DSGD compresses with, said in words before or while a step is traced; nothing is computed."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float, Int, Key

from airbayes.compress.compressor import CompressInfo, Compressor
from airbayes.errors import AirbayesError


def check_top_t(top_t: object, num_agents: int) -> None:
    """t_k: an array of whole numbers, one for each agent."""
    shape, kind = getattr(top_t, "shape", None), getattr(top_t, "dtype", None)
    if shape == (num_agents,) and kind is not None and np.issubdtype(kind, np.integer):
        return
    got = f"{top_t!r}" if shape is None else f"shape {shape} of {kind}"
    raise AirbayesError(
        f"top_t must be an array of {num_agents} whole numbers, t_k of every agent, got {got}. "
        f"For the same t at all: jnp.full(({num_agents},), t, jnp.int32)."
    )


def held_to_contract(compressor: Compressor) -> Callable:
    """The compressor, held to its contract: what the receivers decode, as long as what was sent, and its cost."""
    name = type(compressor).__name__

    def compress(
        key: Key[Array, ""], values: Float[Array, " param"], t: Int[Array, ""]
    ) -> tuple[Float[Array, " param"], CompressInfo]:
        found = compressor(key, values, t)
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], CompressInfo)):
            raise AirbayesError(
                f"{name} must return two things, the decoded vector and compress.CompressInfo(kept, scale, bits), "
                f"got {_kind(found)}."
            )
        if np.shape(found[0]) != values.shape:
            raise AirbayesError(
                f"{name} must return the decoded vector dense, of shape {values.shape}, got shape {np.shape(found[0])}."
            )
        return found

    return compress


def _kind(found: object) -> str:
    if isinstance(found, tuple) and not hasattr(found, "_fields"):
        return f"({', '.join(type(each).__name__ for each in found)})"
    return f"a {type(found).__name__}"
