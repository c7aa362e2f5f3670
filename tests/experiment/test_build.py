"""Every setting reaches the sampler it is meant for."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.compress import largest_t
from airbayes.experiment.build import Builder, build_graph, top_t_of
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import (
    ChannelConfig,
    DigitalConfig,
    ExperimentConfig,
    MomentumConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.grid import evaluation_steps
from airbayes.experiment.linear_problem import LinearProblem, _pool_chains
from airbayes.experiment.validate import find_problems
from airbayes.metrics import RunningMoments
from airbayes.samplers.exact import dsghmc_law

BASE = ExperimentConfig(problem=ProblemConfig(features=3, examples=8))


def sampler(config: ExperimentConfig, method: str, snr_db: float | None = None, policy: str | None = None) -> Any:
    return Builder(config).sampler(Cell(method, policy, None if method == "sgld" else "ring", snr_db, 0))


def test_the_prior_is_counted_once_by_the_network_and_once_by_one_place():
    assert sampler(BASE, "sgld").gradient.potential.num_agents == 1
    assert sampler(BASE, "dsgld").gradient.potential.num_agents == 5
    scaled = dataclasses.replace(BASE, problem=dataclasses.replace(BASE.problem, prior_scale=0.3))
    assert float(sampler(scaled, "dsgld").gradient.potential.log_prior.scale) == pytest.approx(0.3)


def test_step_sizes():
    def eta(step: int, **settings) -> float:
        config = dataclasses.replace(BASE, sampling=SamplingConfig(eta=0.1, **settings))
        return float(sampler(config, "dsgld").step_size(jnp.int32(step)))

    assert eta(7) == pytest.approx(0.1)
    assert eta(300, schedule="polynomial", decay_offset=100.0, decay_power=0.5) == pytest.approx(0.05)
    assert eta(5, schedule="cosine", cycle=10) == pytest.approx(0.05)
    hmc = dataclasses.replace(BASE, momentum=MomentumConfig(eta=0.07, friction=3.0))
    assert float(sampler(hmc, "dsghmc").step_size(jnp.int32(0))) == pytest.approx(0.07)
    assert float(sampler(hmc, "dsghmc").friction) == 3.0


def test_channel_power_and_gain_error():
    config = dataclasses.replace(BASE, channel=ChannelConfig(power=4.0, gain_std=0.2))
    channel = sampler(config, "cd_dsgld", 10.0, "common").channel
    assert float(channel.power) == 4.0
    assert float(channel.noise_power) == pytest.approx(0.4)
    assert float(channel.gain_std) == pytest.approx(0.2)


def test_wrong_gains_are_never_called_exact():
    config = dataclasses.replace(BASE, channel=ChannelConfig(gain_std=0.1))
    for settings, expected in ((config, 0.0), (BASE, 1.0)):
        made = sampler(settings, "cd_dsgld", 80.0, "truncated")
        _, info = made.step(jax.random.key(0), made.init(jnp.ones((5, 3))), Builder(settings).problem.data(0))
        assert (info["rho"] == 1).all()
        assert info["unit_gain"].tolist() == [expected] * 5


def test_both_outages_act():
    config = dataclasses.replace(BASE, network=NetworkConfig(topologies=("ring",), link_outage=0.5, node_outage=0.5))
    outage = sampler(config, "dsgld").outage
    mixing = Builder(config).mixings["ring"]
    keys = jax.vmap(jax.random.key)(np.arange(2000))
    masks = np.asarray(jax.jit(jax.vmap(lambda key: outage(key, mixing)))(keys))
    # A link is up with ½ for itself and ½ for each end; false-alarm rate 1e-4 (4 standard errors).
    assert abs(masks.mean() - 0.125) < 4 * np.sqrt(0.125 * 0.875 / (2000 * 5))


def test_bit_budget_options():
    star = build_graph(BASE, "star")
    m, plain = 40_855, top_t_of(BASE, build_graph(BASE, "star"), 40_855, 10.0)
    assert plain.tolist() == [748] + [2467] * 4
    weakest = dataclasses.replace(BASE, digital=DigitalConfig(weakest_receiver=True))
    assert top_t_of(weakest, star, m, 10.0).tolist() == [2467] + [748] * 4
    counted = dataclasses.replace(BASE, digital=DigitalConfig(count_scale=True))
    assert 0 < (plain - top_t_of(counted, star, m, 10.0)).max() <= 4
    real = dataclasses.replace(BASE, digital=DigitalConfig(rate="real"))
    assert (top_t_of(real, star, m, 10.0) < plain).all()
    assert int(largest_t(m, 0.0)) == 0


def test_graph_seed_reaches_random_graphs_however_they_are_spelt():
    for name in ("erdos_renyi", "erdos-renyi"):
        seeded = [NetworkConfig(agents=12, graph_seed=seed) for seed in range(4)]
        graphs = [build_graph(dataclasses.replace(BASE, network=network), name) for network in seeded]
        assert len({str(graph.edges.tolist()) for graph in graphs}) > 1


def test_exact_laws_are_those_of_the_cell():
    config = dataclasses.replace(BASE, momentum=MomentumConfig(eta=0.07, friction=3.0))
    builder = Builder(config)
    law = builder.exact_law(Cell("dsghmc", None, "ring", None, 0))
    assert isinstance(builder.problem, LinearProblem)
    precision, linear = builder.problem.quadratics(0)
    ring = np.asarray(Builder(config).graphs["ring"].adjacency())
    weights = np.eye(5) - 0.4 * (np.diag(ring.sum(1)) - ring)
    assert law is not None
    np.testing.assert_allclose(law.transition, dsghmc_law(weights, precision, linear, 0.07, 3.0).transition, atol=1e-12)
    mean, cov = law.stationary
    far_mean, far_cov = law.at(3000, np.zeros(len(mean)))
    np.testing.assert_allclose(mean, far_mean, atol=1e-9)
    np.testing.assert_allclose(cov, far_cov, atol=1e-9)
    tamed = dataclasses.replace(config, sampling=SamplingConfig(drift="tamed"))
    assert Builder(tamed).exact_law(Cell("dsgld", None, "ring", None, 0)) is None
    assert builder.exact_law(Cell("dsgd", None, "ring", None, 0)) is None


def test_pooling_chains_keeps_the_spread_between_them():
    draws = np.random.default_rng(0).normal(size=(4, 50, 2, 3)) + 5 * np.arange(4)[:, None, None, None]

    def one_chain(rows):
        body = lambda tracker, row: (tracker.update(row), None)  # noqa: E731
        return jax.lax.scan(body, RunningMoments.empty((2, 3)), rows)[0]

    mean, cov = _pool_chains(jax.tree.map(np.asarray, jax.vmap(one_chain)(jnp.asarray(draws, jnp.float32))))
    pooled = draws.reshape(-1, 2, 3)
    np.testing.assert_allclose(mean, pooled.mean(axis=0), rtol=1e-5)
    for k in range(2):
        np.testing.assert_allclose(cov[k], np.cov(pooled[:, k].T), rtol=1e-4)


def test_step_zero_is_no_evaluation():
    config = dataclasses.replace(BASE, evaluations=30, sampling=SamplingConfig(steps=10, burn_in=0))
    assert evaluation_steps(config) == tuple(range(1, 11))


def test_memory_with_outages_and_equal_file_names_are_refused():
    config = dataclasses.replace(
        BASE,
        methods=("q_dsgd",),
        network=NetworkConfig(topologies=("a/net.csv", "b/net.csv"), link_outage=0.1),
    )
    found = "\n".join(find_problems(config))
    assert "assumes that every message arrives" in found
    assert "two edge lists net.csv" in found
