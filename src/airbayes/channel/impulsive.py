"""Impulsive noise: Bernoulli–Gaussian, the first two terms of Middleton's class A.

    z = g + b·h ,   g ~ N(0, N0) ,   b ~ Bernoulli(ε) ,   h ~ N(0, K·N0)        for every channel use

Its variance is N0(1 + εK). The receiver knows N0 alone and scales by β = √(N0/(2η)), so the Langevin noise has variance
2η(1 + εK) in place of 2η: the chain samples too hot, and no step of it is Gaussian.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from airbayes.channel.base import Channel
from airbayes.checks import NOT_NEGATIVE_FINITE, PROBABILITY, check_part, checked


class ImpulsiveNoise(Channel):
    """Another channel with impulses on top."""

    power: Float[Array, ""]  # P, linear
    noise_power: Float[Array, ""]  # N0 of the background alone, linear: what the receiver knows
    base: Channel
    rate: Float[Array, ""]  # ε, probability of an impulse in a channel use
    ratio: Float[Array, ""]  # K, power of an impulse over N0, linear

    def __init__(self, base: Channel, rate: float | Array, ratio: float | Array):
        check_part("base", base, Channel, "channel.AWGN(snr_db=20.0)")
        self.base, self.power, self.noise_power = base, base.power, base.noise_power
        self.rate = checked("The rate of impulses", PROBABILITY, one=True)(rate)
        self.ratio = checked("The power of impulses over N0", NOT_NEGATIVE_FINITE, "Linear, not dB.", one=True)(ratio)

    def noise(self, keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
        def impulses(key):
            when, size = jax.random.split(jax.random.fold_in(key, 1))
            hit = jax.random.uniform(when, (num_params,)) < self.rate
            return hit * jax.random.normal(size, (num_params,))

        return self.base.noise(keys, num_params) + jnp.sqrt(self.ratio * self.noise_power) * jax.vmap(impulses)(keys)

    def gain_error(self, keys: Key[Array, " agent"], num_slots: int) -> Float[Array, "agent slot"] | None:
        return self.base.gain_error(keys, num_slots)
