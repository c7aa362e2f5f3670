"""Whole experiments, small ones: results, statuses, files."""

import dataclasses
import json

import numpy as np
import pytest
import xarray as xr

from airbayes.errors import ResultsError
from airbayes.experiment.config import (
    ChannelConfig,
    DigitalConfig,
    ExperimentConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.dataset import to_dataset, to_summary
from airbayes.experiment.grid import evaluation_steps, run_grid
from airbayes.experiment.reporter import Silent
from airbayes.experiment.store import prepare_folder, read_dataset, read_summary, write_results
from airbayes.experiment.toml_io import load_config

LINEAR = ExperimentConfig(
    name="small",
    methods=("sgld", "dsgld", "cd_dsgld"),
    policies=("optimal", "common"),
    evaluations=5,
    problem=ProblemConfig(features=2, examples=20),
    network=NetworkConfig(topologies=("full", "ring")),
    channel=ChannelConfig(snr_db=(0.0, 40.0)),
    sampling=SamplingConfig(eta=1e-3, steps=600, burn_in=200, thin=4, chains=64),
)


@pytest.fixture(scope="module")
def linear_results():
    return run_grid(LINEAR, Silent())


def by_cell(results, method, topology=None, snr_db=None, policy=None):
    (found,) = [
        r
        for r in results
        if (r.cell.method, r.cell.topology, r.cell.snr_db, r.cell.policy) == (method, topology, snr_db, policy)
    ]
    return found


def scalars_of(results, *cell):
    return by_cell(results, *cell).metrics.scalars


def test_sampled_moments_are_those_of_the_exact_law(linear_results):
    """Monte-Carlo error at 64 chains × 100 draws is a few per cent of the posterior's width."""
    for topology in ("full", "ring"):
        scalars = by_cell(linear_results, "dsgld", topology).metrics.scalars
        assert scalars["w2_agent_to_law"] < 0.15 * np.sqrt(2 / 100)
        assert scalars["w2_network_to_law"] < 0.15 * np.sqrt(2 / 100)
        assert scalars["rhat"] < 1.3
        assert 100 < scalars["ess"] < 6400
    assert by_cell(linear_results, "sgld").metrics.scalars["w2_agent_to_law"] < 0.15 * np.sqrt(2 / 100)


def test_channel_driven_sampling_is_exact_above_the_transition_and_broken_below(linear_results):
    for topology in ("full", "ring"):
        ideal = by_cell(linear_results, "dsgld", topology).metrics.scalars["w2_agent"]
        high = by_cell(linear_results, "cd_dsgld", topology, 40.0, "optimal").metrics.scalars
        low = by_cell(linear_results, "cd_dsgld", topology, 0.0, "optimal").metrics.scalars
        ours = by_cell(linear_results, "cd_dsgld", topology, 0.0, "common").metrics.scalars
        assert high["unit_gain_min"] == 1.0
        assert high["w2_agent"] < ideal + 0.03
        assert low["rho_min"] < 0.9  # not lower: θ shrinks until it nearly fits under the norm cap
        assert low["unit_gain_mean"] < 0.5
        assert low["w2_agent"] > 10 * ideal
        assert ours["w2_agent"] < 0.3 * low["w2_agent"]
        assert 0.99 < low["power_used_max"] <= 1.0


def test_diverged_cells_are_marked_and_the_others_go_on():
    """Step sizes beyond 2/curvature diverge; with the norm cap of a low SNR they need not."""
    wild = dataclasses.replace(
        LINEAR, methods=("dsgld",), sampling=dataclasses.replace(LINEAR.sampling, eta=1.0, steps=300, chains=2)
    )
    results = run_grid(wild, Silent())
    assert {r.status for r in results} == {"diverged"}
    assert all(r.diverged is not None and 1 <= r.diverged.step <= 300 and r.metrics is None for r in results)
    summary = to_summary(wild, results)
    assert all("w2_agent" not in cell and cell["diverged_step"] > 0 for cell in summary["cells"])
    dataset = to_dataset(wild, results)
    assert (dataset.status.sel(snr_db=np.inf) == 2).all()


def test_dataset_dims_and_summary_records(linear_results, tmp_path):
    write_results(tmp_path, LINEAR, linear_results)
    dataset = read_dataset(tmp_path)
    assert dict(dataset.w2_agent.sizes) == {"method": 4, "topology": 3, "snr_db": 3, "seed": 1}
    assert dataset.w2_per_agent.dims == ("method", "topology", "snr_db", "seed", "agent")
    assert dataset.rms_over_steps.dims[-2:] == ("step", "agent")
    assert dataset.step.values.tolist() == list(evaluation_steps(LINEAR)) == [120, 240, 360, 480, 600]
    picked = dataset.w2_agent.sel({"method": "cd_dsgld:common", "topology": "ring", "snr_db": 40.0, "seed": 0})
    cell = by_cell(linear_results, "cd_dsgld", "ring", 40.0, "common")
    assert float(picked) == pytest.approx(cell.metrics.scalars["w2_agent"])
    assert int(dataset.status.sel({"method": "sgld", "topology": "ring", "snr_db": 40.0, "seed": 0})) == 0

    summary = json.loads((tmp_path / "summary.json").read_text())
    assert read_summary(tmp_path) == summary
    assert len(summary["cells"]) == len(linear_results) == 1 + 2 + 2 * 2 * 2
    for record in summary["cells"]:
        assert {"method", "topology", "snr_db", "policy", "seed", "status", "w2_agent", "w2_network"} <= record.keys()
    assert [r["snr_db"] for r in summary["cells"] if r["method"] == "dsgld"] == [None, None]
    assert load_config(tmp_path / "config.toml") == LINEAR
    assert sorted(p.name for p in tmp_path.iterdir()) == ["SHA256SUMS", "config.toml", "results.nc", "summary.json"]


def test_folders_are_protected(linear_results, tmp_path):
    assert prepare_folder(tmp_path, LINEAR) is False
    write_results(tmp_path, LINEAR, linear_results)
    assert prepare_folder(tmp_path, LINEAR) is True
    (tmp_path / "summary.json").unlink()
    assert prepare_folder(tmp_path, LINEAR) is False  # begun but not complete
    other = dataclasses.replace(LINEAR, seeds=3)
    with pytest.raises(ResultsError, match=r"seeds: 1 → 3"):
        prepare_folder(tmp_path, other)
    assert prepare_folder(tmp_path, other, force=True) is False
    file = tmp_path / "a-file"
    file.write_text("")
    with pytest.raises(ResultsError, match="Cannot write"):
        prepare_folder(file / "below", LINEAR)


def test_a_failed_write_keeps_the_old_file(tmp_path):
    from airbayes.files import write_atomically, write_text

    write_text(tmp_path / "x.txt", "old")

    def full_disk(path):
        path.write_text("half of the n")
        raise OSError(28, "No space left on device")

    with pytest.raises(ResultsError, match="No space left"):
        write_atomically(tmp_path / "x.txt", full_disk)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("x.txt", "old")]


