"""Decibels: x_dB = 10 log10(x) for power ratios."""

import math
from typing import Any

import numpy as np

from airbayes.checks import known
from airbayes.errors import AirbayesError


def db_to_linear(decibel: Any) -> Any:
    """10^(dB/10) of one number, which may be traced. +inf dB is an ideal link; NaN is refused where it is known."""
    _one("db_to_linear", decibel, "10.0 ** (decibels / 10)")
    if known(decibel) is None:
        return 10.0 ** (decibel / 10.0)
    if math.isnan(decibel):
        raise AirbayesError("SNR is NaN dB. Give a number such as 20, or leave it out for ideal links.")
    return 10.0 ** (decibel / 10.0) if decibel < 3000 else math.inf


def linear_to_db(ratio: float) -> float:
    """10 log10(ratio); 0 gives −inf."""
    _one("linear_to_db", ratio, "10 * np.log10(ratios)")
    if math.isnan(ratio) or ratio < 0:
        raise AirbayesError(f"A power ratio must be zero or more, got {ratio}.")
    return 10.0 * math.log10(ratio) if ratio > 0 else -math.inf


def _one(name: str, number: Any, several: str) -> None:
    if np.ndim(number):
        raise AirbayesError(f"{name} takes one number, got shape {list(np.shape(number))}. Of several: {several}.")
