"""Stored predictions: what a run predicted for the objects held out, and nothing else, bit for bit."""

import dataclasses
import hashlib
import json

import jax
import numpy as np
import pytest
from experiment.made_folder import STUDY, made_predictions, write_made

from airbayes.errors import ResultsError
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import Cell
from airbayes.experiment.merge import merge_folders
from airbayes.experiment.prediction_files import (
    FOLDER,
    MANIFEST,
    CellPredictions,
    read_predictions,
    to_arrays,
    write_predictions,
)
from airbayes.experiment.problem import Outcome
from airbayes.experiment.results import CellResult, pack_results, unpack_results
from airbayes.experiment.sample_files import StoredCell

A, B = Cell("cd_dsgld", "common", "full", 30.0, 0), Cell("sgld", None, None, None, 1)


def assert_same(one: CellPredictions, other: CellPredictions) -> None:
    a, b = to_arrays(one), to_arrays(other)
    assert set(a) == set(b)
    for name, values in a.items():
        np.testing.assert_array_equal(values, b[name], strict=True)


def made() -> dict[Cell, CellPredictions]:
    rng = np.random.default_rng(0)
    return {A: made_predictions(rng), B: dataclasses.replace(made_predictions(rng), validation=None)}


def test_a_round_trip_leaves_what_was_written_and_nothing_older(tmp_path):
    assert read_predictions(tmp_path) == {}  # a run from before they were stored
    write_predictions(tmp_path, {})
    assert list(tmp_path.iterdir()) == []
    write_predictions(tmp_path, {Cell("dsgd", None, "ring", None, 0): made_predictions(np.random.default_rng(1))})
    write_predictions(tmp_path, made())
    found = read_predictions(tmp_path)
    assert set(found) == {A, B}
    for cell, expected in made().items():
        assert_same(found[cell], expected)
    assert len(list((tmp_path / FOLDER).iterdir())) == 3


def test_damage_is_noticed(tmp_path):
    write_predictions(tmp_path, made())
    manifest = tmp_path / FOLDER / MANIFEST
    rows = json.loads(manifest.read_text())["cells"]
    path = tmp_path / FOLDER / rows[0]["file"]
    whole = path.read_bytes()
    path.write_bytes(whole[:-30] + bytes([whole[-30] ^ 1]) + whole[-29:])
    with pytest.raises(ResultsError, match="sha256 differs"):
        read_predictions(tmp_path)
    path.unlink()
    with pytest.raises(ResultsError, match="Cannot read"):
        read_predictions(tmp_path)
    for text in ("{", "[]", '{"version": 1, "cells": [{"method": 3}]}', '{"version": 1}'):
        manifest.write_text(text)
        with pytest.raises(ResultsError, match="is damaged"):
            read_predictions(tmp_path)
    manifest.write_text('{"version": 2, "cells": []}')
    with pytest.raises(ResultsError, match="has version 2"):
        read_predictions(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"test_labels": np.array([0, 1, 3, 0, 1], np.int32)}, "outside the 3 classes"),
        ({"test_labels": np.zeros(4, np.int32)}, r"test_probabilities is float32 \(5, 3\)"),
        ({"test_probabilities": np.zeros((5, 3))}, "test_probabilities is float64"),
        ({"test_labels": np.zeros((5, 1), np.int32)}, "test_probabilities"),
        ({"validation_probabilities": np.zeros((4, 2), np.float32)}, "different numbers of classes"),
    ],
)
def test_what_is_no_prediction_is_refused_even_with_a_right_checksum(tmp_path, change, says):
    write_predictions(tmp_path, {A: made()[A]})
    manifest = tmp_path / FOLDER / MANIFEST
    (row,) = json.loads(manifest.read_text())["cells"]
    path = tmp_path / FOLDER / row["file"]
    arrays = to_arrays(made()[A]) | change
    if "validation_probabilities" in change:
        arrays["validation_labels"] = np.zeros(4, np.int32)
    np.savez(path, **arrays)
    row["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    assert StoredCell(**row).cell == A
    manifest.write_text(json.dumps({"version": 1, "cells": [row]}))
    with pytest.raises(ResultsError, match=says):
        read_predictions(tmp_path)


def test_merged_folders_have_the_predictions_of_all_parts(tmp_path):
    whole = read_predictions(write_made(tmp_path / "whole", 0, 3))
    merge_folders([write_made(tmp_path / "a", 0, 2), write_made(tmp_path / "b", 1, 2)], tmp_path / "out")
    merged = read_predictions(tmp_path / "out")
    assert list(merged) != []
    assert set(merged) == set(whole)
    for cell, expected in whole.items():
        assert_same(merged[cell], expected)
    old = write_made(tmp_path / "old", 3, 1, dataclasses.replace(STUDY))
    for path in (old / FOLDER).iterdir():
        path.unlink()
    (old / FOLDER).rmdir()  # as an older version leaves it
    merge_folders([tmp_path / "out", old], tmp_path / "more")
    assert set(read_predictions(tmp_path / "more")) == set(whole)


def finished(**changes) -> CellResult:
    """An optimiser's cell at its start: nothing needs to run for what it predicts."""
    config = dataclasses.replace(STUDY, methods=("dsgd",), **changes)
    problem = Builder(config).problem
    theta = problem.start(0, 3, 1)
    tracker = jax.tree.map(lambda leaf: leaf[None], problem.observer(0, False).empty(3))
    outcome = Outcome(0, False, tracker, np.asarray(theta), {}, None)
    return CellResult(Cell("dsgd", None, "full", None, 0), problem.finish(outcome), {})


def test_without_a_validation_set_the_scored_objects_are_stored_and_a_journal_keeps_them():
    result = finished()
    assert result.metrics is not None
    found = result.metrics.predictions
    assert found is not None
    assert found.validation is None
    assert found.test.probabilities.shape == (600, 3)
    np.testing.assert_array_equal(found.test.index, np.arange(600))
    right = np.mean(found.test.predicted == found.test.labels)
    assert result.metrics.per_agent["accuracy"][0] == pytest.approx(right, abs=1e-6)
    arrays, facts = pack_results([result])
    (again,) = unpack_results([result.cell], arrays, json.loads(json.dumps(facts)))
    assert again.metrics is not None
    assert again.metrics.predictions is not None
    assert_same(found, again.metrics.predictions)


def test_they_can_be_left_out():
    result = finished(saved_predictions=False)
    assert result.metrics is not None
    assert result.metrics.predictions is None
    (again,) = unpack_results([result.cell], *pack_results([result]))
    assert again.metrics is not None
    assert again.metrics.predictions is None
