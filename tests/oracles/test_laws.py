"""Every sampler against its exact law at a fixed step, over 8,192 independent chains.

Gaussian laws: χ² (mean), χ² (covariance), KS (Mahalanobis). Multiplicative noise: moments with empirical standard
errors. One p-value of a correct sampler fails with probability 1e-4; seeds are fixed.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from oracles import setting
from oracles.checks import assert_law, gaussian_p_values, moment_p_values
from oracles.setting import AGENTS, ETA, GRAPHS, PARAMS, STEPS

from airbayes.channel import AWGN, NoisyGainAWGN
from airbayes.models import LocalData, MiniBatchGradient, pool_agents, quadratic_potentials
from airbayes.network import best_constant, mixing_matrix
from airbayes.power import Fixed
from airbayes.samplers import CDDSGLD, DSGD, DSGHMC, DSGLD, SGLD, LinkOutage
from airbayes.samplers.exact import (
    average_law,
    dsghmc_law,
    dsgld_law,
    erasure_extra,
    gain_error_extra,
    gain_matrix,
    minibatch_extra,
)

graphs = pytest.mark.parametrize("name", list(GRAPHS))


def check_agents_and_average(
    samples: np.ndarray, mean: np.ndarray, cov: np.ndarray, p_values=gaussian_p_values
) -> None:
    """The joint law of all agents, and the law of the network average."""
    assert_law(p_values(samples, mean, cov))
    average = samples.reshape(len(samples), AGENTS, PARAMS).mean(axis=1)
    assert_law(p_values(average, *average_law(mean, cov, AGENTS, PARAMS)))


@graphs
def test_dsgld(name):
    graph = GRAPHS[name]
    sampler = DSGLD(setting.gradient(), setting.mixing_of(graph), ETA)
    law = dsgld_law(mixing_matrix(graph, best_constant(graph)), *setting.quadratics(), ETA)
    state = setting.run_chains(sampler, setting.data(), setting.start())
    check_agents_and_average(setting.flat_theta(state), *law.at(STEPS, setting.start().ravel().astype(float)))


@graphs
def test_cd_dsgld_with_unit_and_unequal_gains(name):
    graph = GRAPHS[name]
    w = best_constant(graph)
    for rho in (np.ones(AGENTS), np.array([1.0, 0.9, 0.7, 1.1, 0.8])):
        policy = Fixed(jnp.asarray(rho, jnp.float32))
        sampler = CDDSGLD(setting.gradient(), setting.mixing_of(graph), AWGN(7.0, power=2.0), policy, ETA)
        law = dsgld_law(gain_matrix(graph.adjacency(), w, rho), *setting.quadratics(), ETA)
        state = setting.run_chains(sampler, setting.data(), setting.start(), seed=1)
        check_agents_and_average(setting.flat_theta(state), *law.at(STEPS, setting.start().ravel().astype(float)))


def test_sgld_centralised():
    pooled = pool_agents(setting.data())
    sampler = SGLD(setting.gradient(num_agents=1), ETA / 4)
    law = dsgld_law(np.eye(1), *quadratic_potentials(pooled, setting.NOISE_STD), ETA / 4)
    state = setting.run_chains(sampler, pooled, setting.start()[:1], seed=2)
    assert_law(gaussian_p_values(setting.flat_theta(state), *law.at(STEPS, setting.start()[0].astype(float))))


@graphs
def test_dsghmc_positions_and_momenta(name):
    graph, friction = GRAPHS[name], 3.0
    eta = 0.1
    sampler = DSGHMC(setting.gradient(), setting.mixing_of(graph), eta, friction)
    law = dsghmc_law(mixing_matrix(graph, best_constant(graph)), *setting.quadratics(), eta, friction)
    state = setting.run_chains(sampler, setting.data(), setting.start(), seed=3)
    momenta = np.asarray(state.nu).reshape(setting.CHAINS, -1)
    start = np.concatenate([setting.start().ravel(), np.zeros(AGENTS * PARAMS)])
    mean, cov = law.at(STEPS, start)
    theta = slice(0, AGENTS * PARAMS)
    check_agents_and_average(setting.flat_theta(state), mean[theta], cov[theta, theta])
    # On the full graph θ_k − θ_j = η(ν_k − ν_j) exactly, so (θ, ν) is singular: take (average of θ, ν) jointly.
    average = np.kron(np.full((1, AGENTS), 1 / AGENTS), np.eye(PARAMS))
    keep = np.block(
        [
            [average, np.zeros((PARAMS, AGENTS * PARAMS))],
            [np.zeros((AGENTS * PARAMS, AGENTS * PARAMS)), np.eye(AGENTS * PARAMS)],
        ]
    )
    joint = np.hstack([setting.flat_theta(state), momenta]) @ keep.T
    assert_law(gaussian_p_values(joint, keep @ mean, keep @ cov @ keep.T))


@graphs
def test_dsgd_is_the_mean_of_dsgld(name):
    graph = GRAPHS[name]
    sampler = DSGD(setting.gradient(), setting.mixing_of(graph), ETA)
    law = dsgld_law(mixing_matrix(graph, best_constant(graph)), *setting.quadratics(), ETA)
    state = setting.run_chains(sampler, setting.data(), setting.start(), chains=1)
    mean, _ = law.at(STEPS, setting.start().ravel().astype(float))
    np.testing.assert_allclose(setting.flat_theta(state)[0], mean, rtol=2e-5, atol=2e-6)


@graphs
@pytest.mark.parametrize("replace", [False, True])
def test_minibatches(name, replace):
    graph, batch = GRAPHS[name], 2
    sampler = DSGLD(MiniBatchGradient(setting.posterior(), batch, replace), setting.mixing_of(graph), ETA)
    law = dsgld_law(
        mixing_matrix(graph, best_constant(graph)),
        *setting.quadratics(),
        ETA,
        minibatch_extra(*example_quadratics(setting.data()), ETA, batch, replace),
    )
    state = setting.run_chains(sampler, setting.data(), setting.start(), seed=4)
    start = setting.start().ravel().astype(float)
    check_agents_and_average(setting.flat_theta(state), *law.at(STEPS, start), moment_p_values)


@graphs
def test_erased_links(name):
    graph, probability = GRAPHS[name], 0.3
    w = best_constant(graph)
    sampler = DSGLD(setting.gradient(), setting.mixing_of(graph), ETA, outage=LinkOutage(probability))
    law = dsgld_law(
        mixing_matrix(graph, w * (1 - probability)),
        *setting.quadratics(),
        ETA,
        erasure_extra(graph.edges, AGENTS, PARAMS, w, probability),
    )
    state = setting.run_chains(sampler, setting.data(), setting.start(), seed=5)
    start = setting.start().ravel().astype(float)
    check_agents_and_average(setting.flat_theta(state), *law.at(STEPS, start), moment_p_values)


@graphs
def test_gain_errors(name):
    graph, std = GRAPHS[name], 0.15
    w = best_constant(graph)
    channel = NoisyGainAWGN(10.0, std)
    sampler = CDDSGLD(setting.gradient(), setting.mixing_of(graph), channel, Fixed(jnp.ones(AGENTS)), ETA)
    law = dsgld_law(
        mixing_matrix(graph, w),
        *setting.quadratics(),
        ETA,
        gain_error_extra(graph.adjacency(), PARAMS, w, std),
    )
    state = setting.run_chains(sampler, setting.data(), setting.start(), seed=6)
    start = setting.start().ravel().astype(float)
    check_agents_and_average(setting.flat_theta(state), *law.at(STEPS, start), moment_p_values)


def example_quadratics(data: LocalData) -> tuple[np.ndarray, np.ndarray]:
    """Each example's share x xᵀ/σ² and x y/σ² of its agent's quadratic potential."""
    inputs = np.asarray(data.inputs, np.float64) / setting.NOISE_STD
    targets = np.asarray(data.targets, np.float64) / setting.NOISE_STD
    return np.einsum("khi,khj->khij", inputs, inputs), inputs * targets[..., None]
