"""`airbayes decide`, and the promises of `airbayes predict`, as people use them."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from experiment.made_folder import write_made
from experiment.trained_run import make_objects, write_trained

from airbayes.cli.decide_show import _alarm_from
from airbayes.cli.main import main
from airbayes.data import load_objects, save_objects
from airbayes.experiment.calibration import held_out_objects
from airbayes.experiment.cells import Cell
from airbayes.experiment.dataset import CELL_DIMS, STATUS_CODES
from airbayes.experiment.decisions import Promise, chosen_threshold
from airbayes.experiment.prediction import predict_clouds
from airbayes.experiment.prediction_files import CellPredictions, Part, write_predictions
from airbayes.experiment.results_file import write_dataset
from airbayes.experiment.run_source import checksum
from airbayes.experiment.trained import open_trained
from airbayes.metrics.conformal import aps_scores, calibrate
from airbayes.metrics.ood import threshold_for_false_alarms

CELL = Cell("cd_dsgld", "common", "full", 30.0, 0)
NAMES = ("flat", "tall", "round")


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def part_of(objects, rows: np.ndarray) -> Part:
    """Uniform predictions: `predict` makes its own."""
    count = len(rows)
    uniform = np.full((count, 3), 1 / 3, np.float32)
    label = objects.label[rows].astype(np.int32)
    return Part(uniform, label, np.zeros(count, np.float32), rows, objects.groups[rows].astype(np.int32))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run whose held-out objects are in set.npz: even rows are validation, odd rows test objects."""
    place = tmp_path_factory.mktemp("decide")
    objects = make_objects(60)
    save_objects(place / "set.npz", objects)
    folder = write_trained(place / "run", [CELL], source=str(place / "set.npz"))
    rows = np.arange(len(objects))
    write_predictions(folder, {CELL: CellPredictions(part_of(objects, rows[1::2]), part_of(objects, rows[::2]))})
    status = (CELL_DIMS, np.full((1, 1, 1, 1), STATUS_CODES["ok"]))
    coords = {"method": [CELL.variant], "topology": ["full"], "snr_db": [30.0], "seed": [0]}
    confusion = ((*CELL_DIMS, "label", "predicted"), np.zeros((1, 1, 1, 1, 3, 3)))
    attributes = {"class_names": "\n".join(NAMES), "num_classes": len(NAMES)}
    found = xr.Dataset({"status": status, "confusion": confusion}, coords, attributes)
    write_dataset(folder / "results.nc", found)
    save_objects(
        place / "odd.npz", dataclasses.replace(make_objects(5, seed=9), class_names=("flat", "[b]tram", "round"))
    )
    return place


def test_decide_shows_one_cell_and_writes_all(tmp_path, capsys):
    folder = write_made(tmp_path / "made", 0, 2)
    assert run("decide", str(folder), "--method", "q_dsgd", "--seed", "1") == 0
    text = capsys.readouterr().out
    assert "q_dsgd full 30 dB seed 1, agent 0" in text
    assert "5 test objects of 3 instances, accuracy" in text
    assert "(the agents:" not in text  # all alike
    assert (
        "cannot be promised, so never answer. 2 validation instances; 5 % needs 92 even without an error"
        in " ".join(text.split())
    )
    lines = [line.split() for line in text.splitlines()]
    assert ["prediction", "sets", "lac", "aps", "aps-randomised"] in lines
    assert [line[:3] for line in lines if line[:2] == ["coverage", "of"]] == [["coverage", "of", "class"]] * 3
    content = json.loads((folder / "decisions.json").read_text())
    held = next(cell["objects"] for cell in content["cells"] if cell["cell"]["method"] == "q_dsgd")
    assert 3 <= sum(held["test_instances_per_class"]) <= 5  # views of one object differ in class here
    assert len(content["cells"]) == 16
    assert {cell["threshold"]["bound"] for cell in content["cells"]} == {None}  # 0 would read as no errors
    assert {cell["threshold"]["validation_needed"] for cell in content["cells"]} == {92}
    assert content["class_names"] == ["class 0", "class 1", "class 2"]
    assert run("decide", str(folder), "--json", "--coverage", "0.5") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["promise"]["coverage"] == 0.5
    assert record["sets"]["lac"]["quantile"] is not None
    assert run("decide", str(folder)) == 0
    text = " ".join(capsys.readouterr().out.split())
    few = "every class is in every set, for 2 validation instances are too few: 90 % needs 9."
    assert f"Sets were to cover 90 %; {few}" in text
    assert "of calibrations" not in text


