"""What a method predicts with: samplers with the mean over samples, optimisers with their last iterate."""

import dataclasses
import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.errors import ResultsError
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import Cell
from airbayes.experiment.class_problem import _early_stopped
from airbayes.experiment.config import (
    ChannelConfig,
    ExperimentConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.grid import run_grid
from airbayes.experiment.predictive_observer import BLOCK, predict
from airbayes.experiment.reporter import Silent
from airbayes.experiment.sample_files import read_manifest, read_samples, write_samples
from airbayes.metrics import accuracy, ece, nll
from airbayes.models import SoftmaxRegression

CONFIG = ExperimentConfig(
    methods=("dsgld", "dsgd", "local_sgld", "local_sgd", "sgld"),
    evaluations=4,
    saved_samples=3,
    saved_agents=2,
    problem=ProblemConfig(kind="softmax", features=4, classes=3, examples=12, test_examples=100),
    network=NetworkConfig(topologies=("ring",)),
    channel=ChannelConfig(snr_db=(20.0,)),
    sampling=SamplingConfig(eta=5e-3, steps=120, burn_in=20, thin=10, chains=2),
)


@pytest.fixture(scope="module")
def builder():
    return Builder(CONFIG)


@pytest.fixture(scope="module")
def results(builder):
    return {result.cell.variant: result for result in run_grid(CONFIG, Silent(), builder)}


def test_headline_scores_follow_the_kind_of_method(results):
    for name, result in results.items():
        scalars, sampler = result.metrics.scalars, name.endswith("sgld")
        for score in ("accuracy", "ece", "nll", "brier"):
            chosen, other = ("mean_", "sample_") if sampler else ("sample_", "mean_")
            assert scalars[score] == pytest.approx(scalars[chosen + score], abs=1e-6), (name, score)
            assert scalars["nll"] != pytest.approx(scalars[other + "nll"], abs=1e-6)
        assert ("polyak_nll" in scalars) == (not sampler)
        assert (scalars["mutual_information"] > 0) == sampler


def test_samples_are_stored_of_the_agents_asked_for(results, builder):
    for name, result in results.items():
        agents = 1 if name == "sgld" else 2
        shape = ((3 if name.endswith("sgld") else 1), agents, builder.problem.model.num_params)
        assert result.metrics.samples.shape == shape
    assert not np.array_equal(results["dsgld"].metrics.samples[0], results["dsgld"].metrics.samples[1])


def test_agents_alone_learn_from_their_own_data_only(results, builder):
    assert results["local_sgd"].metrics.scalars["disagreement"] > 5 * results["dsgd"].metrics.scalars["disagreement"]
    sampler = builder.sampler(Cell("local_sgd", None, None, None, 0))
    data = builder.data(Cell("local_sgd", None, None, None, 0))
    theta = builder.problem.start(0, 5, 1)[0]
    step = lambda local: sampler.step(jax.random.key(0), sampler.init(theta), local)[0].theta  # noqa: E731
    changed = dataclasses.replace(data, inputs=data.inputs.at[2].multiply(-1.0))
    moved = np.abs(np.asarray(step(data) - step(changed))).max(axis=1)
    assert moved[2] > 0
    assert (moved[[0, 1, 3, 4]] == 0).all()


def test_the_ensemble_averages_the_chains(results):
    scalars = results["local_sgd"].metrics.scalars
    assert scalars["ensemble_nll"] < scalars["nll"]  # Jensen: the mean prediction beats the mean NLL


def test_early_stopping_takes_each_agents_own_best_step():
    steps = {f"sample_{name}": np.arange(6.0).reshape(3, 2) for name in ("accuracy", "ece", "mce", "nll", "brier")}
    steps["sample_balanced_accuracy"] = steps["sample_nll"]
    history = steps | {"validation_nll": np.array([[3.0, 1.0], [np.nan, 2.0], [0.5, np.inf]])}
    assert _early_stopped(history)["early_accuracy"].tolist() == [4.0, 1.0]
    assert _early_stopped(steps) == {}
    blind = steps | {"validation_nll": np.full((3, 2), np.nan)}
    assert np.isnan(_early_stopped(blind)["early_accuracy"]).all()


def test_prediction_in_blocks_equals_prediction_at_once():
    model = SoftmaxRegression(3, 4)
    theta = jax.random.normal(jax.random.key(0), (2, model.num_params))
    inputs = jax.random.normal(jax.random.key(1), (2 * BLOCK + 7, 3))
    whole = jax.vmap(model.log_probs, (0, None))(theta, inputs)
    np.testing.assert_allclose(predict(model, theta, inputs), whole, atol=1e-6)


def test_predictive_scores_are_those_of_the_mean_softmax(builder):
    """A sampler's headline, computed again from every kept sample: all of them are stored here."""
    config = dataclasses.replace(
        CONFIG,
        methods=("dsgld",),
        saved_samples=10,
        saved_agents=5,
        sampling=dataclasses.replace(CONFIG.sampling, chains=1),
    )
    (result,) = run_grid(config, Silent())
    assert result.metrics is not None
    test = builder.problem.class_data(0).test
    theta = jnp.asarray(result.metrics.samples)
    mean = jnp.exp(jax.vmap(lambda each: predict(builder.problem.model, each, test.inputs))(theta)).mean(axis=0)
    for name, score in (("accuracy", accuracy), ("ece", ece), ("nll", nll)):
        again = [float(score(rows, test.labels)) for rows in mean]
        np.testing.assert_allclose(result.metrics.per_agent[name], again, atol=2e-5)
    last = jnp.exp(predict(builder.problem.model, theta[-1], test.inputs))
    own = [float(nll(rows, test.labels)) for rows in last]
    np.testing.assert_allclose(result.history["sample_nll"][-1], own, atol=2e-5)  # the last stored is the last iterate


def test_sample_files_survive_a_round_trip_and_notice_damage(tmp_path):
    cells = {
        Cell("cd_dsgld", "common", "full", 30.0, 0): np.random.default_rng(0).normal(size=(3, 1, 7)).astype("f4"),
        Cell("sgld", None, None, None, 1): np.zeros((2, 1, 7), np.float32),
    }
    write_samples(tmp_path, cells, {"num_classes": 3})
    attributes, stored = read_manifest(tmp_path)
    assert attributes == {"num_classes": 3}
    assert {row.cell for row in stored} == set(cells)
    for row in stored:
        np.testing.assert_array_equal(read_samples(tmp_path, row), cells[row.cell])
    path = tmp_path / "samples" / stored[0].file
    raw = bytearray(path.read_bytes())
    raw[-200] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ResultsError, match="sha256"):
        read_samples(tmp_path, stored[0])
    outside = dataclasses.replace(stored[0], file="../../secret.npz", sha256=hashlib.sha256(b"").hexdigest())
    with pytest.raises(ResultsError, match=str(tmp_path)):
        read_samples(tmp_path, outside)
    write_samples(tmp_path, {}, {})
    assert json.loads((tmp_path / "samples" / "manifest.json").read_text())["cells"] == []
    assert list((tmp_path / "samples").glob("*.npz")) == []
    with pytest.raises(ResultsError, match="--saved-samples"):
        read_manifest(tmp_path / "elsewhere")
