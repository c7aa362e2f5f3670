"""A jammer: a transmitter outside the network that some receivers hear.

    z_k = g_k + b_k·h_k ,   b_k ~ Bernoulli(p) once a block ,   h_k ~ N(0, J·N0 I)        at receivers k < jammed

Unlike an impulse it hits a block as a whole, and always the same receivers: those near it. Their noise has variance
N0(1 + pJ), which they do not know, so the chain samples too hot there; its neighbours hear of it through the mixing.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from airbayes.channel.base import Channel
from airbayes.checks import NOT_NEGATIVE, NOT_NEGATIVE_FINITE, PROBABILITY, check_part, checked
from airbayes.keys import normal_rows


class Jammed(Channel):
    """Another channel with a jammer on top."""

    power: Float[Array, ""]  # P, linear
    noise_power: Float[Array, ""]  # N0 of the background alone, linear: what the receiver knows
    base: Channel
    rate: Float[Array, ""]  # p, probability that a block is jammed
    ratio: Float[Array, ""]  # J, received power of the jammer over N0, linear
    jammed: Float[Array, ""]  # how many receivers hear it, from the first on

    def __init__(self, base: Channel, rate: float | Array, ratio: float | Array, jammed: int | Array):
        check_part("base", base, Channel, "channel.AWGN(snr_db=20.0)")
        self.base, self.power, self.noise_power = base, base.power, base.noise_power
        self.rate = checked("The rate of jamming", PROBABILITY, one=True)(rate)
        self.ratio = checked("The power of a jammer over N0", NOT_NEGATIVE_FINITE, "Linear, not dB.", one=True)(ratio)
        self.jammed = checked("The number of jammed receivers", NOT_NEGATIVE, one=True)(jammed)

    def noise(self, keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
        own = jax.vmap(jax.random.fold_in, (0, None))(keys, 2)
        hit = jax.vmap(lambda key: jax.random.uniform(jax.random.fold_in(key, 0)))(own) < self.rate
        hit = hit & (jnp.arange(len(keys)) < self.jammed)
        signal = normal_rows(jax.vmap(jax.random.fold_in, (0, None))(own, 1), num_params)
        strength = jnp.where(hit, jnp.sqrt(self.ratio * self.noise_power), 0.0)
        return self.base.noise(keys, num_params) + strength[:, None] * signal

    def gain_error(self, keys: Key[Array, " agent"], num_slots: int) -> Float[Array, "agent slot"] | None:
        return self.base.gain_error(keys, num_slots)
