"""Wrong samplers that the oracle suite must catch. Each mutant is one small change of the real code."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import setting
from oracles.checks import assert_law, caught, gaussian_p_values, moment_p_values
from oracles.setting import AGENTS, ETA, GRAPHS, PARAMS, STEPS
from oracles.test_laws import example_quadratics

from airbayes.channel import AWGN, Channel, NoisyGainAWGN
from airbayes.models import FullGradient, MiniBatchGradient
from airbayes.models import posterior as posterior_module
from airbayes.network import best_constant, mix, mixing_matrix
from airbayes.power import Fixed
from airbayes.samplers import CDDSGLD, DSGHMC, DSGLD, LinkOutage, cd_dsgld, dsghmc, dsgld
from airbayes.samplers.exact import dsghmc_law, dsgld_law, erasure_extra, gain_error_extra, minibatch_extra

GRAPH = GRAPHS["irregular"]
W = best_constant(GRAPH)
START = setting.start().ravel().astype(float)


class Altered(Channel):
    """A channel with its noise or its gain error replaced."""

    power: jax.Array
    noise_power: jax.Array
    real: Channel
    altered_noise: Callable
    altered_gain_error: Callable

    def __init__(
        self,
        real: Channel | None = None,
        noise: Callable = lambda channel, keys, m: channel.noise(keys, m),
        gain_error: Callable = lambda channel, keys, slots: channel.gain_error(keys, slots),
    ):
        self.real = real or AWGN(10.0)
        self.power, self.noise_power = self.real.power, self.real.noise_power
        self.altered_noise, self.altered_gain_error = noise, gain_error

    def noise(self, keys, num_params):
        return self.altered_noise(self.real, keys, num_params)

    def gain_error(self, keys, num_slots):
        return self.altered_gain_error(self.real, keys, num_slots)


def dsgld_sampler():
    return DSGLD(setting.gradient(), setting.mixing_of(GRAPH), ETA)


def cd_sampler(channel: Channel | None = None, rho: float = 1.0):
    policy = Fixed(jnp.full((AGENTS,), rho))
    return CDDSGLD(setting.gradient(), setting.mixing_of(GRAPH), channel or AWGN(10.0), policy, ETA)


def p_values(sampler, law=None, check=gaussian_p_values, steps: int = STEPS):
    law = law or dsgld_law(mixing_matrix(GRAPH, W), *setting.quadratics(), ETA)
    state = setting.run_chains(sampler, setting.data(), setting.start(), steps, seed=11)
    mean, cov = law.at(steps, START)
    return check(setting.flat_theta(state), mean, cov)


def test_the_unmutated_samplers_pass():
    assert_law(p_values(dsgld_sampler()))
    assert_law(p_values(cd_sampler()))


def test_noise_variance_eta(monkeypatch):
    monkeypatch.setattr(dsgld, "dsgld_update", lambda mixed, g, xi, eta: mixed - eta * g + jnp.sqrt(eta) * xi)
    assert caught(p_values(dsgld_sampler()))


def test_receiver_noise_of_half_n0():
    half = Altered(noise=lambda channel, keys, m: channel.noise(keys, m) / jnp.sqrt(2.0))
    assert caught(p_values(cd_sampler(half)))


def test_literal_self_weight(monkeypatch):
    """The paper's 1 − |N_k| w with k in N_k: rows sum to 1 − w."""
    monkeypatch.setattr(
        dsgld, "mix", lambda theta, mixing, *rest: mix(theta, mixing, *rest) - mixing.edge_weight * theta
    )
    assert caught(p_values(dsgld_sampler()))


def test_prior_counted_by_every_agent():
    whole = setting.posterior(num_agents=1)
    own = FullGradient(lambda theta, local: whole(theta, local))  # a Posterior itself would be refused
    sampler = DSGLD(own, setting.mixing_of(GRAPH), ETA)
    assert caught(p_values(sampler))


def test_gains_of_0_99():
    assert caught(p_values(cd_sampler(rho=0.99)))


@pytest.mark.parametrize("module", [dsgld, cd_dsgld])
def test_noise_shared_between_agents(monkeypatch, module):
    if module is dsgld:
        real = dsgld.normal_rows
        monkeypatch.setattr(dsgld, "normal_rows", lambda keys, m: real(jnp.broadcast_to(keys[0], keys.shape), m))
        sampler = dsgld_sampler()
    else:
        shared = Altered(noise=lambda channel, keys, m: channel.noise(jnp.broadcast_to(keys[0], keys.shape), m))
        sampler = cd_sampler(shared)
    assert caught(p_values(sampler))


