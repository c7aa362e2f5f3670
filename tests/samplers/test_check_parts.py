"""What samplers say about parts and starting points that do not fit."""

import re

import equinox as eqx
import jax.numpy as jnp
import pytest
from unchecked import answers

from airbayes import network
from airbayes.channel import AWGN
from airbayes.errors import AirbayesError
from airbayes.models import FullGradient, GaussianPrior, LinearRegression, Posterior
from airbayes.network import build_mixing
from airbayes.power import Common
from airbayes.samplers import CDDSGLD, DSGD, DSGHMC, DSGLD, QDSGD, SGLD

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from airbayes import channel, metrics, models, network, power, samplers
posterior = models.Posterior(models.LinearRegression(2).log_likelihood, models.GaussianPrior(), 5)
g, ring = models.FullGradient(posterior), network.build_mixing(network.ring(5))
radio, common, top = channel.AWGN(20.0), power.Common(), jnp.full(5, 2)
def first(sampler): return sampler.step(jax.random.key(0), sampler.init(np.zeros((5, 5))), None)
def own(keys, theta, data): return theta
def over(power, noise):
    many = channel.AWGN(20.0)
    for name, value in (("power", power), ("noise_power", noise)): object.__setattr__(many, name, jnp.asarray(value))
    return first(samplers.CDDSGLD(own, ring, many, common, 1e-3))