def test_classification_reports_scores_for_every_agent():
    config = ExperimentConfig(
        methods=("dsgd", "cd_dsgld", "q_dsgd"),
        policies=("truncated",),
        evaluations=3,
        problem=ProblemConfig(kind="softmax", features=5, classes=3, examples=15, test_examples=200, noise_std=0.5),
        network=NetworkConfig(topologies=("ring",)),
        channel=ChannelConfig(snr_db=(20.0,)),
        sampling=SamplingConfig(eta=5e-3, steps=300, burn_in=200, thin=10),
        digital=DigitalConfig(mode="memory"),
    )
    results = run_grid(config, Silent())
    dataset = to_dataset(config, results)
    assert isinstance(dataset, xr.Dataset)
    for result in results:
        assert result.status == "ok"
        assert result.metrics is not None
        scalars = result.metrics.scalars
        assert scalars["accuracy"] > 0.75
        assert 0 <= scalars["ece"] <= scalars["mce"] <= 1
        assert result.metrics.per_agent["accuracy"].shape == (5,)
        assert result.history["sample_accuracy"].shape == (3, 5)
        assert result.metrics.arrays["bin_count"][1].sum(axis=1).tolist() == [200.0] * 5
        assert scalars["mutual_information"] > -1e-6
    assert scalars_of(results, "q_dsgd", "ring", 20.0)["bits_max"] > 0


def test_perceptron_runs_with_independent_starts_and_minibatches():
    config = ExperimentConfig(
        methods=("dsgld",),
        evaluations=2,
        problem=ProblemConfig(
            kind="mlp", features=4, classes=2, examples=10, test_examples=50, width=6, prior="laplace"
        ),
        network=NetworkConfig(topologies=("star",), node_outage=0.1, link_outage=0.1),
        sampling=SamplingConfig(
            eta=1e-3, steps=40, burn_in=20, thin=5, start="independent", batch_size=4, drift="tamed", schedule="cosine"
        ),
    )
    (result,) = run_grid(config, Silent())
    assert result.status == "ok"
    assert result.history["disagreement"][0].min() > 0