def test_adapt_then_combine_order():
    class AdaptThenCombine(DSGLD):
        def step(self, key, state, data):
            after, info = super().step(key, state, data)
            eta = self.step_size(state.step)
            drift = self.gradient(jax.random.split(key, AGENTS), state.theta, data)
            # Mixes −η∇f as well: W(θ − η∇f) + noise instead of Wθ − η∇f + noise.
            moved = after.theta + eta * drift + mix(-eta * drift, self.mixing)
            return dsgld.State(moved, after.step), info

    assert caught(p_values(AdaptThenCombine(setting.gradient(), setting.mixing_of(GRAPH), ETA)))


def test_the_same_noise_at_every_step(monkeypatch):
    real = dsgld.agent_keys
    monkeypatch.setattr(dsgld, "agent_keys", lambda key, step, purpose, n: real(key, 0, purpose, n))
    assert caught(p_values(dsgld_sampler()))


def test_prior_dropped():
    no_prior = posterior_module.Posterior(setting.posterior().log_likelihood, lambda theta: jnp.zeros(()), AGENTS)
    assert caught(p_values(DSGLD(FullGradient(no_prior), setting.mixing_of(GRAPH), ETA)))


def test_step_size_off_by_two_percent():
    assert caught(p_values(DSGLD(setting.gradient(), setting.mixing_of(GRAPH), 1.02 * ETA)))


def test_hmc_noise_without_friction(monkeypatch):
    monkeypatch.setattr(
        dsghmc,
        "momentum_update",
        lambda nu, g, xi, eta, gamma: nu - eta * (gamma * nu + g) + jnp.sqrt(2 * eta) * xi,
    )
    sampler = DSGHMC(setting.gradient(), setting.mixing_of(GRAPH), 0.1, 3.0)
    law = dsghmc_law(mixing_matrix(GRAPH, W), *setting.quadratics(), 0.1, 3.0)
    state = setting.run_chains(sampler, setting.data(), setting.start())
    mean, cov = law.at(STEPS, np.concatenate([START, np.zeros_like(START)]))
    size = AGENTS * PARAMS
    assert caught(gaussian_p_values(setting.flat_theta(state), mean[:size], cov[:size, :size]))


def test_minibatch_not_rescaled(monkeypatch):
    real = posterior_module.draw_minibatch

    def unscaled(key, data, batch_size, *, replace=False):
        batch = real(key, data, batch_size, replace=replace)
        return posterior_module.LocalData(batch.inputs, batch.targets, jnp.ones_like(batch.weights))

    monkeypatch.setattr(posterior_module, "draw_minibatch", unscaled)
    sampler = DSGLD(MiniBatchGradient(setting.posterior(), 2), setting.mixing_of(GRAPH), ETA)
    extra = minibatch_extra(*example_quadratics(setting.data()), ETA, 2)
    law = dsgld_law(mixing_matrix(GRAPH, W), *setting.quadratics(), ETA, extra)
    assert caught(p_values(sampler, law, moment_p_values))


def test_minibatch_noise_left_out_of_the_law():
    """The moment test is sharp enough to see the mini-batch noise itself."""
    sampler = DSGLD(MiniBatchGradient(setting.posterior(), 2), setting.mixing_of(GRAPH), ETA)
    assert caught(p_values(sampler, None, moment_p_values))


def test_erasures_that_differ_by_direction():
    class OneWay(LinkOutage):
        def __call__(self, key, mixing):
            return jax.random.bernoulli(key, 1 - self.probability, mixing.weights.shape).astype(jnp.float32)

    sampler = DSGLD(setting.gradient(), setting.mixing_of(GRAPH), ETA, outage=OneWay(0.3))
    extra = erasure_extra(GRAPH.edges, AGENTS, PARAMS, W, 0.3)
    law = dsgld_law(mixing_matrix(GRAPH, 0.7 * W), *setting.quadratics(), ETA, extra)
    assert caught(p_values(sampler, law, moment_p_values))


def test_gain_error_shared_by_a_receivers_links():
    per_receiver = Altered(
        NoisyGainAWGN(10.0, 0.15),
        gain_error=lambda channel, keys, slots: jnp.broadcast_to(channel.gain_error(keys, 1), (len(keys), slots)),
    )
    sampler = cd_sampler(per_receiver)
    extra = gain_error_extra(GRAPH.adjacency(), PARAMS, W, 0.15)
    law = dsgld_law(mixing_matrix(GRAPH, W), *setting.quadratics(), ETA, extra)
    assert caught(p_values(sampler, law, moment_p_values))
