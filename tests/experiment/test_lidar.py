"""PointNet on an object set: splits that share no object, pairing by seed, and a whole small run."""

import dataclasses
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.data import from_clouds, load_objects, save_objects
from airbayes.errors import ConfigError, DataError
from airbayes.experiment.build import Builder, build_problem
from airbayes.experiment.config import (
    ChannelConfig,
    ExperimentConfig,
    LidarConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.dataset import to_summary
from airbayes.experiment.grid import run_grid
from airbayes.experiment.lidar_data import draw_split, source_objects, split_sizes
from airbayes.experiment.lidar_problem import LidarProblem
from airbayes.experiment.reporter import Silent
from airbayes.experiment.validate import check_config, find_problems
from airbayes.metrics import mutual_information
from airbayes.models import pointnet


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> str:
    """Three shapes, 12 instances each, 1 to 15 views: flat, tall and round."""
    rng = np.random.default_rng(0)
    clouds, label, instance = [], [], []
    for kind, size in enumerate(([2, 1, 0.3], [0.3, 0.3, 1.5], [1, 1, 1])):
        for index in range(12):
            for _ in range(rng.integers(1, 16)):
                clouds.append(rng.normal(size=(rng.integers(10, 60), 3)) * size)
                label.append(kind)
                instance.append(f"{kind}-{index}")
    objects = from_clouds(clouds, np.array(label), ("flat", "tall", "round"), instance=instance)
    path = tmp_path_factory.mktemp("set") / "objects.npz"
    save_objects(path, objects)
    return str(path)


def config_for(source: str, **lidar) -> ExperimentConfig:
    return ExperimentConfig(
        methods=("cd_dsgld", "q_dsgd"),
        policies=("common",),
        evaluations=2,
        saved_samples=2,
        problem=ProblemConfig(kind="pointnet"),
        lidar=LidarConfig(source=source, per_class=4, points=16, **lidar),
        network=NetworkConfig(topologies=("full",)),
        channel=ChannelConfig(snr_db=(20.0,)),
        sampling=SamplingConfig(eta=1e-3, steps=20, burn_in=10, thin=5, drift="tamed"),
    )


def test_as_many_seeds_as_folds_test_every_physical_object_once(source):
    config = config_for(source)
    tested = []
    for seed in range(5):
        split = draw_split(config, seed)
        groups = split.objects.groups
        train = {int(g) for part in split.train for g in groups[part.rows]}
        validation, test = set(groups[split.validation.rows].tolist()), set(groups[split.test.rows].tolist())
        assert not (train & validation) | (train & test) | (validation & test)
        assert np.bincount(groups[split.test.rows]).max() <= 10
        tested += sorted(test)
    assert sorted(tested) == list(range(36))
    again = {int(g) for g in draw_split(config, 5).objects.groups[draw_split(config, 5).test.rows]}
    first = {int(g) for g in draw_split(config, 0).objects.groups[draw_split(config, 0).test.rows]}
    assert again != first  # the next five seeds deal the objects out anew


def test_data_depends_on_the_seed_alone(source):
    one = draw_split(config_for(source), 3)
    other = draw_split(dataclasses.replace(config_for(source), methods=("dsgd",), seeds=4), 3)
    np.testing.assert_array_equal(one.test.inputs, other.test.inputs)
    np.testing.assert_array_equal(one.train[2].inputs, other.train[2].inputs)
    assert not np.array_equal(one.train[0].inputs[:1], draw_split(config_for(source), 4).train[0].inputs[:1])


def test_classes_are_chosen_and_ordered_by_the_user(source):
    config = config_for(source, classes=("round", "flat"))
    problem = build_problem(config)
    assert problem.attributes()["class_names"] == "round\nflat"
    split = draw_split(config, 0)
    heights = [split.test.inputs[split.test.labels == index][..., 2].std() for index in (0, 1)]
    assert heights[0] > 2 * heights[1]
    assert problem.model.num_params == 40_855 - 4 * 33  # two outputs instead of six


@pytest.fixture(scope="module")
def whole_run(source):
    """Every kept sample is stored, so that predictions can be computed again."""
    builder = Builder(config_for(source))
    return builder, run_grid(builder.config, Silent(), builder)


def test_a_whole_run_stores_scores_samples_and_what_repeats(whole_run):
    builder, results = whole_run
    for result in results:
        assert result.status == "ok"
        assert result.metrics is not None
        assert result.metrics.samples is not None
        assert {"accuracy", "balanced_accuracy", "ece", "nll", "entropy"} <= set(result.metrics.scalars)
        assert result.metrics.samples.shape[1:] == (1, builder.problem.model.num_params)
    digital = to_summary(builder.config, results)["cells"][1]
    assert {"polyak_ece", "tempered_ece", "early_ece", "temperature"} <= set(digital)
    assert "flat: 20 examples from" in str(builder.problem.attributes()["repeated_examples"])


def test_stored_predictions_are_those_of_the_kept_samples_of_the_first_agent(whole_run):
    builder, results = whole_run
    drawn = builder.problem.class_data(0)
    for result in results:
        metrics, found = result.metrics, result.metrics.predictions
        theta = jnp.asarray(metrics.samples[:, 0])  # [sample, param]; of the optimiser the last iterate
        parts = ((found.test, drawn.test), (found.validation, drawn.validation))
        inputs = jnp.concatenate([labelled.inputs for _, labelled in parts])
        both = jnp.exp(jax.vmap(pointnet(3, "plain").log_probs, (0, None))(theta, inputs))
        halves = jnp.split(both, [len(found.test)], axis=1)
        for (part, labelled), samples in zip(parts, halves, strict=True):
            np.testing.assert_allclose(part.probabilities, samples.mean(axis=0), atol=1e-5)
            np.testing.assert_allclose(part.mutual_information, mutual_information(samples), atol=1e-5)
            np.testing.assert_array_equal(part.labels, labelled.labels)
            assert (part.mutual_information.max() > 0) == (result.cell.method == "cd_dsgld")
        counts = np.zeros((3, 3))
        np.add.at(counts, (found.test.labels, found.test.predicted), 1)
        np.testing.assert_array_equal(counts, metrics.arrays["confusion"][1][0])


def test_a_stored_index_finds_the_object_again(source, whole_run):
    """Also where only some of the source's classes are learned."""
    _, results = whole_run
    chosen = config_for(source, classes=("round", "flat"))
    of_some = LidarProblem(chosen).class_data(0)
    found = results[0].metrics.predictions
    assert of_some.test_origin is not None
    whole, rows = source_objects(chosen, 0), of_some.test_origin.index
    assert [whole.class_names[i] for i in whole.label[rows]] == [("round", "flat")[i] for i in of_some.test.labels]
    np.testing.assert_array_equal(whole.label[found.validation.index], found.validation.labels)
    for config, inputs, indices in (
        (chosen, of_some.test.inputs, rows),
        (config_for(source), draw_split(config_for(source), 0).test.inputs, found.test.index),
    ):
        for cloud, row in zip(inputs, indices, strict=True):
            points = whole.cloud(int(row))
            steps = np.linalg.norm(np.diff(np.asarray(cloud) * config.lidar.scale_m, axis=0), axis=1)
            among = np.linalg.norm(points[:, None] - points[None], axis=2).reshape(-1)
            assert np.abs(steps[:, None] - among).min(axis=1).max() < 1e-4  # from one of its points to another
    groups = whole.groups
    same = found.test.group[:, None] == found.test.group
    np.testing.assert_array_equal(same, groups[found.test.index][:, None] == groups[found.test.index])
    assert not set(found.test.group.tolist()) & set(found.validation.group.tolist())


@pytest.mark.long
def test_folds_of_different_size_run_together_and_padding_counts_for_nothing(source):
    config = dataclasses.replace(config_for(source), methods=("cd_dsgld",), seeds=2, saved_samples=0)
    sizes = [len(draw_split(config, seed).test.rows) for seed in (0, 1)]
    assert sizes[0] != sizes[1]
    both = run_grid(config, Silent())
    (alone,) = run_grid(dataclasses.replace(config, seeds=1), Silent())
    padded, bare = (to_summary(config, [each])["cells"][0] for each in (both[0], alone))
    for name in set(bare) - {"method", "topology", "policy", "status", "rhat", "ess"}:
        assert padded[name] == pytest.approx(bare[name], abs=1e-4), name
    for seed, result in enumerate(both):
        assert result.metrics is not None
        np.testing.assert_allclose(result.metrics.arrays["bin_count"][1].sum(axis=1), sizes[seed])
        np.testing.assert_allclose(result.metrics.arrays["confusion"][1].sum(axis=(1, 2)), sizes[seed])


def test_the_prior_of_a_layer_follows_its_fan_in(source):
    config = config_for(source)
    config = dataclasses.replace(
        config, problem=ProblemConfig(kind="pointnet", prior_scaling="fan-in", prior_scale=2.0)
    )
    scale = np.asarray(build_problem(config).prior_scale())
    assert scale[:24].tolist() == pytest.approx([2 / 3**0.5] * 24)  # the first kernel is 3 → 8
    assert scale[-1] == pytest.approx(2 / 32**0.5)


def test_impossible_lidar_settings_are_named_before_anything_runs(source, tmp_path):
    for lidar, message in (
        ({"classes": ("flat", "tram")}, "'tram'"),
        ({"classes": ("flat",)}, "at least two"),
        ({"per_class_of": "network"}, "do not divide"),
        ({"augment_yaw": 400.0}, "lidar.augment_yaw = 400"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_config(config_for(source, **lidar))
    with pytest.raises(ConfigError, match=r"nowhere\.npz"):
        check_config(config_for(str(tmp_path / "nowhere.npz")))
    wrong = dataclasses.replace(config_for(source), problem=ProblemConfig(kind="mlp", prior_scaling="fan-in"))
    assert find_problems(wrong) == ["problem.prior_scaling = 'fan-in' needs problem.kind = 'pointnet'; use 'unit'."]


def test_tuning_on_validation_objects_never_sees_the_test_set(source):
    config = config_for(source, evaluate_on="validation")
    problem, split = LidarProblem(config), draw_split(config, 0)
    observer = problem.observer(0, False)
    np.testing.assert_array_equal(observer.test.inputs, split.validation.inputs)
    assert observer.validation is None  # so nothing is stopped or tempered on what is scored
    assert problem.attributes()["evaluated_on"] == "validation"
    assert LidarProblem(config_for(source)).observer(0, False).validation is not None


def test_results_name_the_very_file_they_come_from(source, tmp_path):
    copy = tmp_path / "objects.npz"
    copy.write_bytes(Path(source).read_bytes())
    named = build_problem(config_for(str(copy))).attributes()["source_sha256"]
    assert named == build_problem(config_for(source)).attributes()["source_sha256"]
    copy.write_bytes(copy.read_bytes() + b" ")
    assert build_problem(config_for(str(copy))).attributes()["source_sha256"] != named


@pytest.mark.parametrize("prior", [{}, {"prior_scale": 0.3}, {"prior_scaling": "fan-in"}])
def test_the_expected_rms_is_that_of_the_prior_alone(source, prior):
    """The network average under prior and noise only: v' = (1 − η/(N s²))² v + 2η/N, step by step."""
    config = config_for(source)
    sampling = SamplingConfig(eta=1e-3, steps=3000, burn_in=0)
    config = dataclasses.replace(config, problem=ProblemConfig(kind="pointnet", **prior), sampling=sampling)
    problem = build_problem(config)
    scale = np.broadcast_to(np.asarray(problem.prior_scale(), np.float64), problem.model.num_params)
    variance = np.asarray(problem.start(0, 1, 1), np.float64)[0, 0] ** 2
    for _ in range(sampling.steps):
        variance = (1 - sampling.eta / (5 * scale**2)) ** 2 * variance + 2 * sampling.eta / 5
    assert problem.typical_rms(0)[0] == pytest.approx(np.sqrt(variance.mean()), rel=0.01)


@pytest.mark.parametrize("rule", ["iid", "dirichlet", "by-class"])
@pytest.mark.parametrize("where", ["set", "simulated"])
def test_sizes_are_known_before_anything_is_drawn(rule, where, source, monkeypatch):
    """What memory is predicted from: the same shapes and types as the data, and no object simulated."""
    few = {"test_per_class": 2, "validation_per_class": 1, "classes": ("bus", "car", "cyclist"), "partition": rule}
    lidar = {"partition": rule} if where == "set" else few
    config = dataclasses.replace(config_for(source if where == "set" else "simulated", **lidar), seeds=3, first_seed=1)

    def shapes(drawn):
        return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), (drawn.train, drawn.test, drawn.validation))

    problem = LidarProblem(config)
    drawn = shapes(problem.class_data(2))
    for seed in (1, 2, 3):
        split, sizes = draw_split(config, seed), split_sizes(config, seed)
        assert sizes.train == max(len(part.rows) for part in split.train)
        assert (sizes.validation, sizes.test) == (len(split.validation.rows), len(split.test.rows))
    monkeypatch.setattr("airbayes.experiment.lidar_problem.draw_split", lambda *_: pytest.fail("drawn"))
    assert shapes(LidarProblem(config, only_shapes=True).class_data(2)) == drawn
    on_validation = dataclasses.replace(config, lidar=dataclasses.replace(config.lidar, evaluate_on="validation"))
    assert LidarProblem(on_validation, only_shapes=True).class_data(1).validation is None


def test_a_source_that_cannot_be_learned_from_says_what_to_do(source, tmp_path):
    objects = load_objects(Path(source))
    save_objects(tmp_path / "one.npz", objects.with_classes(("flat",)))
    save_objects(tmp_path / "mm.npz", dataclasses.replace(objects, points=objects.points * 1e4))
    (tmp_path / "places.csv").write_text("0,1\n")
    for path, says in (
        (tmp_path, "a folder, and an object set is an .npz file.*airbayes data convert"),
        (tmp_path / "places.csv", "no object set, which is an .npz file.*airbayes data convert DATA FILE.npz"),
        (tmp_path / "mm.npz", r"mm\.npz, object \d+: .* m across; .* at most 1000\. Is it in other units"),
        (tmp_path / "one.npz", r"lidar\.source = .*one\.npz' has 1 class, flat; learning needs at least two"),
    ):
        assert any(re.search(says, problem) for problem in find_problems(config_for(str(path)))), says
    chosen = find_problems(config_for(source, classes=("flat",)))
    assert any("lidar.classes leaves 1 class; learning needs at least two" in problem for problem in chosen)
    with pytest.raises(DataError, match=r"lidar\.folds = 40, but .* has 36 instances of the classes to learn"):
        draw_split(config_for(source, folds=40), 0)
    few = np.flatnonzero((objects.label > 0) | (objects.groups == objects.groups[np.argmin(objects.label)]))
    save_objects(tmp_path / "rare.npz", objects.select(few))
    rare = dataclasses.replace(config_for(str(tmp_path / "rare.npz")), seeds=LidarConfig().folds)
    left_out = [problem for problem in find_problems(rare) if "none is left to train on" in problem]
    assert len(left_out) == 1  # in one of the seeds its only instance is a test object
    assert "has 1 instance of class 'flat'" in left_out[0]
    assert "--lidar.classes" in left_out[0]


@pytest.mark.parametrize("wrong", [{"folds": 0}, {"partition": "dirichlet", "concentration": -1.0}])
def test_a_source_is_not_split_by_settings_out_of_range(source, wrong):
    """They ended in a ZeroDivisionError, and in errors of numpy."""
    (problem,) = find_problems(config_for(source, **wrong))
    assert "must be " in problem
    (problem,) = find_problems(dataclasses.replace(config_for(source), first_seed=-1))
    assert problem.startswith("first_seed = -1 must be")
