"""`airbayes data` as people use it: exit codes, messages, files."""

import os

import numpy as np
import pytest
from data.formats import writers

from airbayes.cli.main import main
from airbayes.data import load_objects


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["data", *args])
    return int(stop.value.code or 0)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_simulate_inspect_convert(tmp_path, capsys):
    assert run("simulate", "--out", "sim.npz", "--per-class", "2", "--test-per-class", "1", "--seed", "3") == 0
    objects = load_objects(tmp_path / "sim.npz")
    assert len(objects) == 3 * len(objects.class_names)
    assert sorted(set(objects.scene)) == ["test", "train"]
    assert run("simulate", "--out", "sim.npz") == 2
    assert "exists. Use another name, or --force" in capsys.readouterr().err

    assert run("inspect", "sim.npz") == 0
    text = capsys.readouterr().out
    assert "18 objects, 18 instances, 2 scenes" in text
    assert "motorcyclist" in text
    assert (tmp_path / "sim-gallery.png").read_bytes().startswith(b"\x89PNG")
    assert "in place of" not in text
    assert run("inspect", "sim.npz") == 0
    assert "Gallery: sim-gallery.png, in place of the one that was there" in capsys.readouterr().out

    assert run("convert", "sim.npz", "two.npz", "--classes", "heavy=truck,bus", "light=car") == 0
    two = load_objects(tmp_path / "two.npz")
    assert two.class_names == ("heavy", "light")
    assert np.bincount(two.label).tolist() == [6, 3]
    assert set(two.source) == {"simulator"}
    assert "Source classes not asked for: pedestrian 3" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sim-gallery.png", "sim.npz", "two.npz"]


def test_the_simulators_settings_are_options(tmp_path):
    assert run("simulate", "--out", "a.npz", "--per-class", "1", "--simulator.max-range", "12") == 0
    assert load_objects(tmp_path / "a.npz").range_m.max() < 13


def test_inspect_shows_counts_and_what_was_left_out(tmp_path, capsys):
    writers.write_kitti_object(tmp_path / "kitti")
    assert run("inspect", "kitti", "--picture", "cars.png") == 0
    text = capsys.readouterr().out
    assert "3 objects, 3 instances, 2 scenes" in text
    assert "Format kitti_object, 4 files read." in text
    assert "Source classes not asked for: DontCare 2." in text
    assert (tmp_path / "cars.png").exists()


def test_other_units_and_missing_source_classes_are_shown(tmp_path, capsys):
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 4000, size=(24, 3)).astype(np.float32)
    offsets, label = np.array([0, 12, 24]), np.array([0, 1])
    np.savez(tmp_path / "mm.npz", points=points, offsets=offsets, label=label, class_names=np.array(["car", "van"]))
    for command in (["inspect", "mm.npz", "--no-picture"], ["convert", "mm.npz", "out.npz"]):
        assert run(*command) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "2 objects more than 1,000 m across, the first 0. Are they in other units?" in text
        assert "car 1 │" in text


def test_skip_bad_counts_and_shows_the_first_errors(tmp_path, capsys):
    writers.write_nuscenes(tmp_path / "nu")
    (tmp_path / "nu/samples/LIDAR_TOP/0.pcd.bin").unlink()
    assert run("inspect", "nu", "--no-picture") == 2
    assert "0.pcd.bin: missing" in capsys.readouterr().err
    assert run("inspect", "nu", "--no-picture", "--skip-bad") == 0
    text = capsys.readouterr().out
    assert "Points in the box equal the annotated count for 2 of 2 objects." in text
    assert "Left out: 1 × unreadable frames." in text
    assert "0.pcd.bin: missing" in text
    assert not list(tmp_path.glob("*.png"))


def test_convert_from_a_mapping_file(tmp_path):
    writers.write_semantic_kitti(tmp_path / "semantic")
    (tmp_path / "map.toml").write_text('[classes]\nwalker = ["person"]\nmotor = ["car", "truck"]\n')
    assert run("convert", "semantic", "out.npz", "--classes", "map.toml", "--max-objects", "3") == 0
    objects = load_objects(tmp_path / "out.npz")
    assert objects.class_names == ("walker", "motor")
    assert len(objects) == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["inspect", "nowhere"], "nowhere: no such file or folder"),
        (["look"], "Unknown command 'look'. Commands: simulate, inspect, convert"),
        (["convert", "kitti", "out.txt"], "an object set is an .npz file; write for example out.npz"),
        (["convert", "kitti", "."], "an object set is an .npz file; write for example objects.npz"),
        (["convert", "kitti", "missing/out.npz"], "there is no folder"),
        (["inspect", "kitti", "--picture", "gallery"], "--picture gallery: no kind of picture; end its name in .png"),
        (["inspect", "kitti", "--picture", "missing/out.png"], "there is no folder"),
        (["convert", "kitti", "out.npz", "--classes", "car=Carr"], "Did you mean 'Car'?"),
        (["convert", "kitti", "out.npz", "--format", "nuscene"], "Did you mean nuscenes?"),
        (["simulate", "--out", "out.npz", "--per-class", "0"], "not both 0"),
        (["simulate", "--out", "out.npz", "--per-class", "1000000001"], "at most 1,000,000"),
    ],
)
def test_wrong_requests_exit_with_2_and_write_nothing(args, message, tmp_path, capsys):
    writers.write_kitti_object(tmp_path / "kitti")
    assert run(*args) == 2
    assert message in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["kitti"]


def test_help(capsys):
    assert run("--help") == 0
    assert "convert PATH FILE.npz" in capsys.readouterr().out
    assert run() == 2
    assert run("inspect", "--help") == 0


def test_markup_in_names_is_shown_as_it_is(tmp_path, capsys):
    (tmp_path / "odd" / "[red]car").mkdir(parents=True)
    np.save(tmp_path / "odd" / "[red]car" / "a.npy", np.random.default_rng(0).normal(size=(20, 3)))
    assert run("inspect", "odd", "--no-picture") == 0
    assert "[red]car" in capsys.readouterr().out
