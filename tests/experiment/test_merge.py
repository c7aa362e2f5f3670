"""Runs split by seed and put together again are the run that was not split."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from experiment.made_folder import STUDY, write_made

from airbayes.errors import ResultsError
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ChannelConfig, NetworkConfig
from airbayes.experiment.journal import Journal
from airbayes.experiment.merge import check_same_experiment, merge_folders, read_part
from airbayes.experiment.sample_files import read_manifest, read_samples
from airbayes.experiment.store import read_dataset, read_summary, run_lock
from airbayes.experiment.strange_files import StrangeScores, read_strange, write_strange
from airbayes.experiment.toml_io import load_config


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def assert_same_folder(merged: Path, whole: Path) -> None:
    xr.testing.assert_identical(read_dataset(merged), read_dataset(whole))
    assert {name: v.dtype for name, v in read_dataset(merged).variables.items()} == {
        name: v.dtype for name, v in read_dataset(whole).variables.items()
    }
    assert (merged / "config.toml").read_text() == (whole / "config.toml").read_text()
    assert (merged / "summary.json").read_text() == (whole / "summary.json").read_text()
    assert files(merged) == files(whole)


@pytest.mark.parametrize("diverged", [(), (0, 1), (4,)])
def test_merged_is_the_whole(tmp_path, diverged):
    """Also when all cells of one part diverged, so that it has no metrics; in whatever order parts are named."""
    whole = write_made(tmp_path / "whole", 0, 5, diverged=diverged)
    parts = [
        write_made(tmp_path / "c", 4, 1, diverged=diverged),
        write_made(tmp_path / "a", 0, 2, diverged=diverged),
        write_made(tmp_path / "b", 2, 2, diverged=diverged),
    ]
    assert merge_folders(parts, tmp_path / "out") == [0, 1, 2, 3, 4]
    assert_same_folder(tmp_path / "out", whole)


def test_merged_again(tmp_path):
    whole = write_made(tmp_path / "whole", 0, 3)
    a, b, c = (write_made(tmp_path / name, seed, 1) for seed, name in enumerate("abc"))
    merge_folders([a, b], tmp_path / "ab")
    merge_folders([tmp_path / "ab", c], tmp_path / "abc")
    assert_same_folder(tmp_path / "abc", whole)


def test_samples_are_merged(tmp_path):
    config = dataclasses.replace(STUDY, saved_samples=4)
    whole = write_made(tmp_path / "whole", 0, 3, config)
    merge_folders(
        [write_made(tmp_path / "a", 0, 2, config), write_made(tmp_path / "b", 1, 2, config)], tmp_path / "out"
    )
    assert files(tmp_path / "out") == files(whole)
    attributes, rows = read_manifest(tmp_path / "out")
    assert attributes == read_manifest(whole)[0]
    assert attributes["simulator_hash"] == "hash0\nhash1\nhash2"
    expected = {row.cell: read_samples(whole, row) for row in read_manifest(whole)[1]}
    assert {row.cell for row in rows} == set(expected)
    for row in rows:
        np.testing.assert_array_equal(read_samples(tmp_path / "out", row), expected[row.cell])


def test_scores_of_strange_objects_are_merged(tmp_path):
    """Of the parts that were shown the same classes: scores against others are another measurement."""
    config = dataclasses.replace(STUDY, methods=("q_dsgd",), channel=ChannelConfig(snr_db=(30.0,)))
    parts = [write_made(tmp_path / f"part{seed}", seed, 1, config) for seed in range(3)]
    for seed, part in enumerate(parts):
        scores = StrangeScores(np.full((5, 4), 0.1 * seed), np.ones((5, 6)))
        classes = {"sign": 6} if seed < 2 else {"tram": 6}
        write_strange(part, classes, {Cell("q_dsgd", None, "full", 30.0, seed): scores})
    merge_folders(parts, tmp_path / "out")
    found = read_strange(tmp_path / "out")
    assert found is not None
    assert found.classes == {"sign": 6}
    known = {cell.seed: round(float(scores.known[0, 0]), 3) for cell, scores in found.cells.items()}
    assert known == {0: 0.0, 1: 0.1}


def test_seeds_in_both_parts_must_be_equal_to_the_bit(tmp_path, monkeypatch):
    whole = write_made(tmp_path / "whole", 0, 4)
    a, b = write_made(tmp_path / "a", 0, 3), write_made(tmp_path / "b", 1, 3)
    shared = []
    assert merge_folders([a, b], tmp_path / "out", shared=shared) == [0, 1, 2, 3]
    assert shared == [1, 2]
    assert_same_folder(tmp_path / "out", whole)
    other = write_made(tmp_path / "other", 2, 2, change=1e-6)
    with pytest.raises(ResultsError, match=r"Seed 2 is in more than one part, with different results \(accuracy"):
        merge_folders([a, other], tmp_path / "out2")
    assert not (tmp_path / "out2").exists()
    monkeypatch.setattr("airbayes.experiment.merge.MOST_NAMED", 1)
    diverged = write_made(tmp_path / "diverged", 2, 2, diverged=(2,))
    with pytest.raises(ResultsError, match=r"Seed 2 .* results \(status and \d+ more\)\."):
        merge_folders([a, diverged], tmp_path / "out2")


def test_other_experiments_are_refused_with_what_differs(tmp_path):
    a = write_made(tmp_path / "a", 0, 1)
    config = dataclasses.replace(STUDY, channel=ChannelConfig(snr_db=(0.0, 20.0), power=2.0))
    b = write_made(tmp_path / "b", 1, 1, config)
    with pytest.raises(ResultsError) as caught:
        merge_folders([a, b], tmp_path / "out")
    text = str(caught.value)
    assert "channel.snr_db: 0.0, 30.0 → 0.0, 20.0" in text
    assert "channel.power: 1.0 → 2.0" in text
    assert "seed:" not in text
    assert not (tmp_path / "out").exists()


def test_another_version_is_refused(tmp_path):
    a, b = write_made(tmp_path / "a", 0, 1), write_made(tmp_path / "b", 1, 1)
    dataset = read_dataset(b).assign_attrs(airbayes_version="9.9")
    (b / "SHA256SUMS").unlink()
    dataset.to_netcdf(b / "results.nc", engine="h5netcdf")
    with pytest.raises(ResultsError, match=r"airbayes_version: .* → 9.9"):
        merge_folders([a, b], tmp_path / "out")


def test_a_gap_is_kept_out_of_the_configuration(tmp_path):
    parts = [write_made(tmp_path / "a", 0, 2), write_made(tmp_path / "b", 5, 2)]
    assert merge_folders(parts, tmp_path / "out") == [0, 1, 5, 6]
    config = load_config(tmp_path / "out" / "config.toml")
    assert (config.first_seed, config.seeds) == (0, 2)
    assert {cell["seed"] for cell in read_summary(tmp_path / "out")["cells"]} == {0, 1, 5, 6}


def test_edge_lists_are_compared_and_copied(tmp_path):
    def study(name: str, first: int, edges: str) -> Path:
        place = tmp_path / f"edges-{name}"
        place.mkdir()
        (place / "roads.csv").write_text(edges)
        network = NetworkConfig(agents=3, topologies=("ring", str(place / "roads.csv")))
        return write_made(tmp_path / name, first, 1, dataclasses.replace(STUDY, network=network))

    a, b = study("a", 0, "0,1\n1,2\n"), study("b", 1, "0,1\n1,2\n")
    merge_folders([a, b], tmp_path / "out")
    assert (tmp_path / "out" / "graphs" / "roads.csv").read_text() == "0,1\n1,2\n"
    dataset = read_dataset(tmp_path / "out")
    assert dataset.topology.values.tolist() == ["ring", "graphs/roads.csv"]
    assert bool((dataset.status == 1).all())
    assert len(json.loads((tmp_path / "out" / "summary.json").read_text())["cells"]) == 2 * 2 * 2 * 2
    other = study("c", 2, "0,1\n0,2\n")
    with pytest.raises(ResultsError, match=r"the edges in roads.csv differ"):
        merge_folders([a, other], tmp_path / "out2")


def test_results_are_not_overwritten_unasked(tmp_path):
    a, b = write_made(tmp_path / "a", 0, 1), write_made(tmp_path / "b", 1, 1)
    with pytest.raises(ResultsError, match="is one of the parts"):
        merge_folders([a, b], a, force=True)
    with pytest.raises(ResultsError, match="two or more"):
        merge_folders([a], tmp_path / "out")
    merge_folders([a, b], tmp_path / "out")
    with pytest.raises(ResultsError, match="already holds this experiment"):
        merge_folders([a, b], tmp_path / "out")
    merge_folders([a, b], tmp_path / "out", force=True)
    c = write_made(tmp_path / "c", 2, 1)
    with pytest.raises(ResultsError, match="seeds: 2 → 3"):
        merge_folders([a, b, c], tmp_path / "out")


def test_a_folder_where_a_run_is_under_way_or_unfinished_is_refused(tmp_path):
    a, b = write_made(tmp_path / "a", 0, 1), write_made(tmp_path / "b", 1, 1)
    with run_lock(tmp_path / "out"), pytest.raises(ResultsError, match=f"in use by process {os.getpid()}"):
        merge_folders([a, b], tmp_path / "out", force=True)
    Journal(tmp_path / "out").begin(STUDY)
    with pytest.raises(ResultsError, match=r"holds an unfinished run.*--force"):
        merge_folders([a, b], tmp_path / "out")
    merge_folders([a, b], tmp_path / "out", force=True)
    assert not (tmp_path / "out" / "progress").exists()
    assert not (tmp_path / "out" / ".lock").exists()


def test_an_unfinished_part_is_refused(tmp_path):
    a, b = write_made(tmp_path / "a", 0, 1), write_made(tmp_path / "b", 1, 1)
    (b / "summary.json").unlink()
    with pytest.raises(ResultsError, match=r"summary.json"):
        merge_folders([a, b], tmp_path / "out")


def test_differences_are_said_without_python(tmp_path):
    """Names of inner attributes stay, for want of better ones; their values are said as people write them."""
    a = read_part(write_made(tmp_path / "a", 0, 1))
    b = read_part(write_made(tmp_path / "b", 1, 1, dataclasses.replace(STUDY, name="other")))
    attributes = {"num_classes": np.int64(4), "class_names": "car\nbus"}
    with pytest.raises(ResultsError) as error:
        check_same_experiment(a, dataclasses.replace(b, dataset=b.dataset.assign_attrs(attributes)))
    assert str(error.value).splitlines()[1:] == [
        "  name: made-up → other",  # once
        "  class_names: none → car, bus",
        "  num_classes: 3 → 4",
    ]
