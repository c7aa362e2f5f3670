"""Objects of classes that were never learned: who they are, what is stored of them, and what is made of damage."""

import dataclasses
import json

import numpy as np
import pytest
from experiment.made_folder import write_made
from experiment.trained_run import make_objects, write_trained

from airbayes.data import save_objects
from airbayes.errors import DataError, ResultsError
from airbayes.experiment.calibration import all_scores
from airbayes.experiment.cells import Cell
from airbayes.experiment.prediction_files import CellPredictions, Part, write_predictions
from airbayes.experiment.store import CONFIG
from airbayes.experiment.strange import best_cells, measure_own_strange, measure_strange, unlearned
from airbayes.experiment.strange_files import SCORES, StrangeScores, read_strange, write_strange
from airbayes.experiment.toml_io import load_config
from airbayes.experiment.trained import open_trained

COMMON = Cell("cd_dsgld", "common", "full", 30.0, 0)
CELLS = [COMMON, Cell("cd_dsgld", "common", "full", 0.0, 0), Cell("q_dsgd", None, "full", 30.0, 0)]


def made_scores(known: int, strange: int, shift: float = 1.0, seed: int = 0) -> StrangeScores:
    """Strange objects score higher by `shift` standard deviations."""
    rng = np.random.default_rng(seed)
    return StrangeScores(rng.normal(size=(len(SCORES), known)), rng.normal(size=(len(SCORES), strange)) + shift)


def test_what_is_written_is_read(tmp_path):
    found = {COMMON: made_scores(30, 20), CELLS[2]: made_scores(30, 20, seed=1)}
    write_strange(tmp_path, {"sign": 20}, found)
    stored = read_strange(tmp_path)
    assert stored is not None
    assert stored.classes == {"sign": 20}
    assert list(stored.cells) == list(found)
    np.testing.assert_allclose(stored.cells[COMMON].strange, found[COMMON].strange, rtol=1e-6)
    told = stored.cells[COMMON].told_apart()
    assert tuple(told) == SCORES
    assert all(0.5 < each["auroc"] < 1 for each in told.values())
    for row, (each, alarm) in enumerate(zip(told.values(), stored.cells[COMMON].alarms(0.1).values(), strict=True)):
        known, strange = stored.cells[COMMON].known[row], stored.cells[COMMON].strange[row]
        assert np.mean(strange >= each["threshold_at_95"]) == 0.95
        assert np.mean(known >= each["threshold_at_95"]) == each["false_alarms_at_95"]
        assert np.sum(known >= alarm["threshold"]) == 2  # at most 10 % of 30 and one more
        assert np.mean(strange >= alarm["threshold"]) == alarm["found"]
    assert set(stored.cells[COMMON].alarms(0.03)["energy"].values()) == {None}  # 30 objects cannot say that
    assert read_strange(tmp_path / "elsewhere") is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('"version": 1', '"version": 9'), "version 9"),
        (lambda text: text.replace('"sign": 20', '"sign": "many"'), "wrong type"),
        (lambda text: text.replace('"sign"', '"si\\u0007gn"'), "wrong type"),
        (lambda text: text[:-20], "damaged"),
        (lambda text: text.replace('"sha256": "', '"sha256": "0'), "has changed"),
    ],
)
def test_damage_is_named(change, says, tmp_path):
    write_strange(tmp_path, {"sign": 20}, {COMMON: made_scores(30, 20)})
    path = tmp_path / "strange" / "manifest.json"
    path.write_text(change(path.read_text()))
    with pytest.raises(ResultsError, match=says):
        read_strange(tmp_path)


def test_scores_that_are_no_numbers_are_refused(tmp_path):
    wrong = made_scores(30, 20)
    wrong.strange[2, 3] = np.nan
    write_strange(tmp_path, {"sign": 20}, {COMMON: wrong})
    with pytest.raises(ResultsError, match="strange is not finite"):
        read_strange(tmp_path)


def test_only_classes_that_were_not_learned_are_strange():
    objects = make_objects(4)
    found = unlearned([objects, make_objects(2, ("tram", "tall", "cone"))], ("flat", "tall"))
    assert found.classes == {"round": 4, "tram": 2, "cone": 2}
    assert len(found.clouds) == 8
    np.testing.assert_array_equal(found.clouds[0], objects.cloud(8))
    assert unlearned([objects], ("flat", "tall", "round")).clouds == []
    few = unlearned([make_objects(50)], ("flat",), most=10)
    assert sum(few.classes.values()) == len(few.clouds) == 10
    assert set(few.classes) == {"tall", "round"}  # spread over all of them


@pytest.fixture
def folder(tmp_path):
    """A run that learned two of the three classes of its source."""
    objects = make_objects(12)
    save_objects(tmp_path / "set.npz", objects)
    learned = ("flat", "tall")
    folder = write_trained(tmp_path / "run", CELLS, learned, source=str(tmp_path / "set.npz"), classes=learned)
    rows = np.arange(24)[::2]
    even = np.full((len(rows), 2), 0.5, np.float32)
    zeros = np.zeros(len(rows), np.float32)
    part = Part(even, objects.label[rows].astype(np.int32), zeros, rows, objects.groups[rows].astype(np.int32))
    write_predictions(folder, dict.fromkeys(CELLS, CellPredictions(part, None)))
    return folder


def test_a_run_that_left_classes_out_measures_itself(folder):
    config = load_config(folder / CONFIG)
    assert best_cells(folder) == [COMMON, CELLS[2]]  # one of each method, at its highest SNR
    assert measure_own_strange(folder, config)
    stored = read_strange(folder)
    assert stored is not None
    assert stored.classes == {"round": 12}
    assert list(stored.cells) == best_cells(folder)
    objects = make_objects(12)
    trained = open_trained(folder)
    expected = all_scores(trained, [objects.cloud(row) for row in range(24, 36)])
    np.testing.assert_allclose(stored.cells[COMMON].strange, [expected[name] for name in SCORES], rtol=1e-5)
    told = stored.cells[CELLS[2]].told_apart()
    assert told["mutual_information"]["auroc"] == 0.5  # one θ cannot disagree with itself


def test_a_run_that_learned_everything_has_nothing_to_measure(folder):
    config = load_config(folder / CONFIG)
    everything = dataclasses.replace(config, lidar=dataclasses.replace(config.lidar, classes=()))
    assert not measure_own_strange(folder, everything)
    assert read_strange(folder) is None
    with pytest.raises(DataError, match=r"learned \(flat, tall\)"):
        measure_strange(folder, unlearned([make_objects(2)], ("flat", "tall", "round")), CELLS[:1])
    manifest = folder / "samples" / "manifest.json"
    content = json.loads(manifest.read_text()) | {"cells": []}
    manifest.write_text(json.dumps(content))
    assert not measure_own_strange(folder, config)  # every cell diverged


def test_a_run_that_starts_over_removes_what_was_said_of_the_old_one(tmp_path):
    folder = write_made(tmp_path / "made", 0, 1)
    write_strange(folder, {"sign": 20}, {COMMON: made_scores(30, 20)})
    (folder / "decisions.json").write_text("{}")
    write_made(folder, 0, 1)
    assert read_strange(folder) is None
    assert not (folder / "decisions.json").exists()
