"""Sums and maxima taken some members at a time, written out: one pass over the data with the running result in cache.

What a compiler does with a whole axis on a CPU is to store all terms and then reduce them, at three times the cost.
"""

from collections.abc import Callable
from typing import TypeVar

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

Carry = TypeVar("Carry")


def in_blocks(see: Callable[[Int[Array, ""], int, Carry], Carry], count: int, block: int, start: Carry) -> Carry:
    """`see(first, size, found)` for members first … first + size − 1: whole blocks in a loop, then the rest."""
    whole = count // block
    found = start
    if whole:
        found = lax.fori_loop(0, whole, lambda i, found: see(i * block, block, found), found)
    if count % block:
        found = see(jnp.int32(whole * block), count % block, found)
    return found
