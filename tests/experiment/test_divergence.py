"""A cell that diverges is found at its step and agent, keeps its last good state, and leaves the others alone."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from airbayes.experiment import ready
from airbayes.experiment.build import Builder
from airbayes.experiment.config import ExperimentConfig, NetworkConfig, SamplingConfig
from airbayes.experiment.grid import run_batch, run_grid
from airbayes.experiment.reporter import Silent
from airbayes.experiment.store import read_dataset, read_summary, write_results
from airbayes.samplers import DSGLD

CONFIG = ExperimentConfig(
    methods=("dsgld",),
    seeds=2,
    evaluations=4,
    network=NetworkConfig(topologies=("full", "ring")),
    sampling=SamplingConfig(eta=1e-3, steps=40, burn_in=10, thin=5),
)


class BadAgent(eqx.Module):
    """∇f, but NaN for one agent of the cells that break."""

    gradient: Callable
    breaks: jnp.ndarray  # whether this cell does
    agent: int = eqx.field(static=True)

    def __call__(self, keys, theta, data):
        found = self.gradient(keys, theta, data)
        return found.at[self.agent].set(jnp.where(self.breaks, jnp.nan, found[self.agent]))


def test_the_other_cells_go_on_as_if_nothing_had_been(tmp_path):
    builder = Builder(CONFIG)
    cells = [result.cell for result in run_grid(CONFIG, Silent())]
    well = {result.cell: result for result in run_grid(CONFIG, Silent())}
    made = ready.prepare(builder, cells)
    broken = jnp.array([False, False, True, False])
    sampler = made.batch.sampler
    assert isinstance(sampler, DSGLD)
    worse = BadAgent(sampler.gradient, broken, agent=3)
    hurt = eqx.tree_at(lambda batch: batch.sampler.gradient, made.batch, worse)
    results = run_batch(builder, dataclasses.replace(made, batch=hurt), Silent())
    assert [result.status for result in results] == ["ok", "ok", "diverged", "ok"]
    found = results[2].diverged
    assert found is not None
    assert (found.step, found.agent) == (1, 3)
    assert np.isfinite(found.last_good).all()
    np.testing.assert_array_equal(found.last_good, builder.problem.start(cells[2].seed, 5, 1)[0])
    for result in (results[0], results[1], results[3]):
        same = well[result.cell].metrics
        assert result.metrics is not None
        assert same is not None
        for name, value in result.metrics.scalars.items():
            np.testing.assert_allclose(value, same.scalars[name], rtol=1e-4, atol=1e-6, err_msg=name)
    write_results(tmp_path, CONFIG, results)
    dataset = read_dataset(tmp_path).sel(topology=cells[2].topology, seed=cells[2].seed).squeeze()
    assert (int(dataset.status), int(dataset.diverged_step), int(dataset.diverged_agent)) == (2, 1, 3)
    assert [cell.get("diverged_agent") for cell in read_summary(tmp_path)["cells"]] == [None, None, 3, None]
    (stored,) = (tmp_path / "diverged").iterdir()
    np.testing.assert_array_equal(np.load(stored)["theta"], found.last_good)


def test_a_step_too_large_ends_at_the_same_step_however_the_run_is_cut():
    sampling = dataclasses.replace(CONFIG.sampling, eta=0.5, steps=60)
    config = dataclasses.replace(CONFIG, sampling=sampling)
    whole = run_grid(config, Silent())
    cut = run_grid(dataclasses.replace(config, evaluations=30), Silent())
    assert {result.status for result in whole} == {"diverged"}
    for one, other in zip(whole, cut, strict=True):
        assert one.diverged is not None
        assert other.diverged is not None
        assert 1 < one.diverged.step < 60
        assert (one.diverged.step, one.diverged.agent) == (other.diverged.step, other.diverged.agent)
        np.testing.assert_array_equal(one.diverged.last_good, other.diverged.last_good)
        assert np.abs(one.diverged.last_good).max() < np.inf
