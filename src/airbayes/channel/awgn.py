"""Additive white Gaussian noise:  y_k = Σ_j A_kj x_j + z_k,  z_k ~ N(0, N0 I_m),  SNR = P/N0."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from airbayes.channel.base import Channel
from airbayes.channel.decibel import db_to_linear
from airbayes.checks import NOT_NEGATIVE_FINITE, POSITIVE_FINITE, check_number, checked, known, one_number
from airbayes.errors import AirbayesError
from airbayes.keys import normal_rows


def _noise_power(snr_db: float | Array, power: float | Array) -> float | Array:
    """N0 = P/SNR, after checking that both make sense, where they are known: cells of other SNR run in one vmap."""
    one_number("The SNR in dB", snr_db)
    one_number("Transmit power P", power)
    check_number("Transmit power P", power, POSITIVE_FINITE)
    snr = db_to_linear(snr_db)
    if known(snr) is not None and not (0 < snr < math.inf):
        raise AirbayesError(
            f"A noisy channel needs a finite SNR, got {snr_db} dB. For ideal links use DSGLD instead of CD-DSGLD."
        )
    return power / snr


class AWGN(Channel):
    """The paper's channel: exact unit link gains, Gaussian receiver noise of variance N0."""

    power: Float[Array, ""]  # P, linear
    noise_power: Float[Array, ""]  # N0, linear

    def __init__(self, snr_db: float | Array, power: float | Array = 1.0):
        self.noise_power = jnp.asarray(_noise_power(snr_db, power), jnp.float32)
        self.power = jnp.asarray(power, jnp.float32)

    def noise(self, keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
        return jnp.sqrt(self.noise_power) * normal_rows(keys, num_params)

    def gain_error(self, keys: Key[Array, " agent"], num_slots: int) -> None:
        return None


class NoisyGainAWGN(Channel):
    """AWGN whose link gains are known only roughly: 1 + ε_kj with ε_kj ~ N(0, σ²), fresh on each link and block."""

    power: Float[Array, ""]  # P, linear
    noise_power: Float[Array, ""]  # N0, linear
    gain_std: Float[Array, ""]  # σ, standard deviation of the gain error

    def __init__(self, snr_db: float | Array, gain_std: float | Array, power: float | Array = 1.0):
        self.noise_power = jnp.asarray(_noise_power(snr_db, power), jnp.float32)
        self.power = jnp.asarray(power, jnp.float32)
        self.gain_std = checked("gain_std", NOT_NEGATIVE_FINITE, one=True)(gain_std)

    def noise(self, keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
        return jnp.sqrt(self.noise_power) * normal_rows(keys, num_params)

    def gain_error(self, keys: Key[Array, " agent"], num_slots: int) -> Float[Array, "agent slot"]:
        return self.gain_std * jax.vmap(lambda key: jax.random.normal(key, (num_slots,)))(keys)
