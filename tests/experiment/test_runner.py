"""A run from Python gives what the command line gives, in memory or in a folder."""

import copy
import dataclasses
import re

import numpy as np
import pytest
from unchecked import answers

from airbayes.cli.run import run_command
from airbayes.errors import ConfigError, ResultsError
from airbayes.experiment import ExperimentConfig, NetworkConfig, ProblemConfig, SamplingConfig, grid, load_config, run
from airbayes.experiment.store import read_dataset
from airbayes.experiment.toml_io import dump_config

CONFIG = ExperimentConfig(
    name="small",
    methods=("dsgld",),
    evaluations=2,
    problem=ProblemConfig(kind="linear", features=2, examples=5),
    network=NetworkConfig(agents=3, topologies=("ring",)),
    sampling=SamplingConfig(steps=20, burn_in=10),
)


def test_the_same_as_the_command_without_its_words(tmp_path, capfd):
    in_memory = run(CONFIG)
    in_folder = run(CONFIG, tmp_path / "python")
    assert capfd.readouterr() == ("", "")
    assert in_memory.equals(in_folder)
    assert in_memory.attrs.keys() == in_folder.attrs.keys()
    assert np.isfinite(in_memory.w2_agent).any()
    (tmp_path / "small.toml").write_text(dump_config(CONFIG), encoding="utf-8")
    assert run_command([str(tmp_path / "small.toml"), "--out", str(tmp_path / "command"), "--quiet"]) == 0
    by_command = read_dataset(tmp_path / "command")
    assert by_command.equals(in_folder)
    assert by_command.attrs.keys() == in_folder.attrs.keys()
    kept = {path.name for path in (tmp_path / "python").iterdir() if not path.name.startswith(".")}
    assert kept >= {"config.toml", "results.nc", "summary.json", "SHA256SUMS"}
    assert "progress" not in kept


def test_a_complete_folder_is_read_and_another_configuration_refused(tmp_path, monkeypatch):
    first = run(CONFIG, tmp_path)

    def ran_again(*args):
        raise AssertionError("it was complete")

    monkeypatch.setattr(grid, "run_variants", ran_again)
    assert run(CONFIG, str(tmp_path)).equals(first)
    with pytest.raises(ResultsError, match="seeds: 1 → 2"):
        run(dataclasses.replace(CONFIG, seeds=2), tmp_path)


def test_a_file_is_read_by_its_name(tmp_path):
    (tmp_path / "small.toml").write_text(dump_config(CONFIG), encoding="utf-8")
    assert load_config(str(tmp_path / "small.toml")) == load_config(tmp_path / "small.toml") == CONFIG


def test_what_is_no_configuration_is_named_with_its_fix():
    setup = "from pathlib import Path; from airbayes import network; from airbayes.experiment import *"
    wanted = r"run takes an ExperimentConfig, got .*preset\('gaussian'\) or load_config\('study.toml'\)"
    own_graph = "run(ExperimentConfig(network=NetworkConfig(topologies=(network.ring(3),))))"
    mistakes = {
        "run('gaussian')": wanted,
        "run(Path('study.toml'))": wanted,
        "run({'methods': ['dsgld']})": wanted,
        own_graph: r"(?s)topologies\[0\] = .* 'edges.csv', one edge a line",
    }
    for mistake, said in answers(setup, list(mistakes)).items():
        assert re.match("ConfigError: ", said), said
        assert re.search(mistakes[mistake], said), said


def test_what_was_interrupted_goes_on(tmp_path, monkeypatch):
    config = dataclasses.replace(CONFIG, methods=("dsgld", "sgld"))
    real, seen = grid.run_batch, []

    def stops_at_the_second(builder, ready, *rest):
        seen.append(ready.cells[0].method)
        if seen == ["dsgld", "sgld"]:
            raise KeyboardInterrupt
        return real(builder, ready, *rest)

    monkeypatch.setattr(grid, "run_batch", stops_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        run(config, tmp_path)
    assert run(config, tmp_path).equals(run(config))
    assert seen == ["dsgld", "sgld", "sgld", "dsgld", "sgld"]


def test_all_that_is_wrong_is_said_before_anything_is_written(tmp_path):
    wrong = dataclasses.replace(CONFIG, seeds=0, evaluations=0)
    with pytest.raises(ConfigError) as caught:
        run(wrong, tmp_path / "out")
    assert len(caught.value.problems) >= 2
    assert not (tmp_path / "out").exists()


def untyped(part, **values):
    """A part of a configuration as users get it, for whom no type is checked when it is made."""
    part = copy.copy(part)
    for name, value in values.items():
        object.__setattr__(part, name, value)
    return part


def test_choices_are_held_to_what_a_file_may_say():
    wrong = untyped(
        CONFIG,
        methods=("cd_dsdgl",),
        problem=untyped(CONFIG.problem, kind="liner"),
        network=untyped(CONFIG.network, topologies="ring"),
        sampling=untyped(CONFIG.sampling, drift="tame"),
    )
    with pytest.raises(ConfigError) as caught:
        run(wrong)
    methods, kind, topologies, drift = caught.value.problems
    assert "methods[0] = 'cd_dsdgl'" in methods
    assert "Did you mean cd_dsgld?" in methods
    assert "problem.kind = 'liner'" in kind
    assert "network.topologies = 'ring' must be a list" in topologies
    assert "sampling.drift = 'tame'" in drift


def test_lists_are_as_good_as_tuples(tmp_path):
    listed = untyped(CONFIG, methods=["dsgld"], network=untyped(CONFIG.network, topologies=["ring"]))
    assert run(listed, tmp_path).equals(run(listed, tmp_path))  # the same configuration, so it is read
