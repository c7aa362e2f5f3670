"""Faults against exact moments: one-way losses, bursts, churn, impulses, a jammer. 8,192 chains, the irregular graph.

Multiplicative or heavy-tailed noise: first and second moments with empirical standard errors, false-alarm rate 1e-4 a
p-value, fixed seeds. Each law is shown to be sharp by a neighbouring law or sampler that it rejects.
"""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from oracles import setting
from oracles.checks import assert_law, caught, moment_p_values
from oracles.setting import AGENTS, ETA, GRAPHS, PARAMS, STEPS

from airbayes.channel import AWGN, ImpulsiveNoise, Jammed
from airbayes.network import best_constant, mixing_matrix
from airbayes.power import Fixed
from airbayes.samplers import CDDSGLD, DSGLD, Bursts, Churn, Faults, LinkOutage
from airbayes.samplers.exact import (
    AffineLaw,
    dsgld_law,
    erasure_extra,
    one_way_extra,
    switched_moments,
    two_state_chains,
)

GRAPH = GRAPHS["irregular"]
W = best_constant(GRAPH)
START = setting.start().ravel().astype(float)
DOWN, LENGTH = 0.4, 8.0


def dsgld(**faults) -> DSGLD:
    return DSGLD(setting.gradient(), setting.mixing_of(GRAPH), ETA, **faults)


def samples(sampler, seed: int) -> np.ndarray:
    return setting.flat_theta(setting.run_chains(sampler, setting.data(), setting.start(), seed=seed))


@functools.cache
def bursty_samples() -> np.ndarray:
    return samples(dsgld(faults=Faults(bursts=Bursts(DOWN, LENGTH))), seed=21)


def losing(up: np.ndarray) -> AffineLaw:
    """DSGLD while only the edges `up` are there."""
    laplacian = np.zeros((AGENTS, AGENTS))
    for (i, j), there in zip(GRAPH.edges, up, strict=True):
        bracket = np.eye(AGENTS)[i] - np.eye(AGENTS)[j]
        laplacian += there * np.outer(bracket, bracket)
    return dsgld_law(np.eye(AGENTS) - W * laplacian, *setting.quadratics(), ETA)


def burst_moments(probability: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    chain, first, up = two_state_chains(GRAPH.num_edges, probability, length)
    return switched_moments([losing(mode) for mode in up], chain, first, STEPS, START)


def churn_moments(probability: float, length: float, frozen: bool = True) -> tuple[np.ndarray, np.ndarray]:
    chain, first, present = two_state_chains(AGENTS, probability, length)
    modes = []
    for mode in present:
        law = losing(mode[GRAPH.edges[:, 0]] * mode[GRAPH.edges[:, 1]])
        if frozen:
            there = np.repeat(mode, PARAMS).astype(bool)
            move = np.where(there[:, None], law.transition, np.eye(len(START)))
            law = AffineLaw(move, law.offset * there, law.noise * there[:, None])
        modes.append(law)
    return switched_moments(modes, chain, first, STEPS, START)


def test_bursts():
    assert_law(moment_p_values(bursty_samples(), *burst_moments(DOWN, LENGTH)))


def test_bursts_are_told_from_independent_losses_and_from_other_lengths():
    assert caught(moment_p_values(bursty_samples(), *burst_moments(DOWN, 1 / (1 - DOWN))))
    assert caught(moment_p_values(bursty_samples(), *burst_moments(DOWN, 0.6 * LENGTH)))
    assert caught(moment_p_values(bursty_samples(), *burst_moments(0.9 * DOWN, LENGTH)))


def test_the_switched_law_of_independent_losses_is_the_closed_form():
    """L = 1/(1 − p) has no memory: two derivations of one law."""
    extra = erasure_extra(GRAPH.edges, AGENTS, PARAMS, W, DOWN)
    law = dsgld_law(mixing_matrix(GRAPH, (1 - DOWN) * W), *setting.quadratics(), ETA, extra)
    for ours, closed in zip(burst_moments(DOWN, 1 / (1 - DOWN)), law.at(STEPS, START), strict=True):
        np.testing.assert_allclose(ours, closed, atol=1e-12)


def test_one_way_losses():
    quadratics = setting.quadratics()
    seen = samples(dsgld(outage=LinkOutage(DOWN, one_way=True)), seed=22)
    both = (GRAPH.edges, AGENTS, PARAMS, W, DOWN)
    law = dsgld_law(mixing_matrix(GRAPH, (1 - DOWN) * W), *quadratics, ETA, one_way_extra(*both))
    assert_law(moment_p_values(seen, *law.at(STEPS, START)))
    symmetric = dataclasses.replace(law, extra=erasure_extra(*both))
    assert caught(moment_p_values(seen, *symmetric.at(STEPS, START)))


def test_churn_with_frozen_agents():
    seen = samples(dsgld(faults=Faults(churn=Churn(DOWN, LENGTH))), seed=23)
    assert_law(moment_p_values(seen, *churn_moments(DOWN, LENGTH)))
    assert caught(moment_p_values(seen, *churn_moments(DOWN, LENGTH, frozen=False)))
    assert caught(moment_p_values(seen, *churn_moments(DOWN, 0.5 * LENGTH)))


def test_impulses_heat_the_chain():
    rate, ratio = 0.05, 20.0
    channel = ImpulsiveNoise(AWGN(10.0), rate, ratio)
    sampler = CDDSGLD(setting.gradient(), setting.mixing_of(GRAPH), channel, Fixed(jnp.ones(AGENTS)), ETA)
    seen = samples(sampler, seed=24)
    cold = dsgld_law(mixing_matrix(GRAPH, W), *setting.quadratics(), ETA)
    hot = dataclasses.replace(cold, noise=(1 + rate * ratio) * cold.noise)
    assert_law(moment_p_values(seen, *hot.at(STEPS, START)))
    assert caught(moment_p_values(seen, *cold.at(STEPS, START)))
    off = dataclasses.replace(cold, noise=(1 + 0.7 * rate * ratio) * cold.noise)
    assert caught(moment_p_values(seen, *off.at(STEPS, START)))


def test_a_jammer_heats_the_receivers_it_reaches():
    rate, ratio, jammed = 0.3, 20.0, 2
    channel = Jammed(AWGN(10.0), rate, ratio, jammed)
    sampler = CDDSGLD(setting.gradient(), setting.mixing_of(GRAPH), channel, Fixed(jnp.ones(AGENTS)), ETA)
    seen = samples(sampler, seed=25)
    cold = dsgld_law(mixing_matrix(GRAPH, W), *setting.quadratics(), ETA)

    def law(share: float, reached: int) -> tuple[np.ndarray, np.ndarray]:
        hotter = np.repeat(1 + share * ratio * (np.arange(AGENTS) < reached), PARAMS)
        return dataclasses.replace(cold, noise=np.diag(hotter) @ cold.noise).at(STEPS, START)

    assert_law(moment_p_values(seen, *law(rate, jammed)))
    assert caught(moment_p_values(seen, *law(0.8 * rate, jammed)))
    assert caught(moment_p_values(seen, *law(rate, jammed - 1)))
    assert caught(moment_p_values(seen, *law(rate * jammed / AGENTS, AGENTS)))
