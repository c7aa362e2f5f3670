"""Mistakes in a channel of one's own, said in words: P and N0 when a sampler is made, shapes while a step is traced."""

from typing import Any

import numpy as np

from airbayes.channel.base import Channel
from airbayes.checks import POSITIVE_FINITE, check_number
from airbayes.errors import AirbayesError


def check_powers(channel: Channel) -> None:
    """P and N0, where they are known."""
    kind, fix = type(channel).__name__, "It is linear: channel.db_to_linear turns decibels into it."
    check_number(f"{kind}.power, P,", channel.power, POSITIVE_FINITE, fix)
    check_number(f"{kind}.noise_power, N0,", channel.noise_power, POSITIVE_FINITE, fix)


def check_gain_error(error: Any, channel: Channel, num_agents: int, num_slots: int) -> None:
    """ε_kj: [agent, slot], or None. A row for all receivers would be broadcast: one error for all."""
    if error is not None:
        _check(f"{type(channel).__name__}.gain_error", "ε_kj, [agent, slot]", np.shape(error), (num_agents, num_slots))


def check_noise(noise: Any, channel: Channel, num_agents: int, num_params: int) -> None:
    """z_k: [agent, param]. A row for all receivers would be broadcast: the same noise at all."""
    _check(f"{type(channel).__name__}.noise", "z_k, [agent, param]", np.shape(noise), (num_agents, num_params))


def _check(method: str, what: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise AirbayesError(
            f"{method} must return {what}, of shape {wanted}, got shape {found}. "
            "Draw row k from keys[k], for example with jax.vmap over the keys."
        )
