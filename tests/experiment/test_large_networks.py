"""Many agents: nothing is N × N, memory grows with N, and what cannot run is refused before anything is built."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from airbayes.channel import AWGN
from airbayes.errors import ConfigError
from airbayes.experiment import linear_problem
from airbayes.experiment.config import (
    ChannelConfig,
    ExperimentConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.dataset import to_dataset
from airbayes.experiment.grid import run_grid
from airbayes.experiment.linear_problem import LinearProblem
from airbayes.experiment.reporter import Silent
from airbayes.experiment.shown import shown_agents
from airbayes.experiment.validate import check_config
from airbayes.models import (
    FullGradient,
    GaussianPrior,
    LinearRegression,
    LocalData,
    Posterior,
    gaussian_posterior,
    quadratic_potentials,
)
from airbayes.network import build_mixing, by_name
from airbayes.power import policy_by_name
from airbayes.samplers import CDDSGLD

PARAMS = 20


def config(agents: int, *topologies: str, features: int = 4, **changes) -> ExperimentConfig:
    base = ExperimentConfig(
        methods=("dsgld", "cd_dsgld"),
        policies=("common", "truncated"),
        evaluations=2,
        problem=ProblemConfig(kind="linear", features=features, examples=2),
        network=NetworkConfig(agents=agents, topologies=topologies or ("ring",)),
        channel=ChannelConfig(snr_db=(30.0,)),
        sampling=SamplingConfig(eta=1e-5, steps=20, burn_in=4),
    )
    return dataclasses.replace(base, **changes)


def step_program(topology: str, policy: str, agents: int):
    """One step as a function of arrays only, with their shapes."""
    mixing = build_mixing(by_name(topology, agents), layout="table")
    potential = Posterior(LinearRegression(PARAMS).log_likelihood, GaussianPrior(1.0), agents)
    sampler = CDDSGLD(FullGradient(potential), mixing, AWGN(30.0), policy_by_name(policy), 1e-4)
    data = LocalData(jnp.zeros((agents, 1, PARAMS)), jnp.zeros((agents, 1)), jnp.ones((agents, 1)))
    arrays, rest = eqx.partition((sampler, data, sampler.init(jnp.zeros((agents, PARAMS)))), eqx.is_array)

    def step(arrays):
        sampler, data, state = eqx.combine(arrays, rest)
        return sampler.step(jax.random.key(0), state, data)

    return step, arrays


def largest_array(jaxpr) -> int:
    """Entries of the largest intermediate, those of inner programs included."""
    sizes = [0]
    for equation in jaxpr.eqns:
        sizes += [variable.aval.size for variable in equation.outvars]
        for inner in jaxprs_in_params(equation.params):
            sizes.append(largest_array(inner))
    return max(sizes)


@pytest.mark.parametrize("policy", ["common", "truncated"])
@pytest.mark.parametrize("topology", ["ring", "random_geometric"])
def test_a_step_has_no_array_beyond_agents_times_params_or_slots(topology, policy):
    agents = 30_000
    step, arrays = step_program(topology, policy, agents)
    slots = max(leaf.shape[1] for leaf in jax.tree.leaves(arrays) if leaf.ndim == 2)
    assert largest_array(jax.make_jaxpr(step)(arrays).jaxpr) <= agents * max(slots, PARAMS)


def test_the_check_above_sees_what_optimal_needs():
    step, arrays = step_program("ring", "optimal", 300)
    assert largest_array(jax.make_jaxpr(step)(arrays).jaxpr) >= 300 * 300


@pytest.mark.parametrize("topology", ["ring", "random_geometric"])
def test_workspace_grows_with_the_agents_and_no_faster(topology):
    def workspace(agents: int) -> int:
        step, arrays = step_program(topology, "common", agents)
        analysis = jax.jit(step).lower(arrays).compile().memory_analysis()
        assert analysis is not None
        return analysis.temp_size_in_bytes

    few, many = workspace(10_000), workspace(100_000)
    assert few > 10_000 * PARAMS * 4  # at least one θ, or nothing was measured
    assert many <= 10 * few * 1.3
    assert many <= 100_000 * PARAMS * 4 * 10  # a handful of copies of θ


@pytest.mark.long
def test_a_large_network_runs_from_its_configuration_and_stores_a_few_agents():
    study = config(12_000, "ring", "random_geometric")
    results = run_grid(study, Silent())
    assert {result.status for result in results} == {"ok"}
    stored = to_dataset(study, results)
    shown = shown_agents(study)
    assert stored.sizes["agent"] == len(shown) == 1000
    np.testing.assert_array_equal(stored.agent, shown)
    assert stored.nbytes < 3e6  # covariances of all agents alone would be 0.8 MB in each of 12 places
    assert int(np.isfinite(stored.w2_per_agent).sum()) == len(results) * 1000
    last = results[0].history["rms"][-1]
    assert len(last) == 12_000  # the mean in the summary is over all agents, not over the shown ones
    assert results[0].metrics is not None
    assert results[0].metrics.scalars["rms"] == pytest.approx(last.mean(), rel=1e-6)
    row = stored.rms_over_steps.sel({"topology": "ring", "method": "dsgld"}).isel(snr_db=-1, seed=0, step=-1)
    np.testing.assert_array_equal(row, last[shown])


def test_which_agents_are_shown():
    assert shown_agents(config(5)).tolist() == [0, 1, 2, 3, 4]
    assert len(shown_agents(config(10_000))) == 10_000
    many = shown_agents(config(1_000_000, features=100))
    assert (many[0], many[-1], len(many)) == (0, 999_999, 100)
    assert len(np.unique(many)) == len(many)
    assert len(shown_agents(config(5, features=5000))) == 5  # a few are always shown
    softmax = config(1_000_000, problem=ProblemConfig(kind="softmax", features=500))
    assert len(shown_agents(softmax)) == 1000


def test_blocks_change_neither_data_nor_posterior(monkeypatch):
    study = config(25, problem=ProblemConfig(kind="linear", features=3, examples=4, noise_std=0.7, prior_scale=2.0))
    whole = LinearProblem(study)
    monkeypatch.setattr(linear_problem, "BLOCK", 4)
    monkeypatch.setattr("airbayes.models.linear._BLOCK", 4)
    blocks = LinearProblem(study)
    np.testing.assert_array_equal(whole.data(2).inputs, blocks.data(2).inputs)
    np.testing.assert_allclose(whole.data(2).targets, blocks.data(2).targets, rtol=1e-6)
    mean, cov = gaussian_posterior(*quadratic_potentials(whole.data(2), 0.7, 2.0))
    for problem in (whole, blocks):
        np.testing.assert_allclose(problem.posterior(2)[0], mean, rtol=1e-6)
        np.testing.assert_allclose(problem.posterior(2)[1], cov, rtol=1e-6)


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (config(50_000, "star"), r"star: A table of 50,000 agents × 49,999 slots is too large .*leave it out"),
        (config(25_000, "ring", "star"), r"star: A table of 25,000"),
        (config(513, policies=("optimal",)), r"'optimal', which needs .* stops at 512 agents; .* = 513"),
        (config(300_000, "erdos_renyi"), r"erdos_renyi: The eigenvalues of 300,000 agents take too long.*max-degree"),
        (config(1_000_001), r"network.agents = 1000001 must be"),
    ],
)
def test_what_cannot_run_is_refused_by_the_check(study, message):
    with pytest.raises(ConfigError, match=message):
        check_config(study)


@pytest.mark.long
def test_what_the_check_lets_pass_can_be_built():
    study = config(3000, "ring", "star")
    check_config(study)
    run_grid(dataclasses.replace(study, methods=("dsgld",)), Silent())
