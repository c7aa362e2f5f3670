"""A channel of one's own with a mistake in it: named while the first step is traced."""

import jax
import jax.numpy as jnp
import pytest

from airbayes import network
from airbayes.channel import AWGN, Channel
from airbayes.errors import AirbayesError
from airbayes.power import Common
from airbayes.samplers import CDDSGLD

AGENTS, PARAMS = 4, 3


class Faulty(Channel):
    """Every receiver has the same noise or the same gain errors."""

    power: jax.Array
    noise_power: jax.Array
    what: str

    def noise(self, keys, num_params):
        shape = (num_params,) if self.what == "noise" else (len(keys), num_params)
        return jnp.zeros(shape)

    def gain_error(self, keys, num_slots):
        return jnp.zeros((num_slots,) if self.what == "gain_error" else (len(keys), num_slots))


def trace(what: str):
    good = AWGN(20.0)
    channel = Faulty(good.power, good.noise_power, what)
    mixing = network.build_mixing(network.ring(AGENTS))
    sampler = CDDSGLD(lambda keys, theta, data: theta, mixing, channel, Common(), step_size=1e-3)
    state = sampler.init(jnp.zeros((AGENTS, PARAMS)))
    return jax.eval_shape(lambda: sampler.step(jax.random.key(0), state, None))


def test_shapes_that_would_be_broadcast_are_refused():
    trace("nothing")
    with pytest.raises(AirbayesError, match=r"Faulty.gain_error must return ε_kj.* shape \(4, 2\), got shape \(2,\)"):
        trace("gain_error")
    with pytest.raises(AirbayesError, match=r"Faulty.noise must return z_k.* shape \(4, 3\), got shape \(3,\)"):
        trace("noise")
