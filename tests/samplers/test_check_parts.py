"""What samplers say about parts and starting points that do not fit."""

import inspect
import re
import sys
import textwrap

import equinox as eqx
import jax.numpy as jnp
import pytest
from unchecked import answers

from airbayes import network, samplers
from airbayes.channel import AWGN
from airbayes.errors import AirbayesError
from airbayes.models import FullGradient, GaussianPrior, LinearRegression, Posterior
from airbayes.network import build_mixing
from airbayes.power import Common
from airbayes.samplers import CDDSGLD, DSGD, DSGHMC, DSGLD, QDSGD, SGD, SGLD

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from airbayes import channel, metrics, models, network, power, samplers
posterior = models.Posterior(models.LinearRegression(2).log_likelihood, models.GaussianPrior(), 5)
g, ring = models.FullGradient(posterior), network.build_mixing(network.ring(5))
radio, common, top = channel.AWGN(20.0), power.Common(), jnp.full(5, 2)
def first(sampler): return sampler.step(jax.random.key(0), sampler.init(np.zeros((5, 5))), None)
def own(keys, theta, data): return theta
class Row(samplers.Drift):
    def __call__(self, gradient, eta): return gradient[0]
def over(power, noise):
    many = channel.AWGN(20.0)
    for name, value in (("power", power), ("noise_power", noise)): object.__setattr__(many, name, jnp.asarray(value))
    return first(samplers.CDDSGLD(own, ring, many, common, 1e-3))
