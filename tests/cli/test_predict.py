"""`airbayes predict` as people use it: exit codes, tables, JSON, CSV, hostile names."""

import csv
import dataclasses
import io
import json
import os
import shutil

import numpy as np
import pytest
from experiment.trained_run import made_samples, make_objects, write_trained
from rich.console import Console

from airbayes.cli.main import main
from airbayes.cli.predict_show import Answers, Asked, print_table
from airbayes.data import concatenate, from_clouds, save_objects
from airbayes.data.formats.any_path import load_any
from airbayes.experiment.cells import Cell
from airbayes.experiment.prediction import Predictions
from airbayes.experiment.sample_files import write_samples
from airbayes.text import percent

CELLS = [Cell("cd_dsgld", "common", "full", 30.0, 0), Cell("q_dsgd", None, "full", 30.0, 0)]
HOSTILE = ("[red]flat[/red]", "=tall()", "\x1b[2Jround")


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["predict", *args])
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return write_trained(tmp_path_factory.mktemp("trained") / "run", CELLS)


@pytest.fixture
def place(tmp_path, monkeypatch, trained):
    """A folder with the run, an object set of 30, and two of its objects as files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").symlink_to(trained)
    objects = make_objects(10)
    save_objects(tmp_path / "set.npz", objects)
    np.save(tmp_path / "a.npy", objects.cloud(3))
    np.savetxt(tmp_path / "b.xyz", objects.cloud(25))
    (tmp_path / "empty").mkdir()
    return tmp_path


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_table_with_coverage_and_accuracy(place, capsys):
    assert run("run", "set.npz", "--json") == 0
    captured = capsys.readouterr()
    found = records(captured.out)
    assert "cd_dsgld:common full 30 dB seed 0, agent 0, 4 samples of θ" in captured.err
    assert len(found) == 30
    for row, each in enumerate(found):
        assert (each["file"], each["object"], each["truth"]) == ("set.npz", row, ("flat", "tall", "round")[row // 10])
        shares = each["probabilities"]
        assert sum(shares.values()) == pytest.approx(1, abs=1e-5)
        assert each["predicted"] == max(shares, key=shares.__getitem__)
        assert each["confidence"] == max(shares.values())
        assert 0 <= each["mutual_information"] < each["entropy"] <= np.log(3) + 1e-5
        assert not each["abstains"]

    threshold = sorted(each["confidence"] for each in found)[18]
    answered = [each for each in found if each["confidence"] >= threshold]
    right, right_answered = (sum(e["truth"] == e["predicted"] for e in part) for part in (found, answered))
    assert run("run", "set.npz", "--abstain-below", str(threshold - 1e-5), "--limit", "7") == 0
    text = capsys.readouterr().out
    assert text.count("set.npz") == 7
    assert "23 more; --limit 30 shows all" in text
    assert f"30 objects, {len(answered)} answered (coverage {percent(len(answered) / 30, 1)}" in text
    assert f"Accuracy {percent(right / 30, 1)} ({right} of 30) on all" in text
    assert f"({right_answered} of {len(answered)}) on the answered ones" in text
    shown = [line.split() for line in text.splitlines() if line.lstrip().startswith("set.npz")]
    for row, each in enumerate(found[:7]):
        said = "abstains" if each["confidence"] < threshold - 1e-5 else each["predicted"]
        assert shown[row][:4] == ["set.npz", str(row), "flat", said]
        assert shown[row][4:7] == [f"{each[n]:.3f}" for n in ("confidence", "entropy", "mutual_information")]


def test_an_object_is_predicted_alike_in_a_set_and_in_a_file_of_its_own(place, capsys):
    """With as many points as the network takes there is no choice of points, so it is the same to rounding."""
    clouds = [cloud[:16] for cloud in (make_objects(1).cloud(row) for row in range(3)) if len(cloud) >= 16]
    save_objects(place / "few.npz", from_clouds(clouds, np.zeros(len(clouds)), ("flat", "tall", "round")))
    np.save(place / "last.npy", clouds[-1].astype(np.float64) + np.array([500_000, 5_000_000, 300]))  # map coordinates
    np.savez(place / "last.npz", points=clouds[-1])
    assert run("run", "few.npz", "last.npy", "last.npz", "--json") == 0
    *_, within, moved, packed = records(capsys.readouterr().out)
    assert (packed["object"], within["object"]) == (None, len(clouds) - 1)
    for each in (moved, packed):
        assert list(each["probabilities"].values()) == pytest.approx(list(within["probabilities"].values()), abs=1e-4)


def test_single_clouds_and_sets_together(place, capsys):
    assert run("run", "a.npy", "b.xyz", "set.npz", "--json") == 0
    first = capsys.readouterr().out
    a, b, *_ = records(first)
    assert (a["file"], a["object"], a["truth"]) == ("a.npy", None, None)
    assert b["file"] == "b.xyz"
    assert run("run", "a.npy", "b.xyz", "set.npz", "--json") == 0
    assert capsys.readouterr().out == first
    assert run("run", "b.xyz", "--json") == 0
    assert records(capsys.readouterr().out) == [b]
    assert run("run", "a.npy", "b.xyz") == 0
    text = capsys.readouterr().out
    assert "truth" not in text
    assert "Accuracy" not in text
    assert "2 objects." in text


def test_a_set_without_labels_is_predicted_like_one_with(place, capsys):
    """What a vehicle has: clouds, and nobody who says what they are."""
    objects = make_objects(10)
    np.savez(place / "bare.npz", points=objects.points, offsets=objects.offsets)
    assert run("run", "set.npz", "--json") == 0
    labelled = records(capsys.readouterr().out)
    assert run("run", "bare.npz", "--json") == 0
    bare = records(capsys.readouterr().out)
    assert bare == [each | {"file": "bare.npz", "truth": None} for each in labelled]
    assert run("run", "bare.npz", "--min-points", "30", "--max-objects", "3") == 0
    captured = capsys.readouterr()
    assert "3 objects." in captured.out
    assert "Accuracy" not in captured.out
    assert f"left out {np.sum(objects.counts < 30)} × fewer than 30 points" in captured.err
    assert run("run", "bare.npz", "--classes", "flat=flat") == 2
    assert "no array 'label', so --classes has nothing to choose from" in capsys.readouterr().err
    np.savez(place / "torn.npz", points=objects.points, offsets=objects.offsets[:-1])
    assert run("run", "torn.npz") == 2
    assert "offsets run from 0 to" in capsys.readouterr().err


def test_other_models_draws_and_csv(place, capsys):
    assert run("run", "set.npz", "--method", "q_dsgd", "--csv", "out.csv", "--limit", "1") == 0
    text = capsys.readouterr().out
    assert "q_dsgd full 30 dB seed 0, agent 0, 1 sample of θ" in text
    assert "mutual information is 0" in text
    with open("out.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 30
    assert {row["mutual_information"] for row in rows} == {"0.0"}
    assert sum(float(rows[0][f"p {name}"]) for name in ("flat", "tall", "round")) == pytest.approx(1, abs=1e-5)
    assert run("run", "set.npz", "--csv", "out.csv") == 2
    assert "out.csv exists. Use another name, or --force" in capsys.readouterr().err
    assert run("run", "a.npy", "--csv", "out.csv", "--force", "--draws", "3", "--agent", "1", "--json") == 0
    (several,) = records(capsys.readouterr().out)
    assert run("run", "a.npy", "--agent", "1", "--json") == 0
    (one,) = records(capsys.readouterr().out)
    assert several["probabilities"] != one["probabilities"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run"], "Name at least one file"),
        (["nowhere", "set.npz"], "There is no folder nowhere. Give a results folder"),
        (["run", "absent.pcd"], "absent.pcd: no such file or folder"),
        (["run", "odd.txt"], "odd.txt"),
        (["run", "torn.npz"], "torn.npz: not a sound .npz archive"),
        (["run", "notes.md"], "notes.md: unknown kind of file"),
        (["run", "empty"], "empty: the folder is empty"),
        (["run", "far.npy"], "point 0 is at"),
        (["run", "a.npy", "--min-points", "500"], "No objects are left"),
        (["run", "set.npz", "--method", "sgld"], "Stored are:\n  cd_dsgld:common full 30 dB seed 0\n  q_dsgd full"),
        (["run", "set.npz", "--agent", "7"], "--agent 7: run stores the samples of 2 agents"),
        (["run", "set.npz", "--abstain-below", "70"], "--abstain-below 70.0: need a probability"),
        (["run", "set.npz", "--abstain-below", "nan"], "--abstain-below nan"),
        (["run", "set.npz", "--draws", "0"], "--draws 0"),
        (["run", "set.npz", "--sets", "lac"], "--sets lac: without effect; add --coverage C"),
        (["run", "set.npz", "--delta", "0.1", "--coverage", "0.9"], "--delta 0.1: without effect; add --max-error R"),
        (["run", "set.npz", "--csv", "no/out.csv"], "--csv no/out.csv"),
        (["run", "set.npz", "--classes", "flat=flatt"], "Did you mean 'flat'?"),
    ],
)
def test_bad_input_is_one_clear_message_and_exit_code_2(args, says, place, capsys):
    (place / "odd.txt").write_text("no numbers here\n")
    (place / "torn.npz").write_bytes((place / "set.npz").read_bytes()[:1000])
    (place / "notes.md").write_text("1 2 3\n")
    np.save(place / "far.npy", np.full((20, 3), np.inf))
    before = sorted(os.listdir())
    assert run(*args) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""
    assert sorted(os.listdir()) == before


def test_bad_files_can_be_passed_over(place, capsys):
    (place / "odd.txt").write_text("no numbers here\n")
    assert run("run", "odd.txt", "a.npy", "--skip-bad", "--json") == 0
    captured = capsys.readouterr()
    assert [each["file"] for each in records(captured.out)] == ["a.npy"]
    assert "odd.txt: left out 1 × unreadable files." in captured.err


def test_objects_in_other_units_can_be_passed_over(place, capsys):
    np.save(place / "huge.npy", np.random.default_rng(0).uniform(-2000, 2000, size=(50, 3)))
    assert run("run", "a.npy", "huge.npy") == 2
    assert "huge.npy: 3," in capsys.readouterr().err
    assert run("run", "huge.npy", "a.npy", "--skip-bad", "--json") == 0
    captured = capsys.readouterr()
    assert [each["file"] for each in records(captured.out)] == ["a.npy"]
    assert "huge.npy: left out 1 × more than 1,000 m across. Other units?" in captured.err


def test_too_few_points_are_remarked_on(place, capsys):
    np.save(place / "speck.npy", np.zeros((4, 3), np.float32))
    assert run("run", "a.npy", "speck.npy", "--json") == 0
    captured = capsys.readouterr()
    assert "1 object of fewer than 5 points, the first speck.npy" in captured.err
    assert len(records(captured.out)) == 2
    assert run("run", "a.npy", "--json") == 0
    assert "fewer than" not in capsys.readouterr().err


def test_a_sweep_is_not_an_object(place, capsys):
    np.save(place / "sweep.npy", np.random.default_rng(0).uniform(-60, 60, size=(500, 3)))
    assert run("run", "a.npy", "sweep.npy", "--json") == 0
    assert "1 object more than 30 m across, the first sweep.npy" in capsys.readouterr().err
    for size in (2000, 1e30, 3e38):  # millimetres, or nonsense that overflows inside the network
        clouds = [np.random.default_rng(0).uniform(-extent, extent, size=(500, 3)) for extent in (1, size)]
        save_objects(place / "huge.npz", from_clouds(clouds, np.zeros(2), ("flat",)))
        assert run("run", "huge.npz", "--json") == 2
        captured = capsys.readouterr()
        assert "huge.npz 1: " in captured.err
        assert "m across; an object in metres has at most 1000" in captured.err
        assert captured.out == ""


def test_no_answer_without_a_finite_number(place, capsys):
    folder = write_trained(place / "wild", CELLS[:1])
    theta = made_samples(3, 2)
    theta[..., -99:] = 3e38  # the last layer: its outputs overflow
    write_samples(folder, {CELLS[0]: theta}, {"num_classes": 3, "class_names": "flat\ntall\nround"})
    assert run("wild", "a.npy", "--json") == 2
    captured = capsys.readouterr()
    assert "a.npy: the network's output is not finite" in captured.err
    assert captured.out == ""


def test_classes_the_run_has_not_learned_are_shown_and_not_scored(place, capsys):
    objects = make_objects(4)
    save_objects(place / "mixed.npz", dataclasses.replace(objects, class_names=("flat", "tram", "round")))
    assert run("run", "mixed.npz") == 0
    text = capsys.readouterr().out
    assert "tram" in text
    assert " of 8)" in text
    assert "4 objects of classes this run has not learned, not counted in the accuracy: tram 4." in text
    assert run("run", "mixed.npz", "--classes", "tall=tram", "flat=flat") == 0
    captured = capsys.readouterr()
    assert " of 8)" in captured.out
    assert "tram" not in captured.out
    assert "left out 4 of source classes not asked for" in captured.err


def test_accuracy_on_what_it_learned_from_comes_with_a_warning(place, capsys, monkeypatch):
    """By content: a copy, a part, the same file seen from elsewhere, a folder with the same clouds."""
    shapes = make_objects(10)
    for row in range(30):
        here = place / "folder" / shapes.class_names[shapes.label[row]]
        here.mkdir(parents=True, exist_ok=True)
        np.save(here / f"{row}.npy", shapes.cloud(row))
    objects, _ = load_any(place / "folder")  # as `airbayes data convert` does
    save_objects(place / "set.npz", objects)
    write_trained(place / "own", CELLS[:1], objects.class_names, source="set.npz")
    shutil.copy("set.npz", "copy.npz")
    new = dataclasses.replace(make_objects(2, seed=5), class_names=objects.class_names)
    save_objects(place / "part.npz", concatenate([objects.select(np.arange(4)), new]))
    for file, says in (("set", "30 of 30"), ("copy", "30 of 30"), ("part", "4 of 10"), ("folder", "30 of 30")):
        assert run("own", file if file == "folder" else f"{file}.npz", "--limit", "1") == 0
        assert f"{says} objects are from the set that the run learned from" in capsys.readouterr().err
    (place / "elsewhere").mkdir()
    monkeypatch.chdir(place / "elsewhere")
    assert run("../own", "../set.npz", "--limit", "1") == 0
    assert "30 of 30 objects are from the set" in capsys.readouterr().err
    monkeypatch.chdir(place)
    save_objects(place / "new.npz", make_objects(3, seed=7))
    for file in ("a.npy", "new.npz"):  # without a class, so without an accuracy; and never seen
        assert run("own", file) == 0
        assert "learned from" not in capsys.readouterr().err


def test_hostile_names_stay_text(place, capsys):
    names = (*HOSTILE[:2], "round")  # the third moves the cursor: no reader accepts it
    write_trained(place / "worse", CELLS[:1], HOSTILE)
    assert run("worse", "a.npy") == 2
    assert "does not name its classes" in capsys.readouterr().err
    write_trained(place / "odd", CELLS[:1], names)
    save_objects(place / "[bold]x.npz", dataclasses.replace(make_objects(2), class_names=names))
    np.save(place / "\x1b]0;owned\x07.npy", make_objects(1).cloud(0))
    assert run("odd", "\x1b]0;owned\x07.npy") == 2
    refused = capsys.readouterr().err
    assert "'?]0;owned?.npy', holds a control character" in refused
    assert "\x1b" not in refused
    files = ["[bold]x.npz"]
    assert run("odd", *files, "--csv", "out.csv") == 0
    captured = capsys.readouterr()
    text = captured.out
    assert "\x1b" not in text + captured.err
    for expected in ("[red]flat[/red]", "=tall()", "round", "[bold]x.npz 0"):
        assert expected in text
    table = (place / "out.csv").read_text()
    assert "\x1b" not in table
    assert ",=tall()" not in table
    assert run("odd", *files, "--json") == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert set(records(text)[0]["probabilities"]) == set(names)


def test_the_samples_of_a_run_are_checked(place, capsys):
    folder = write_trained(place / "damaged", CELLS[:1])
    (samples,) = (folder / "samples").glob("*.npz")
    raw = bytearray(samples.read_bytes())
    raw[-200] ^= 1
    samples.write_bytes(raw)
    assert run("damaged", "a.npy") == 2
    assert "sha256 differs" in capsys.readouterr().err


def test_help(capsys):
    assert run("--help") == 0
    text = capsys.readouterr().out
    for expected in ("RUN", "FILE", "--abstain-below", "--snr-db", "--json"):
        assert expected in text


def test_a_narrow_terminal_cuts_no_numbers(place):
    found = Predictions(np.full((2, 9), 1 / 9, np.float32), np.zeros(2, np.float32), np.zeros(2, np.float32))
    names = tuple(f"class-number-{number}" for number in range(9))
    answers = Answers([Asked("a.npy", None, None), Asked("b.npy", None, None)], found, names, None)
    for width, terminal, columns in ((90, True, 0), (90, False, 9), (300, True, 9)):
        stream = io.StringIO()
        print_table(answers, 5, Console(file=stream, width=width, force_terminal=terminal, no_color=True))
        text = stream.getvalue()
        assert text.count("class-number-") == columns + 2  # and one predicted class a row
        assert text.count("0.111") == 2 * (columns + 1)
        assert ("--csv FILE" in text) == (columns == 0)
        assert "…" not in text
