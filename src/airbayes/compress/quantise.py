"""QSGD: unbiased stochastic rounding of magnitudes to s levels of the largest one.

    scale = ‖x‖∞,   level_i = sign(x_i)·⌊s|x_i|/scale + u_i⌋,  u_i ~ U[0, 1),   Q(x)_i = level_i·scale/s

so E[Q(x)] = x and |Q(x)_i − x_i| ≤ scale/s. Sign and 9 bits make s = 511. (Alistarh et al., 2017, who
scale by the 2-norm; the largest entry gives the finer grid.)
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from airbayes.errors import AirbayesError
from airbayes.keys import uniform_rows


def levels_of(value_bits: int) -> int:
    """s = 2^(N_b − 1) − 1: one bit is the sign. Up to 16 bits, so that float32 holds a level and its fraction."""
    if not 2 <= value_bits <= 16:
        raise AirbayesError(f"value_bits must be 2 to 16 (sign and level), got {value_bits}.")
    return 2 ** (value_bits - 1) - 1


def quantise(
    key: Key[Array, ""], values: Float[Array, " param"], levels: int = 511
) -> tuple[Int[Array, " param"], Float[Array, ""]]:
    """Signed levels in −s, …, s, and the scale. Zeros stay zero."""
    return quantise_with(uniform_rows(key[None], values.size)[0], values, levels)


def quantise_with(
    uniform: Float[Array, " param"], values: Float[Array, " param"], levels: int = 511
) -> tuple[Int[Array, " param"], Float[Array, ""]]:
    """`quantise` with u given.

    A scale too small for the step scale/s to be a normal float32 counts as 0. A non-finite entry makes
    the scale non-finite and, through `dequantise`, the whole vector NaN: divergence is not hidden.
    """
    largest = jnp.max(jnp.abs(values))
    tiny = levels * float(np.finfo(np.float32).tiny) * 2
    scale = jnp.where(largest < tiny, 0.0, largest)
    # A quarter of both: compilers divide by multiplying with a reciprocal, which must be a normal float32.
    exact = (0.25 * jnp.abs(values)) / (0.25 * jnp.where(scale == 0, 1.0, scale)) * levels
    below = jnp.floor(exact)
    # Comparing with the fraction keeps all its bits; adding u to `exact` would round them away.
    magnitude = jnp.minimum(below + (uniform < exact - below), levels)
    magnitude = jnp.where(jnp.isfinite(exact) & (scale > 0), magnitude, 0).astype(jnp.int32)
    return jnp.where(values < 0, -magnitude, magnitude), scale


def dequantise(
    signed_levels: Int[Array, " param"], scale: Float[Array, ""], levels: int = 511
) -> Float[Array, " param"]:
    """level·(scale·(1/s)). Products only: they round alike on every device and in the host's decoder."""
    return signed_levels.astype(jnp.float32) * (scale * np.float32(1 / levels))
