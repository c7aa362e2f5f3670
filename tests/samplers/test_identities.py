"""Exact relations between algorithms: CD-DSGLD at α = β is DSGLD; `common` is DSGLD with a smaller weight."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes import network
from airbayes.channel import AWGN, Channel, NoisyGainAWGN
from airbayes.errors import GraphError
from airbayes.keys import Purpose, agent_keys
from airbayes.models import FullGradient, GaussianPrior, LinearRegression, Posterior, quadratic_potentials, stack_agents
from airbayes.network import Graph, Mixing, build_mixing, mix
from airbayes.network.weights import Weights
from airbayes.power import Common, Fixed, Optimal, Truncated
from airbayes.samplers import CDDSGLD, DSGD, QDSGD, SGD, SGLD
from airbayes.samplers.dsgld import dsgld_update

AGENTS, PARAMS, ETA = 6, 7, 1e-3
GRAPHS = {g.name: g for g in (network.full(AGENTS), network.star(AGENTS), network.ring(AGENTS))}


def data():
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(AGENTS, 5, PARAMS)).astype(np.float32)
    return stack_agents(list(inputs), list(rng.normal(size=(AGENTS, 5)).astype(np.float32)))


def table(graph: Graph, weights: Weights = "best-constant") -> Mixing:
    return build_mixing(graph, weights, layout="table")


def weight(mixing: Mixing) -> float:
    assert mixing.edge_weight is not None
    return float(mixing.edge_weight)


GRADIENT = FullGradient(Posterior(LinearRegression(PARAMS).log_likelihood, GaussianPrior(), AGENTS))


def start():
    return 2.0 * jax.random.normal(jax.random.key(8), (AGENTS, PARAMS))


@pytest.mark.parametrize("graph", list(GRAPHS))
@pytest.mark.parametrize("policy", [Optimal(), Truncated(), Common()])
def test_cd_dsgld_with_unit_gains_is_dsgld_driven_by_the_channel(graph, policy):
    """At an SNR where α = β is feasible every policy gives DSGLD with ξ = z/√N0."""
    mixing = table(GRAPHS[graph])
    channel = AWGN(60.0, power=3.0)
    sampler = CDDSGLD(GRADIENT, mixing, channel, policy, ETA)
    key, state = jax.random.key(9), sampler.init(start())
    theta = start()
    advance = eqx.filter_jit(sampler.step)
    for step in range(10):
        z = channel.noise(agent_keys(key, step, Purpose.CHANNEL, AGENTS), PARAMS)
        xi = z / jnp.sqrt(channel.noise_power)
        theta = dsgld_update(mix(theta, mixing), GRADIENT(None, theta, data()), xi, jnp.float32(ETA))
        state, info = advance(key, state, data())
        assert (info["rho"] == 1.0).all()
        np.testing.assert_allclose(state.theta, theta, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("graph", list(GRAPHS))
def test_common_gain_is_dsgld_with_edge_weight_rho_w(graph):
    mixing = table(GRAPHS[graph])
    channel = AWGN(5.0)
    sampler = CDDSGLD(GRADIENT, mixing, channel, Common(), ETA)
    key, state = jax.random.key(9), sampler.init(start())
    z = channel.noise(agent_keys(key, 0, Purpose.CHANNEL, AGENTS), PARAMS)
    after, info = sampler.step(key, state, data())
    rho = float(info["rho"][0])
    assert 0 < rho < 1
    smaller = table(GRAPHS[graph], rho * weight(mixing))
    expected = dsgld_update(
        mix(start(), smaller), GRADIENT(None, start(), data()), z / jnp.sqrt(channel.noise_power), jnp.float32(ETA)
    )
    np.testing.assert_allclose(after.theta, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("policy", [Optimal(), Truncated(), Common()])
@pytest.mark.parametrize("snr_db", [-20.0, 0.0, 20.0, 40.0])
def test_every_block_keeps_the_power_limit(policy, snr_db):
    """‖x_j‖² ≤ mP, from the signal that is really sent, in float64."""
    for graph in GRAPHS.values():
        mixing, channel = table(graph), AWGN(snr_db, power=0.7)
        sampler = CDDSGLD(GRADIENT, mixing, channel, policy, ETA)
        state, advance = sampler.init(start()), eqx.filter_jit(sampler.step)
        for _ in range(10):
            sent = np.asarray(state.theta, np.float64)
            state, info = advance(jax.random.key(1), state, data())
            beta = np.sqrt(float(channel.noise_power) / (2 * ETA))
            x = weight(mixing) * beta * np.asarray(info["rho"], np.float64)[:, None] * sent
            assert (np.sum(x**2, axis=1) <= PARAMS * float(channel.power)).all()
            np.testing.assert_allclose(info["power_used"], np.sum(x**2, axis=1) / (PARAMS * 0.7), rtol=1e-4, atol=1e-7)


def test_the_received_signal_is_the_physical_one():
    """The difference form equals w_kk θ_k + y_k/β − η∇f written out with signals, in float64."""
    graph, rho = GRAPHS["star"], np.linspace(0.5, 1.2, AGENTS)
    mixing, channel = table(graph), NoisyGainAWGN(10.0, 0.2)
    sampler = CDDSGLD(GRADIENT, mixing, channel, Fixed(jnp.asarray(rho, jnp.float32)), ETA)
    key, theta = jax.random.key(5), np.asarray(start(), np.float64)
    after, _ = sampler.step(key, sampler.init(start()), data())

    w, adjacency = weight(mixing), graph.adjacency()
    beta = np.sqrt(float(channel.noise_power) / (2 * ETA))
    slots = channel.gain_error(agent_keys(key, 0, Purpose.LINKS, AGENTS), mixing.weights.shape[1])
    error = np.zeros((AGENTS, AGENTS))
    for k in range(AGENTS):
        for s in range(mixing.weights.shape[1]):
            error[k, int(mixing.neighbours[k, s])] += float(slots[k, s]) * float(mixing.links[k, s])
    x = w * beta * rho[:, None] * theta
    z = np.asarray(channel.noise(agent_keys(key, 0, Purpose.CHANNEL, AGENTS), PARAMS), np.float64)
    y = (adjacency * (1 + error)) @ x + z
    self_weight = 1 - w * adjacency.sum(axis=1)
    gradient = np.asarray(GRADIENT(None, start(), data()), np.float64)
    np.testing.assert_allclose(
        after.theta, self_weight[:, None] * theta + y / beta - ETA * gradient, rtol=1e-5, atol=1e-5
    )


def test_metropolis_weights_are_refused_with_the_reason():
    mixing = table(GRAPHS["star"], "metropolis")
    with pytest.raises(GraphError, match="one edge weight"):
        CDDSGLD(GRADIENT, mixing, AWGN(10.0), Common(), ETA)


def test_uncompressed_own_value_is_dsgd():
    from airbayes.compress import Identity

    mixing, everything = table(GRAPHS["ring"]), jnp.full((AGENTS,), PARAMS, jnp.int32)
    digital = QDSGD(GRADIENT, mixing, everything, ETA, 1.0, "own-value", Identity())
    literal = QDSGD(GRADIENT, mixing, everything, ETA, 1.0, "zero-fill", Identity())
    ideal = DSGD(GRADIENT, mixing, ETA)
    key = jax.random.key(0)
    expected = ideal.step(key, ideal.init(start()), data())[0].theta
    for sampler in (digital, literal):
        np.testing.assert_allclose(sampler.step(key, sampler.init(start()), data())[0].theta, expected, atol=1e-5)


def test_memory_follows_choco():
    """x̂ += Q(θ½ − x̂), θ' = θ½ + γ Σ w (x̂_j − x̂_k), with nothing lost in Q."""
    from airbayes.compress import TopT

    mixing, t, gamma = table(GRAPHS["ring"]), 3, 0.4
    sampler = QDSGD(GRADIENT, mixing, jnp.full((AGENTS,), t, jnp.int32), ETA, gamma, "memory", TopT())
    state, key = sampler.init(start()), jax.random.key(0)
    theta = memory = np.asarray(start())
    weights = network.mixing_matrix(GRAPHS["ring"], weight(mixing))
    for _ in range(4):
        half = theta - ETA * np.asarray(GRADIENT(None, jnp.asarray(theta), data()))
        gap = half - memory
        kept = np.argsort(-np.abs(gap), axis=1)[:, :t]
        sent = np.zeros_like(gap)
        np.put_along_axis(sent, kept, np.take_along_axis(gap, kept, 1), 1)
        memory = memory + sent
        theta = (half + gamma * (weights @ memory - memory)).astype(np.float32)
        state, _ = sampler.step(key, state, data())
        np.testing.assert_allclose(state.theta, theta, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(state.memory, memory, rtol=1e-4, atol=1e-5)


def test_a_users_own_channel_changes_the_noise_only():
    class Silent(Channel):
        power: jax.Array
        noise_power: jax.Array

        def noise(self, keys, num_params):
            return jnp.zeros((len(keys), num_params))

        def gain_error(self, keys, num_slots):
            return None

    mixing = table(GRAPHS["full"])
    silent = CDDSGLD(GRADIENT, mixing, Silent(jnp.float32(1.0), jnp.float32(1e-6)), Truncated(), ETA)
    quiet = DSGD(GRADIENT, mixing, ETA)
    key = jax.random.key(0)
    a, info = silent.step(key, silent.init(start()), data())
    assert (info["rho"] == 1.0).all()
    np.testing.assert_allclose(a.theta, quiet.step(key, quiet.init(start()), data())[0].theta, atol=1e-6)


def test_one_sgld_step_equals_blackjax_given_the_same_noise():
    blackjax = pytest.importorskip("blackjax", reason="blackjax is a test extra")
    from blackjax.util import generate_gaussian_noise

    from airbayes.samplers.sgld import sgld_update

    def log_density(theta, batch):
        return -0.5 * jnp.sum((theta - batch) ** 2)

    theta, batch, eta, key = jnp.arange(4.0), jnp.float32(0.3), 0.01, jax.random.key(4)
    theirs = blackjax.sgld(jax.grad(log_density))
    after = theirs.step(key, theirs.init(theta), batch, eta)
    xi = jnp.asarray(generate_gaussian_noise(key, theta))
    gradient = jax.grad(lambda t: -log_density(t, batch))(theta)
    ours = sgld_update(theta[None], gradient[None], xi[None], jnp.float32(eta))[0]
    np.testing.assert_allclose(ours, after, rtol=1e-6, atol=1e-6)
    assert float(jnp.abs(after - theta).max()) > 0.01


def test_sgld_rows_do_not_talk():
    sampler = SGLD(GRADIENT, ETA)
    key = jax.random.key(0)
    whole = sampler.step(key, sampler.init(start()), data())[0].theta
    other = start().at[1:].set(7.0)
    assert jnp.array_equal(whole[0], sampler.step(key, sampler.init(other), data())[0].theta[0])


@pytest.mark.parametrize("method", ["sgd", "dsgd"])
def test_descent_follows_the_closed_form(method):
    """f_k = ½θᵀA_kθ − b_kᵀθ (prior 1/N each): 200 steps of θ' = Wθ − η(A_kθ − b_k), in float64; W = I for SGD."""
    mixing = table(GRAPHS["ring"])
    sampler = SGD(GRADIENT, ETA) if method == "sgd" else DSGD(GRADIENT, mixing, ETA)
    precision, linear = quadratic_potentials(data(), 1.0, 1.0)
    weights = np.eye(AGENTS)
    if method == "dsgd":
        weights = np.asarray(mix(jnp.eye(AGENTS), mixing), np.float64)
    expected, state = np.asarray(start(), np.float64), sampler.init(start())
    step = jax.jit(lambda state: sampler.step(jax.random.key(0), state, data())[0])
    for _ in range(200):
        expected = weights @ expected - ETA * (np.einsum("kij,kj->ki", precision, expected) - linear)
        state = step(state)
    np.testing.assert_allclose(state.theta, expected, atol=2e-4)