def test_decide_says_how_far_other_agents_are_from_the_one_it_speaks_of(place, tmp_path, capsys):
    shutil.copytree(place / "run", tmp_path / "run")
    results = xr.open_dataset(tmp_path / "run" / "results.nc", engine="h5netcdf").load()
    per_agent = ((*CELL_DIMS, "agent"), np.array([0.81, 0.37, np.nan])[None, None, None, None])
    write_dataset(tmp_path / "run" / "results.nc", results.assign(accuracy_per_agent=per_agent))
    assert run("decide", str(tmp_path / "run")) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "(the agents: 37.0 % to 81.0 %)." in text
    count = len(np.unique(make_objects(60).groups[1::2][make_objects(60).label[1::2] == 1]))
    assert f"coverage of tall ({count})" in text


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nowhere"], "There is no folder nowhere. Give a results folder"),
        (["run", "--max-error", "5"], "--max-error 5.0: need a number between 0 and 1"),
        (["run", "--method", "sgld"], "has no predictions of method sgld. Stored are:"),
        (["run", "--agent", "1"], "predictions are stored of agent 0 only"),
        (["run", "--false-alarms", "0.1"], "run has no scores of strange objects yet; add --strange FILE"),
        (["run", "--source", "set.npz"], "--source set.npz: only --strange FILE looks into the run's object set"),
        (["run", "--strange", "odd.npz", "--source", "odd.npz"], "odd.npz has sha256 "),
        (
            ["run", "--strange", "."],
            "an object set is an .npz file. Make one from a data set: `airbayes data convert .",
        ),
        (["run", "--strange", "set.npz"], "All objects are of classes that the run has learned (flat, tall, round)"),
    ],
)
def test_bad_input_is_one_clear_message(args, says, place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    assert run("decide", *args) == 2
    assert says in capsys.readouterr().err


def test_a_run_that_diverged_is_not_taken_for_an_old_one(place, tmp_path, capsys):
    shutil.copytree(place / "run", tmp_path / "run", ignore=shutil.ignore_patterns("predictions"))
    assert run("decide", str(tmp_path / "run")) == 2
    assert "of every cell that did not diverge" in " ".join(capsys.readouterr().err.split())


def test_strange_objects_in_other_units_are_refused(place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    odd = load_objects(place / "odd.npz")
    save_objects(place / "mm.npz", dataclasses.replace(odd, points=odd.points * 1000))
    assert run("decide", "run", "--strange", "mm.npz") == 2
    assert "an object in metres has at most 1000. Is it in other units?" in capsys.readouterr().err


def test_an_alarm_from_the_least_number_above_zero_is_readable():
    assert _alarm_from(threshold_for_false_alarms(np.zeros(50), 0.1)) == "above 0"
    assert _alarm_from(0.0123456789) == "0.0123457"
    assert _alarm_from(-3.2) == "-3.2"
    assert _alarm_from(0.0) == "0"


def test_strange_objects_are_told_from_known_ones(place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    assert run("decide", "run", "--strange", "odd.npz", "--json") == 0
    found = json.loads(capsys.readouterr().out)["strange"]
    assert found["classes"] == {"[b]tram": 5}
    assert found["known"] == 90
    assert set(found["scores"]) == {"confidence", "entropy", "mutual_information", "expected_entropy", "energy"}
    assert all(0 <= row["auroc"] <= 1 for row in found["scores"].values())
    assert all({"threshold", "found", "threshold_at_95"} <= set(row) for row in found["scores"].values())
    assert found["false_alarms"] == 0.05
    assert run("decide", "run", "--false-alarms", "0.2", "--json") == 0
    loose = json.loads(capsys.readouterr().out)["strange"]
    assert loose["scores"]["energy"]["threshold"] < found["scores"]["energy"]["threshold"]
    assert run("decide", "run", "--false-alarms", "0.001") == 0
    assert "90 test objects: too few for 0.1 % false alarms." in capsys.readouterr().out
    assert run("decide", "run") == 0  # stored: shown again without being asked for
    text = capsys.readouterr().out
    assert "Strange objects ([b]tram 5) against 90 test objects" in text
    assert f"{found['scores']['energy']['threshold']:.6g}" in text
    assert "at most 5 % then give a false alarm" in " ".join(text.split())
    (cell,) = json.loads((place / "run" / "decisions.json").read_text())["cells"]
    assert cell["strange"] == found
    page = place / "run" / "report.html"
    assert "Would it notice something strange?" in page.read_text()
    for asked, kept in (("--objects", True), ("--no-objects", False)):  # a page made anew draws clouds if it had some
        assert run("report", "run", asked) == 0
        assert run("decide", "run", "--strange", "odd.npz", "--json") == 0
        assert ('<section id="objects"' in page.read_text()) == kept


def test_a_cell_without_scores_of_strange_objects_says_how_to_get_them(place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    other = dataclasses.replace(CELL, snr_db=10.0)
    monkeypatch.setattr("airbayes.cli.decide._stored_strange", lambda *_: {other: {}})
    assert run("decide", "run") == 0
    assert "measured for other cells only; --strange FILE" in " ".join(capsys.readouterr().out.split())


def test_predict_keeps_what_is_promised(place, capsys, monkeypatch):
    """The threshold and the sets are those of the validation objects, predicted as the new objects are."""
    monkeypatch.chdir(place)
    trained = open_trained(place / "run")
    held = held_out_objects(place / "run", trained, "validation").predicted_with(trained)
    objects = load_objects(place / "set.npz")
    found = predict_clouds(trained, [objects.cloud(row) for row in range(0, len(objects), 2)])
    np.testing.assert_array_equal(held.probabilities, found.probabilities)
    chosen = chosen_threshold(held, Promise(max_error=0.9, delta=0.5))
    assert np.isfinite(chosen.value) or chosen.value == -np.inf
    args = ["--max-error", "0.9", "--delta", "0.5", "--coverage", "0.8", "--sets", "aps"]
    assert run("predict", "run", "set.npz", *args, "--json") == 0
    captured = capsys.readouterr()
    records = [json.loads(line) for line in captured.out.splitlines()]
    where = "always answer" if chosen.value == -np.inf else f"answer above {chosen.value:.8g}"
    assert f"{where}; {chosen.wrong} of {chosen.answered} wrong there" in captured.err
    least = float(np.nextafter(np.float32(chosen.value), np.float32(np.inf)))
    assert chosen.value == -np.inf or f"confidence {least:.8g} or more" in captured.err
    quantile = calibrate(aps_scores(held.probabilities), held.labels, 0.8)
    assert f"Sets (aps): score up to {quantile:.8g}, from 90 validation objects" in captured.err
    answered = sum(not each["abstains"] for each in records[::2])
    assert answered == chosen.answered
    covered = np.mean([each["truth"] in each["set"] for each in records[::2]])
    assert covered >= 73 / 90  # rank ⌈91 · 0.8⌉ of the 90 that were calibrated on
    for each in records:  # the most probable classes, as far as their sum stays within the quantile
        sums = np.cumsum(sorted(each["probabilities"].values(), reverse=True))
        if np.abs(sums - quantile).min() > 1e-4:  # the record is rounded
            assert len(each["set"]) == np.sum(sums <= quantile)
    assert run("predict", "run", "odd.npz", "--coverage", "0.8", "--csv", str(place / "out.csv"), "--force") == 0
    text = capsys.readouterr().out
    assert "Sets: " in text
    assert "set" in (place / "out.csv").read_text().splitlines()[0].split(",")
    assert run("predict", "run", "odd.npz", "--max-error", "0.001") == 0
    captured = capsys.readouterr()
    assert "nothing is answered: 90 validation instances; 0.1 % needs 4,699 even without an error;" in captured.err
    assert "0 answered (coverage 0.0 %, never answers)" in captured.out
    offered = re.search(r"can\s+be\s+promised\s+\(--max-error\s+([\d.]+)\)", captured.err)
    assert offered is not None
    assert run("predict", "run", "odd.npz", "--max-error", offered[1]) == 0  # the very predictor that offered it
    assert "wrong there, bound" in capsys.readouterr().err
    assert run("predict", "run", "odd.npz", "--max-error", "0.1", "--abstain-below", "0.5") == 2
    assert "both choose the threshold" in capsys.readouterr().err
    assert run("predict", "run", "odd.npz", "--coverage", "0.995") == 0
    few = "Sets (lac): every class is in every set, for 90 validation objects are too few: 99.5 % needs 199."
    assert few in " ".join(capsys.readouterr().err.split())


def test_a_source_that_has_changed_is_noticed(place, tmp_path, capsys):
    objects = load_objects(place / "set.npz")
    for changed, says in (
        (objects.select(np.arange(20)), "20 objects are left"),
        (dataclasses.replace(objects, label=objects.label[::-1].copy()), "its labels are others"),
        (None, "are not at hand"),
    ):
        source = tmp_path / f"{says[:3]}.npz"
        folder = write_trained(tmp_path / says[:3], [CELL], source=str(source))
        rows = np.arange(len(objects))
        write_predictions(folder, {CELL: CellPredictions(part_of(objects, rows), part_of(objects, rows))})
        if changed is not None:
            save_objects(source, changed)
        assert run("predict", str(folder), str(place / "odd.npz"), "--coverage", "0.9") == 2
        assert says in capsys.readouterr().err


def test_the_source_of_a_run_is_known_by_its_content(place, tmp_path, capsys, monkeypatch):
    """Other clouds of the same name and labels are refused; the right ones are found where they were or are named."""
    objects = load_objects(place / "set.npz")
    monkeypatch.chdir(tmp_path)
    save_objects(tmp_path / "mine.npz", objects)
    folder = write_trained(tmp_path / "run", [CELL], source="mine.npz")
    rows = np.arange(len(objects))
    write_predictions(folder, {CELL: CellPredictions(part_of(objects, rows[1::2]), part_of(objects, rows[::2]))})
    new = str(place / "odd.npz")
    asked = [new, "--coverage", "0.9", "--json"]
    assert run("predict", "run", *asked) == 0
    expected = capsys.readouterr()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    stretched = dataclasses.replace(objects, points=objects.points * np.float32(1.01))
    save_objects(tmp_path / "elsewhere" / "mine.npz", stretched)
    assert run("predict", "../run", *asked) == 0
    assert capsys.readouterr() == expected
    (tmp_path / "mine.npz").rename(tmp_path / "moved.npz")
    assert run("predict", "../run", *asked) == 2
    says = capsys.readouterr().err
    for text in (checksum(Path("mine.npz")), checksum(Path("../moved.npz")), "are not at hand", "--source FILE"):
        assert text in says
    Path("mine.npz").unlink()
    assert run("predict", "../run", *asked) == 2
    says = capsys.readouterr().err
    assert "there is no file mine.npz (sha256 " in says
    assert "--source FILE" in says
    assert run("predict", "../run", *asked, "--source", "../moved.npz") == 0
    assert capsys.readouterr() == expected
