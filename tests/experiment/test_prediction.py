"""Predictions from a trained run: they are the run's own predictive mean, and they repeat."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from experiment.trained_run import SHAPES, make_objects, write_trained

from airbayes.data import save_objects
from airbayes.errors import DataError, ResultsError
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import (
    ChannelConfig,
    ExperimentConfig,
    LidarConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.grid import run_grid
from airbayes.experiment.lidar_data import draw_split
from airbayes.experiment.prediction import Predictions, draw_inputs, predict_clouds, predict_inputs, tally
from airbayes.experiment.reporter import Silent
from airbayes.experiment.sample_files import MANIFEST, read_manifest, read_samples
from airbayes.experiment.store import CONFIG, read_dataset, write_results
from airbayes.experiment.toml_io import load_config
from airbayes.experiment.trained import Wanted, choose, open_trained
from airbayes.models import pointnet


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A real run of 30 steps that stores every sample it kept, of two agents, at two SNRs."""
    folder = tmp_path_factory.mktemp("run")
    source = folder / "objects.npz"
    save_objects(source, make_objects(25))
    config = ExperimentConfig(
        methods=("cd_dsgld",),
        policies=("common",),
        evaluations=2,
        saved_samples=4,
        saved_agents=2,
        problem=ProblemConfig(kind="pointnet"),
        lidar=LidarConfig(source=str(source), per_class=8, points=16),
        network=NetworkConfig(agents=3, topologies=("full",)),
        channel=ChannelConfig(snr_db=(0.0, 30.0)),
        sampling=SamplingConfig(eta=2e-3, steps=30, burn_in=10, thin=5, drift="tamed"),
    )
    builder = Builder(config)
    results = run_grid(config, Silent(), builder)
    write_results(folder, config, results, builder.problem.attributes())
    return folder


def test_on_its_own_test_objects_it_has_the_scores_of_the_run(run):
    trained = open_trained(run, Wanted(agent=1))
    assert (trained.stored.snr_db, trained.class_names, len(trained.theta)) == (30.0, tuple(SHAPES), 4)
    test = draw_split(load_config(run / CONFIG), 0).test
    found = predict_inputs(trained, test.inputs[None])
    stored = read_dataset(run).isel(method=0, topology=0, seed=0, agent=1).sel(snr_db=30.0)
    nll = -np.log(found.probabilities[np.arange(len(test.labels)), test.labels]).mean()
    assert nll == pytest.approx(float(stored.nll_per_agent), abs=2e-5)
    assert found.entropy.mean() == pytest.approx(float(stored.entropy_per_agent), abs=2e-5)
    assert found.mutual_information.mean() == pytest.approx(float(stored.mutual_information_per_agent), abs=2e-5)
    assert (found.predicted == test.labels).mean() == pytest.approx(float(stored.accuracy_per_agent), abs=1e-6)
    other = predict_inputs(open_trained(run, Wanted(agent=0)), test.inputs[None])
    assert np.abs(other.probabilities - found.probabilities).max() > 1e-4


def test_it_is_the_mean_over_samples_and_draws_of_the_plain_network(run):
    trained = open_trained(run)
    clouds = clouds_of(300)  # more than a block
    found = predict_clouds(trained, clouds, draws=2)
    _, cells = read_manifest(run)
    theta = read_samples(run, next(cell for cell in cells if cell.snr_db == 30.0))[:, 0]
    inputs = draw_inputs(trained, clouds, 2)
    plain = pointnet(3, "plain")
    log_probs = jax.jit(lambda one, draw: plain.log_probs(one, draw))
    each = np.exp([[np.asarray(log_probs(one, draw), np.float64) for draw in inputs] for one in theta]).mean(axis=1)
    mean = each.mean(axis=0)
    entropy = -(mean * np.log(mean)).sum(axis=1)
    within = -(each * np.log(each)).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(found.probabilities, mean, atol=2e-6)
    np.testing.assert_allclose(found.entropy, entropy, atol=5e-6)
    np.testing.assert_allclose(found.mutual_information, entropy - within, atol=5e-6)
    assert entropy.std() > 1e-4  # objects differ, or this would say little


