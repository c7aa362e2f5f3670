"""A run's own object set, found again by its checksum wherever it is."""

import dataclasses
from pathlib import Path

import pytest
from experiment.trained_run import make_objects

from airbayes.data import save_objects
from airbayes.errors import ResultsError
from airbayes.experiment.config import ExperimentConfig, LidarConfig, ProblemConfig
from airbayes.experiment.lidar_data import simulator_hash
from airbayes.experiment.run_source import RunSource, checksum, place_of
from airbayes.experiment.sample_files import read_manifest
from airbayes.experiment.store import write_results


def config_of(source: str) -> ExperimentConfig:
    return ExperimentConfig(problem=ProblemConfig(kind="pointnet"), lidar=LidarConfig(source=source))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """project/mine.npz, a run in project/runs/one, and another mine.npz in project/other, where we are."""
    project = tmp_path / "project"
    (project / "runs" / "one").mkdir(parents=True)
    (project / "other").mkdir()
    save_objects(project / "mine.npz", make_objects(3))
    save_objects(project / "other" / "mine.npz", make_objects(3, seed=1))
    monkeypatch.chdir(project / "other")
    return project


def source_of(project: Path, **facts) -> RunSource:
    known = {"source_sha256": checksum(project / "mine.npz")} | facts
    return RunSource(project / "runs" / "one", config_of("mine.npz"), known)


def test_a_project_that_was_moved_is_searched_upwards(project):
    source = source_of(project, source_path="/was/here/mine.npz")
    assert source.find() == project / "mine.npz"
    assert len(source.objects(0)) == 9


def test_a_run_that_was_moved_finds_what_stayed(project, tmp_path):
    source = source_of(project, source_path=str(project / "mine.npz"))
    moved = dataclasses.replace(source, folder=tmp_path / "runs" / "one")
    assert moved.find() == project / "mine.npz"
    unknown = RunSource(moved.folder, moved.config, {})  # a run from before checksums were stored: as it was named
    assert unknown.find() == Path("mine.npz")


def test_what_is_named_is_taken_or_refused(project):
    source = source_of(project)
    for named, says in ((Path("mine.npz"), "mine.npz has sha256"), (Path("absent.npz"), "no file absent.npz")):
        with pytest.raises(ResultsError, match=says) as told:
            dataclasses.replace(source, named=named).find()
        assert str(source.sha256) in str(told.value)
        assert "--source FILE" in str(told.value)


def test_simulated_objects_are_known_by_their_hash(tmp_path):
    config = config_of("simulated")
    own = simulator_hash(config.lidar, config.network.agents, 0)
    with pytest.raises(ResultsError, match="simulates other objects"):
        RunSource(tmp_path, config, {"simulator_hash": "0" * 64}).objects(0)
    with pytest.raises(ResultsError, match="simulated objects, not a file"):
        RunSource(tmp_path, config, {"simulator_hash": own}, Path("mine.npz")).objects(0)


def test_the_place_is_stored_with_the_samples_and_not_with_the_results(project):
    """results.nc is the same whatever the machine calls its folders."""
    config, folder = config_of("mine.npz"), project / "runs" / "one"
    (folder / "samples").mkdir()
    write_results(folder, config, [], {"source_sha256": "0" * 64})
    attributes, _ = read_manifest(folder)
    assert attributes["source_path"] == str(project / "other" / "mine.npz")
    assert attributes["source_sha256"] == "0" * 64
    assert str(project).encode() not in (folder / "results.nc").read_bytes()
    assert place_of(config_of("simulated")) == {}