def start(theta): return samplers.DSGLD(g, ring, 1e-3).init(theta)
def labelled(labels): return models.stack_agents(np.zeros((5, 4, 2), np.float32), labels, num_classes=3)
def cut(mask): return first(samplers.DSGLD(own, ring, 1e-3, outage=lambda key, mixing: mask))
def attack(**options): return samplers.Faults(attack=samplers.Attack(1.0, 1.0, **options)).init(np.zeros((5, 2)), ring)
from airbayes.metrics import conformal
law = samplers.exact.dsgld_law
W, A, b = np.eye(5) / 2, np.ones((5, 2, 2)), np.ones((5, 2))
labels, logs = jnp.zeros(3, int), jnp.log(jnp.ones((3, 2)) / 2)
"""
NO_GRADIENT = r"gradient must be a function .* such as models.FullGradient\(posterior\), got "
ROWS = r"gradient must give one row per agent, \[agent, param\], \[5, 5\], "
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
    "first(samplers.DSGLD(lambda key, theta, data: theta[0], ring, 1e-3))": ROWS + r"got shape \[5\].*FullGradient",
    "first(samplers.SGLD(lambda key, theta, data: theta[:, :1], 1e-3))": ROWS + r"got shape \[5, 1\]",
    "first(samplers.CDDSGLD(lambda key, theta, data: theta.sum(), ring, radio, common, 1e-3))": ROWS,
    "first(samplers.DSGD(lambda key, theta, data: (theta, 0), ring, 1e-3))": ROWS + "got a tuple",
    "first(samplers.DSGLD(own, ring, 1e-3, Row()))": r"Row must give one row per agent.*got shape \[5\].*\[:, None\]",
    "first(samplers.QDSGD(own, ring, top, 1e-3, 0.3, drift=Row()))": "Row must give one row per agent",
    "samplers.DSGLD(own, ring, 1e-3).step(jax.random.key(0), np.zeros((5, 2)), None)": r"got an array of .* \[5, 2\]",
    "samplers.SGLD(own, 1e-3).step(0, start(np.zeros((5, 2))), None)": r"one random key such as jax.random.*, got 0",
    "samplers.SGLD(own, 1e-3).step(jax.random.split(jax.random.key(0)), start(np.zeros((5, 2))), 0)": r"\[2\].*vmap",
    "samplers.SGLD(own, 1e-3).step(start(np.zeros((5, 2))), jax.random.key(0), None)": r"step\(key, state, data\)",
    "samplers.DSGHMC(own, ring, 1e-3, 1.0).step(jax.random.key(0), start(np.zeros((5, 2))), None)": "a MomentumState",
    "samplers.DSGLD(g, ring, 1e-3, outage=0.1)": "outage must be one such as samplers.LinkOutage.*got 0.1",
    "samplers.DSGLD(g, ring, 1e-3, faults=samplers.Late(0.1, 3))": "faults must be a Faults .*got a Late",
    "samplers.Faults(bursts=0.1)": r"bursts must be a Bursts such as samplers.Bursts\(0.1, 5\), got 0.1",
    "samplers.Faults(late=samplers.Churn(0.1, 5))": "late must be a Late .*got a Churn",
    "samplers.BothOutages(0.1, samplers.NodeOutage(0.1))": "links must be one such as samplers.LinkOutage.*got 0.1",
    "samplers.BothOutages(samplers.LinkOutage(0.1), samplers.NodeOutage)": "nodes must be one .*the class NodeOutage",
    "samplers.Jamming(0.1, 1, 0.1)": "others must be one such as samplers.LinkOutage.*got 0.1",
    "channel.ImpulsiveNoise(20.0, 0.1, 1.0)": "base must be a Channel such as channel.AWGN.*got 20.0",
    "channel.Jammed(channel.AWGN, 0.1, 1.0, 1)": "base must be a Channel .*got the class AWGN",
    "power.check_policy(power.Common, 5)": "policy must be a PowerPolicy .*got the class Common",
    "power.check_policy(common, 0)": "num_agents must be an integer from 1 on, got 0",
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
    "start({'a': jnp.zeros((5, 2))})": r"got a dict. Flatten a pytree: .*ravel_pytree.*jnp.tile\(point, \(5, 1\)\)",
    "start((jnp.zeros((5, 2)), jnp.zeros(5)))": "got a tuple. Flatten a pytree",
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
    "samplers.SGLD(g, 1e-3).init(jnp.zeros((1, 2)))": "one row: only 1/5 of the prior would count.*num_agents=1",
    "samplers.SGD(g, 1e-3).init(jnp.zeros((1, 2)))": "one row: only 1/5 of the prior would count.*num_agents=1",
    "samplers.LinkOutage(10)": "probability p of an outage must be from 0 to 1, got 10. 10 % is 0.1",
    "samplers.LinkOutage(jnp.ones(5))": "probability p of an outage must be one number",
    "samplers.NodeOutage(np.nan)": "probability p of an outage must be from 0 to 1, got nan",
    "samplers.Jamming(5, 1)": "probability p of an outage must be from 0 to 1, got 5",
    "samplers.Jamming(0.5, -1)": "number of jammed receivers must be zero or more, got -1",
    "network.link_mask(jax.random.key(0), ring, 30)": "probability p of an outage must be from 0 to 1, got 30",
    "samplers.Bursts(1.0, 5)": "share p .* must be from 0 to below 1, got 1",
    "samplers.Bursts(0.5, 0.1)": "mean length L of a fault must be at least 1, got 0.1",
    "samplers.Churn(0.9, 2)": r"lost p/\(1 − p\) = 9 steps at a time or more, got L = 2",
    "samplers.Late(10, 3)": "probability p of a fault must be from 0 to 1, got 10",
    "samplers.Late(0.1, 1.5)": "staleness τ in steps must be a whole number, zero or more, got 1.5",
    "samplers.CosineCycles(1e-3, 2.5)": "period c of the cycles must be a whole number, at least 1, got 2.5",
    "samplers.Attack(1.0, 'big')": "size a of a lie must be a number, got 'big'",
    "attack(attackers=-1)": "attackers must be an integer from 0 on, got -1",
    "attack(attackers=9)": "9 attackers, but the network has 5 agents",
    "samplers.ClippingReceiver(-4)": "limit c of a receiver must be positive, got -4",
    "samplers.TestingReceiver('4')": "limit c of a receiver must be a number, got '4'",
    "cut(jnp.ones(5))": r"mask must be shaped like mixing.weights, \[5, 2\], got shape \[5\]",
    "cut(1.0)": r"mask must be shaped like mixing.weights, \[5, 2\], got shape \[\]",
    "network.mix(jnp.ones((5, 2)), ring, jnp.ones(2))": r"mask must be shaped like mixing.weights, .* got shape \[2\]",
    "network.mix(jnp.ones(5), ring)": r"one row for each of the 5 agents, got shape \[5\].*theta\[:, None\]",
    "network.ring(2.0)": "Graph 'ring' needs a whole number of agents, not 2.0",
    "network.from_adjacency(__import__('scipy.sparse').sparse.eye_array(2))": "must be dense: give matrix.toarray",
    "network.build_mixing(network.ring(5), layout='edge')": "Unknown layout 'edge'. Choose 'auto', 'table' or 'edges'",
    "power.Fixed([-1.0, 1, 1, 1, 1])": "gain ρ must be zero or more, got -1",
    "channel.AWGN('20')": "SNR in dB must be a number, got '20'",
    "channel.AWGN(None)": "SNR in dB must be a number, got None",
    "channel.Jammed(radio, 1.5, 1.0, 1)": "rate of jamming must be from 0 to 1, got 1.5",
    "channel.db_to_linear(np.ones(2))": r"one number, got shape \[2\]. Of several: 10.0 \*\*",
    "channel.linear_to_db(np.ones(2))": r"one number, got shape \[2\]. Of several: 10 \* np.log10",
    "law(W[:4, :4], A, b, 0.1)": r"A law takes W \[agent, agent\].*got shapes \[4, 4\], \[5, 2, 2\], \[5, 2\]",
    "law(ring, A, b, 0.1)": r"W is network.mixing_matrix\(graph, w\)",
    "samplers.exact.dsghmc_law(W, A.sum(0), b.sum(0), 0.1, 1.0)": r"got shapes \[5, 5\], \[2, 2\], \[2\]",
    "law(W, A, b, 0.1).at(3, np.zeros((5, 2)))": r"one vector of all agents, \[10\], got shape \[5, 2\].*theta.ravel",
    "law(W, A, b, 0.1).at(3, np.zeros(10), np.ones(10))": r"must be \[10, 10\], got shape \[10\]. Of variances give",
    "law(W, A, b, 0.1).at(-1, np.zeros(10))": "steps must be an integer from 0 on, got -1",
    "law(W, A, b, -0.1)": "step size η must be positive and finite, got -0.1",
    "samplers.exact.dsghmc_law(W, A, b, 0.1, 0.0)": "friction γ must be positive and finite, got 0",
    "samplers.exact.agent_law(np.zeros(10), np.eye(10), 5, 2)": "no agent 5 of 2 parameters in a law of dimension 10",
    "samplers.exact.average_law(np.zeros(10), np.eye(10), 4, 2)": "4 agents of 2 parameters has dimension 8, got 10",
    "metrics.w2_gaussians(np.zeros(3), np.eye(2), np.zeros(3), np.eye(2))": r"of one dim, got shapes \[3\], \[2, 2\]",
    "metrics.w2_gaussians(np.zeros((2, 1)), np.eye(2), np.zeros(2), np.eye(2))": r"got shapes \[2, 1\], \[2, 2\]",
    "metrics.w2_gaussians(np.zeros(2), np.ones(2), np.zeros(2), np.ones(2))": "Of variances give np.diag",
    "metrics.RunningMean.empty((2,)).update(jnp.ones((3, 2)))": r"made for shape \[2\], got \[3, 2\]",
    "metrics.RunningMoments.empty((2,)).update(jnp.ones((3, 2)))": r"made for shape \[2\], got \[3, 2\]",
    "metrics.fit_temperature(jnp.exp(logs), labels)": r"no log-probabilities: .*jnp.log\(probabilities\)",
    "metrics.temper(jnp.exp(logs), 2.0)": r"probabilities already. Give jnp.log\(probabilities\)",
    "metrics.nll_from_log(2 * logs, labels)": "sum of their exponentials is 0.5. .*jax.nn.log_softmax",
    "metrics.nll_from_log(logs, labels.astype(float))": "Labels must be integers, got float32",
    "metrics.accuracy([[0.5, 0.5]], labels[:1])": "Predictions must be an array, got a list. Use jnp.asarray",
    "metrics.nll(jnp.exp(logs), [0, 1, 1])": "Labels must be an array, got a list",
    "metrics.ece(jnp.exp(logs), labels, bins=3.5)": "number of bins must be an integer from 1 on, got 3.5",
    "conformal.calibrate(np.ones((3, 2)), np.array([0, -1, 1]), 0.9)": "negative label marks padding",
    "conformal.calibrate(np.ones((3, 2)), np.array([0, 2, 1]), 0.9)": "Example 1 has the label 2: 2 classes",
    "metrics.confusion_matrix(jnp.exp(logs), labels + 2)": "Example 0 has the label 2: 2 classes",
    "over(1.0, 0.0)": r"AWGN.noise_power, N0, must be positive and finite, got 0. It is linear: channel.db_to_linear",
    "over(1.0, -94.0)": r"AWGN.noise_power, N0, must be positive and finite, got -94",
    "over(0.0, 1.0)": r"AWGN.power, P, must be positive and finite, got 0",
    "over(1.0, np.nan)": r"AWGN.noise_power, N0, must be positive and finite, got nan",
    "metrics.consensus_distance(jnp.zeros(5))": r"θ must be \[agent, param\], got shape \[5\].*jax.vmap",
    "metrics.consensus_distance(jnp.zeros((2, 5, 3)))": r"θ must be \[agent, param\], got shape \[2, 5, 3\]",
    "metrics.rhat(np.zeros(50))": r"must be \[chain, draw, ...\], got shape .50.. Of a single chain give draws\[None\]",
    "metrics.rhat(np.zeros((50, 3)))": r"3 in 50. Axes are \[chain, draw, ...\]: of a single chain give draws\[None\]",
    "metrics.ess(np.zeros((2, 3)))": "got 3 in 2. Keep more samples",
    "labelled(np.zeros((5, 4)))": r"got float64 .*astype\(np.int32\)",
    "labelled(np.zeros((5, 4), bool))": r"got bool .*astype\(np.int32\)",
    "labelled(np.zeros((5, 4, 1), int))": r"a column give labels\[..., 0\]",
    "labelled(np.zeros((5, 4, 3), int))": r"one-hot rows give rows.argmax\(axis=-1\)",
    "metrics.ess(np.zeros(50))": r"must be \[chain, draw, ...\], got shape \[50\]",
}


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    return answers(SETUP, list(MISTAKES))


@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_a_mistake_is_named_with_its_fix(said, mistake):
    assert re.match("(AirbayesError|GraphError): ", said[mistake]), said[mistake]
    assert re.search(MISTAKES[mistake], said[mistake]), said[mistake]


def test_laws_take_lists_and_arrays_of_jax():
    """W = [[1]] is what the message about shapes names; float32 would spoil the sums of rows."""
    made = "law([[1]], jnp.asarray(A[:1]), b[:1].tolist(), 0.1).{}.dtype == np.float64 or 1 / 0"
    mistakes = [made.format(part) for part in ("transition", "offset", "noise")]
    assert set(answers(SETUP, mistakes).values()) == {"no error"}


def test_numpy_arrays_mix_as_those_of_jax():
    numbers = "network.mix(np.ones((5, 2), np.float32), network.build_mixing(network.ring(5), layout={!r}))"
    mistakes = [numbers.format(layout) for layout in ("table", "edges")]
    assert set(answers(SETUP, mistakes).values()) == {"no error"}


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


@pytest.mark.parametrize("kind", [CDDSGLD, DSGD, DSGHMC, DSGLD, QDSGD, SGD, SGLD], ids=lambda kind: kind.__name__)
def test_help_of_a_sampler_has_its_equation_and_an_example_that_runs(kind):
    text = inspect.getdoc(kind) or ""
    assert text.endswith((sys.modules[kind.__module__].__doc__ or "no docstring").strip())
    assert "[agent, param]" in text
    *before, made = next(part for part in text.split("\n\n") if part.startswith("    ")).splitlines()
    names: dict = {}
    exec(SETUP + textwrap.dedent("\n".join(before)), names)
    assert isinstance(eval(made.strip(), names | vars(samplers)), kind)