def clouds_of(count: int) -> list[np.ndarray]:
    objects = make_objects(-(-count // 3), seed=5)
    return [objects.cloud(row) for row in range(count)]


def test_inputs_are_those_of_training_and_an_objects_own(run):
    trained, clouds = open_trained(run), clouds_of(6)
    (inputs,) = draw_inputs(trained, clouds, 1)
    for cloud, drawn in zip(clouds, inputs, strict=True):
        centred = (cloud - cloud.mean(axis=0)) / trained.scale_m
        distance = np.abs(drawn[:, None] - centred[None]).max(axis=2).min(axis=1)
        assert distance.max() < 1e-6  # every input point is one of the object's, about its centroid
    (turned,) = draw_inputs(trained, clouds[::-1], 1)
    np.testing.assert_array_equal(turned[::-1], inputs)
    first, second = draw_inputs(trained, clouds[3:4], 2)
    np.testing.assert_array_equal(first[0], inputs[3])
    assert not np.array_equal(first, second)


def test_predictions_repeat_whatever_else_is_asked(run):
    trained, clouds = open_trained(run), clouds_of(250)
    whole = predict_clouds(trained, clouds)
    for part in (slice(0, 250), slice(245, 250), slice(7, 8)):
        again = predict_clouds(trained, clouds[part])
        np.testing.assert_allclose(again.probabilities, whole.probabilities[part], atol=1e-6)
    for draws, asked in ((0, clouds), (1, [])):
        with pytest.raises(DataError):
            predict_clouds(trained, asked, draws)


def test_abstaining_and_counting():
    probabilities = np.array([[0.9, 0.1], [0.3, 0.7], [0.55, 0.45], [0.2, 0.8]], np.float32)
    found = Predictions(probabilities, np.zeros(4, np.float32), np.zeros(4, np.float32))
    labels = np.array([0, 0, 0, -1])
    assert dataclasses.astuple(tally(found, labels)) == (4, 4, 3, 2, 3, 2)
    assert dataclasses.astuple(tally(found, labels, 0.6)) == (4, 3, 3, 2, 2, 1)
    assert dataclasses.astuple(tally(found, labels, 1.0)) == (4, 0, 3, 2, 0, 0)


CELLS = [
    Cell("dsgld", None, "full", None, 0),
    Cell("q_dsgd", None, "full", 30.0, 0),
    Cell("cd_dsgld", "optimal", "full", 30.0, 0),
    Cell("cd_dsgld", "common", "ring", 30.0, 0),
    Cell("cd_dsgld", "common", "full", 0.0, 0),
    Cell("cd_dsgld", "common", "full", 30.0, 4),
    Cell("cd_dsgld", "common", "full", 30.0, 3),
    Cell("sgld", None, None, None, 0),
    Cell("dsgd", None, "graphs/roads.csv", None, 0),
]


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return write_trained(tmp_path_factory.mktemp("many") / "run", CELLS)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(), 6),
        (Wanted(seed=0), 3),  # highest SNR before the full graph
        (Wanted(snr_db=0.0), 4),
        (Wanted(method="cd_dsgld", topology="ring"), 3),
        (Wanted(method="cd_dsgld:optimal"), 2),
        (Wanted(method="dsgld"), 0),
        (Wanted(snr_db=float("inf"), topology="none"), 7),
        (Wanted(method="q_dsgd"), 1),
        (Wanted(topology="roads"), 8),
        (Wanted(topology="roads.csv", seed=0), 8),
    ],
)
def test_which_model_is_used(many, wanted, expected):
    _, cells = read_manifest(many)
    assert choose(cells, wanted, many).cell == CELLS[expected]


def test_models_that_are_not_there_are_answered_with_those_that_are(many):
    with pytest.raises(ResultsError, match=r"method dsghmc, snr_db 10\.0") as error:
        open_trained(many, Wanted(method="dsghmc", snr_db=10.0))
    assert all(str(cell) in str(error.value) for cell in CELLS)
    with pytest.raises(ResultsError, match="samples of 2 agents"):
        open_trained(many, Wanted(agent=2))
    with pytest.raises(ResultsError, match="all its cells diverged"):
        choose([], Wanted(), many)


def test_folders_that_cannot_predict_say_why(tmp_path):
    with pytest.raises(ResultsError, match=r"it is empty"):
        open_trained(tmp_path)
    folder = write_trained(tmp_path / "run", CELLS[:1])
    (config, manifest) = (folder / "config.toml", folder / "samples" / MANIFEST)
    text = config.read_text()
    for change, message in (
        (('"pointnet"', '"mlp"'), r"problem\.kind = 'mlp'"),
        (("points = 16", "points = 0"), r"lidar\.points = 0"),
        (("scale_m = 3.0", "scale_m = nan"), r"lidar\.scale_m = nan"),
    ):
        config.write_text(text.replace(*change))
        with pytest.raises(ResultsError, match=message):
            open_trained(folder)
    config.write_text(text)

    content = json.loads(manifest.read_text())
    for attributes in ({}, {"num_classes": 3, "class_names": "a\nb"}, {"num_classes": 3, "class_names": "a\nb\nb"}):
        manifest.write_text(json.dumps(content | {"attributes": attributes}))
        with pytest.raises(ResultsError, match="does not name its classes"):
            open_trained(folder)
    manifest.write_text(json.dumps(content | {"attributes": {"num_classes": 2, "class_names": "a\nb"}}))
    with pytest.raises(ResultsError, match=r"the model needs float32 \[sample, agent, 40723\]"):
        open_trained(folder)
    manifest.write_text(json.dumps(content))
    assert len(open_trained(folder).theta) == 4

    samples = folder / "samples" / content["cells"][0]["file"]
    raw = bytearray(samples.read_bytes())
    raw[len(raw) // 2] ^= 1
    samples.write_bytes(raw)
    with pytest.raises(ResultsError, match="sha256 differs"):
        open_trained(folder)
    samples.unlink()
    with pytest.raises(ResultsError, match="Cannot read"):
        open_trained(folder)
    manifest.unlink()
    with pytest.raises(ResultsError, match="--saved-samples"):
        open_trained(folder)