def start(theta): return samplers.DSGLD(g, ring, 1e-3).init(theta)
"""
NO_GRADIENT = r"gradient must be a function .* such as models.FullGradient\(posterior\), got "
NO_DRIFT = r"drift must be a Drift such as samplers.Tamed\(\), got "
MISTAKES = {
    "samplers.DSGLD(posterior, ring, 1e-3)": NO_GRADIENT + "a Posterior",
    "samplers.CDDSGLD(posterior, ring, radio, common, 1e-3)": NO_GRADIENT + "a Posterior",
    "samplers.SGLD(posterior, 1e-3)": NO_GRADIENT + "a Posterior",
    "samplers.SGD(models.FullGradient, 1e-3)": NO_GRADIENT + "the class FullGradient",
    "samplers.DSGD(models.LinearRegression(2), ring, 1e-3)": NO_GRADIENT + "a LinearRegression",
    "samplers.DSGLD(g, ring, 1e-3, 'tamed')": NO_DRIFT + "'tamed'",
    "samplers.SGLD(g, 1e-3, samplers.Tamed)": NO_DRIFT + r"the class Tamed \(add parentheses",
    "samplers.DSGLD(g, network.ring(5), 1e-3)": "mixing must come from network.build_mixing.*got a Graph",
    "samplers.DSGLD(g, ring, 1e-3, outage=0.1)": "outage must be one such as samplers.LinkOutage.*got 0.1",
    "samplers.DSGLD(g, ring, 1e-3, faults=samplers.Late(0.1, 3))": "faults must be a Faults .*got a Late",
    "samplers.DSGLD(g, ring, '1e-3')": "step size η must be a number, got '1e-3'",
    "samplers.DSGLD(g, ring, samplers.Constant)": "must be a number, got the class Constant",
    "samplers.CDDSGLD(g, ring, 20.0, common, 1e-3)": "channel must be a Channel such as channel.AWGN.*got 20.0",
    "samplers.CDDSGLD(g, ring, radio, 'common', 1e-3)": "policy must be a PowerPolicy .*got 'common'",
    "samplers.CDDSGLD(g, ring, radio, common, 1e-3, receiver=4.0)": "receiver must be a Receiver .*got 4.0",
    "samplers.QDSGD(g, ring, top, 1e-3, 0.3, 'zero')": "no mode 'zero'; use one of 'memory', 'own-value', 'zero-fill'",
    "samplers.QDSGD(g, ring, top, 1e-3, 0.3, compressor=4)": "compressor must be a Compressor .*got 4",
    "samplers.QDSGD(g, ring, top, 1e-3, -0.3)": "consensus step γ must be zero or more, got -0.3",
    "samplers.DSGHMC(g, ring, 1e-2, -1.0)": "friction γ must be positive and finite, got -1",
    "start(jnp.zeros((4, 2)))": "θ has 4 rows, but the network has 5 agents. Give one row per agent",
    "start(jnp.zeros((6, 2)))": "θ has 6 rows.*or build the mixing from a graph of 6 agents",
    "start(jnp.zeros(2))": r"two axes, .agent, param., got shape .2.*jnp.tile\(point, \(5, 1\)\)",
    "start([[0.0, 0.0]] * 5)": "θ must be an array .*, got a list. Use jnp.asarray",
    "start(jnp.zeros((5, 2), int))": "θ must be float32, got int32. Use theta.astype",
    "start(jnp.zeros((5, 2), jnp.float16))": "θ must be float32, got float16",
    "samplers.SGLD(g, 1e-3).init(jnp.zeros(2))": "two axes",
    "first(samplers.DSGLD(own, ring, jnp.full(5, 1e-3)))": r"step size η must be one number .*shape \[5\].*jax.vmap",
    "first(samplers.DSGHMC(own, ring, 1e-3, jnp.ones(5)))": "friction γ must be one number for all agents",
    "first(samplers.QDSGD(own, ring, top, 1e-3, jnp.ones(5)))": "consensus step γ must be one number for all agents",
    "channel.AWGN(np.array([0.0, 20.0]))": r"SNR in dB must be one number for all agents, got shape \[2\]",
    "channel.AWGN(20.0, np.ones(5))": r"Transmit power P must be one number for all agents, got shape \[5\]",
    "channel.NoisyGainAWGN(20.0, np.ones(5))": r"gain_std must be one number for all agents, got shape \[5\]",
    "channel.ImpulsiveNoise(radio, np.ones(5), 1.0)": "rate of impulses must be one number for all agents",
    "channel.ImpulsiveNoise(radio, 0.1, np.ones(5))": "power of impulses over N0 must be one number for all agents",
    "over(np.ones(5), 1.0)": r"The channel's power P must be one number for all agents, got shape \[5\]",
    "over(1.0, np.ones(5))": r"The channel's noise power N0 must be one number for all agents, got shape \[5\]",
    "over(1.0, 0.0)": r"AWGN.noise_power, N0, must be positive and finite, got 0. It is linear: channel.db_to_linear",
    "over(1.0, -94.0)": r"AWGN.noise_power, N0, must be positive and finite, got -94",
    "over(0.0, 1.0)": r"AWGN.power, P, must be positive and finite, got 0",
    "over(1.0, np.nan)": r"AWGN.noise_power, N0, must be positive and finite, got nan",
    "metrics.consensus_distance(jnp.zeros(5))": r"θ must be \[agent, param\], got shape \[5\].*jax.vmap",
    "metrics.consensus_distance(jnp.zeros((2, 5, 3)))": r"θ must be \[agent, param\], got shape \[2, 5, 3\]",
    "metrics.rhat(np.zeros(50))": r"must be \[chain, draw, ...\], got shape .50.. Of a single chain give draws\[None\]",
    "metrics.ess(np.zeros(50))": r"must be \[chain, draw, ...\], got shape \[50\]",
}


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    return answers(SETUP, list(MISTAKES))


@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_a_mistake_is_named_with_its_fix(said, mistake):
    assert re.match("(AirbayesError|GraphError): ", said[mistake]), said[mistake]
    assert re.search(MISTAKES[mistake], said[mistake]), said[mistake]


RING = build_mixing(network.ring(5))


def gradient_for(agents: int) -> FullGradient:
    return FullGradient(Posterior(LinearRegression(2).log_likelihood, GaussianPrior(), agents))


class Wrapped(eqx.Module):
    """As the gradients of sharded networks are."""

    gradient: FullGradient

    def __call__(self, keys, theta, data):
        return self.gradient(keys, theta, data)


NETWORKED = {
    "dsgld": lambda gradient: DSGLD(gradient, RING, 1e-3),
    "cd": lambda gradient: CDDSGLD(gradient, RING, AWGN(20.0), Common(), 1e-3),
    "dsghmc": lambda gradient: DSGHMC(gradient, RING, 1e-3, 5.0),
    "dsgd": lambda gradient: DSGD(gradient, RING, 1e-3),
    "q": lambda gradient: QDSGD(gradient, RING, jnp.full(5, 2), 1e-3, 0.3),
}


@pytest.mark.parametrize("wrap", [lambda gradient: gradient, Wrapped], ids=["plain", "wrapped"])
@pytest.mark.parametrize("name", list(NETWORKED))
def test_the_prior_is_shared_by_the_agents_of_the_network(name, wrap):
    for agents in (1, 4):
        with pytest.raises(AirbayesError, match=rf"num_agents = {agents}, but the network has 5: .*num_agents=5\)"):
            NETWORKED[name](wrap(gradient_for(agents)))
    NETWORKED[name](wrap(gradient_for(5)))


def test_without_a_network_the_prior_is_shared_as_one_likes():
    """Centralised: 1 row and the whole prior; local: N rows and all of it each, or 1/N (consensus Monte Carlo)."""
    for rows, agents in ((1, 1), (5, 1), (5, 5)):
        assert SGLD(gradient_for(agents), 1e-3).init(jnp.zeros((rows, 2))).theta.shape == (rows, 2)


def test_potentials_of_ones_own_are_not_counted():
    DSGLD(FullGradient(lambda theta, local: jnp.sum(theta**2)), RING, 1e-3)
