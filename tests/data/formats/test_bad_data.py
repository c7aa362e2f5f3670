"""Data sets with something wrong: the message says where and what, and --skip-bad goes on without it."""

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from data.formats import writers

from airbayes.data.formats import detect_format, load
from airbayes.data.formats.classes import parse_classes
from airbayes.data.formats.json_table import read_table
from airbayes.errors import DataError


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def check(root: Path, message: str, kept: int, skipped: dict[str, int]) -> None:
    """Refused with the message and what helps; with skip_bad, `kept` objects and these counts."""
    with pytest.raises(DataError, match=message) as refused:
        load(root)
    assert str(refused.value).count("--skip-bad") == 1
    objects, report = load(root, skip_bad=True)
    assert len(objects) == report.kept == kept
    assert report.skipped == skipped
    assert len(report.messages) > 0


def test_a_label_with_too_few_columns(tmp_path):
    writers.write_kitti_object(tmp_path)
    edit(tmp_path / "training/label_2/000000.txt", "Pedestrian 0.00 0 ", "Pedestrian ")
    check(tmp_path, r"000000\.txt, line 2: 13 columns; a label has 15", 2, {"bad labels": 1})


def test_a_label_with_a_word_for_a_number(tmp_path):
    writers.write_kitti_tracking(tmp_path)
    edit(tmp_path / "training/label_02/0003.txt", "4.500000000", "long")
    check(tmp_path, r"0003\.txt, line 1: 'long' is not a number", 3, {"bad labels": 1})


def test_a_missing_calibration(tmp_path):
    writers.write_kitti_object(tmp_path)
    (tmp_path / "training/calib/000001.txt").unlink()
    check(tmp_path, r"calib/000001\.txt: missing", 2, {"unreadable frames": 1})


def test_a_calibration_that_mirrors(tmp_path):
    writers.write_kitti_object(tmp_path)
    path = tmp_path / "training/calib/000001.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join("R0_rect: -1 0 0 0 1 0 0 0 1" if line.startswith("R0_rect") else line for line in lines))
    check(tmp_path, r"R0_rect: .* is not a rotation", 2, {"unreadable frames": 1})


def test_a_sweep_that_is_cut_off(tmp_path):
    writers.write_kitti_object(tmp_path)
    path = tmp_path / "training/velodyne/000000.bin"
    path.write_bytes(path.read_bytes()[:-3])
    check(tmp_path, r"000000\.bin, byte \d+: 13 bytes left over", 1, {"unreadable frames": 1})


def test_labels_for_another_sweep(tmp_path):
    writers.write_semantic_kitti(tmp_path)
    path = tmp_path / "sequences/08/labels/000001.label"
    path.write_bytes(path.read_bytes()[4:])
    check(tmp_path, r"labels for \d+ points. Do they belong together", 2, {"unreadable frames": 1})


def test_nan_in_a_sweep(tmp_path):
    writers.write_semantic_kitti(tmp_path)
    path = tmp_path / "sequences/08/velodyne/000001.bin"
    path.write_bytes(struct.pack("<f", np.nan) + path.read_bytes()[4:])
    check(tmp_path, r"000001\.bin: point 0 is at \[nan", 4, {"points with bad coordinates": 1})


def test_an_annotation_without_a_class(tmp_path):
    writers.write_nuscenes(tmp_path)
    edit(tmp_path / "v1.0-mini/instance.json", '"category_token": "c"', '"category_token": "?"')
    check(tmp_path, r"sample_annotation\.json, character 2: no class for instance '7'", 2, {"bad annotations": 2})


def test_a_table_that_leads_out_of_the_data_set(tmp_path):
    writers.write_nuscenes(tmp_path / "data")
    edit(tmp_path / "data/v1.0-mini/sample_data.json", "samples/LIDAR_TOP/0.pcd.bin", "../secret.bin")
    (tmp_path / "secret.bin").write_bytes(bytes(20 * 40))
    check(tmp_path / "data", r"'\.\./secret\.bin' leads out of the data set", 2, {"unreadable frames": 1})


def test_a_sydney_name_without_a_scan(tmp_path):
    writers.write_sydney(tmp_path)
    (tmp_path / "objects/car.bin").write_bytes(bytes(34))
    check(tmp_path, r"car\.bin: the name must be class\.instance\.scan", 3, {"unreadable files": 1})


def test_argoverse_annotations_of_a_sweep_that_is_not_there(tmp_path):
    pytest.importorskip("pyarrow", reason="Argoverse 2 needs the extra lidar")
    writers.write_argoverse2(tmp_path)
    sorted((tmp_path / "val/log-a/sensors/lidar").iterdir())[0].unlink()
    check(tmp_path, r"315966070559696000\.feather: missing", 2, {"unreadable sweeps": 1})


def test_a_feather_file_may_not_unpack_to_gigabytes(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow", reason="Argoverse 2 needs the extra lidar")
    from pyarrow import feather

    from airbayes.data.formats.feather import read_feather

    zeros = np.zeros(20_000_000)
    path = tmp_path / "bomb.feather"
    feather.write_feather(pa.table(dict.fromkeys("abcdefg", zeros)), path, compression="zstd")
    assert path.stat().st_size < 2_000_000
    with pytest.raises(DataError, match=r"promises 1,120,\d+,\d+ bytes when unpacked; the limit is 1,073,741,824"):
        read_feather(path, ["a"], [])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'airbayes\[lidar\]'"):
        read_feather(path, ["a"], [])


def test_large_json_tables_are_read_piece_by_piece(tmp_path):
    rows = [{"token": str(i), "text": "x" * 1000, "nested": [{"a": "]}"}]} for i in range(3000)]  # 3 MB: many pieces
    path = tmp_path / "table.json"
    path.write_text(json.dumps(rows, indent=1))
    assert [record.text("token") for record in read_table(path)] == [row["token"] for row in rows]
    path.write_text(json.dumps(rows)[:-5])
    with pytest.raises(DataError, match=r"table\.json, character 3\d{6}: not valid JSON"):
        list(read_table(path))
    path.write_text("[]")
    assert list(read_table(path)) == []
    path.write_text('[{"a": 1}, 5]')
    with pytest.raises(DataError, match=r"character 11: a list of objects is needed; found '5'"):
        list(read_table(path))


def test_nothing_left_is_an_error_that_says_why(tmp_path):
    writers.write_kitti_object(tmp_path)
    with pytest.raises(DataError, match=r"no objects. Left out: 3 fewer than 1000 points; 2 of class DontCare"):
        load(tmp_path, min_points=1000)


def test_limits_on_objects_and_points(tmp_path):
    writers.write_kitti_object(tmp_path)
    assert len(load(tmp_path, max_objects=2)[0]) == 2
    with pytest.raises(DataError, match=r"more than 120 points in all. Load fewer with --max-objects"):
        load(tmp_path, max_points=120)
    with pytest.raises(DataError, match="max_objects = 0"):
        load(tmp_path, max_objects=0)


def test_classes_are_the_users_choice(tmp_path):
    writers.write_kitti_object(tmp_path)
    objects, report = load(tmp_path, classes={"Pedestrian": "walker", "Car": "motor", "Van": "motor"})
    assert objects.class_names == ("walker", "motor")
    assert sorted(zip(objects.source_class, objects.label.tolist(), strict=True)) == [
        ("Car", 1),
        ("Car", 1),
        ("Pedestrian", 0),
    ]
    assert report.left_out == {"DontCare": 2}
    with pytest.raises(
        DataError, match=r"No class 'Pedestrain' in this kitti_object data. Did you mean 'Pedestrian'\?"
    ):
        load(tmp_path, classes={"Pedestrain": "walker", "Car": "car"})


def test_class_mappings_as_text_and_toml(tmp_path):
    assert parse_classes(["car=Car,Van", "walker = Pedestrian"]) == {"Car": "car", "Van": "car", "Pedestrian": "walker"}
    assert parse_classes([]) is None
    path = tmp_path / "classes.toml"
    path.write_text('\ufeff[classes]\r\ncar = ["Car", "Van"]\r\n', encoding="utf-8")  # as editors of Windows write
    assert parse_classes([str(path)]) == {"Car": "car", "Van": "car"}
    for items, message in [
        (["car"], "write CLASS=SOURCE"),
        (["car="], "'car' has no source class"),
        (["car=Car", "van=Car"], "'Car' is given to 'car' and 'van'"),
    ]:
        with pytest.raises(DataError, match=message):
            parse_classes(items)
    for text, message in [
        ("[classes", "not valid TOML"),
        ("x = 1", r"no table \[classes\]"),
        ('[classes]\ncar = "Car"', "list of names"),
    ]:
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            parse_classes([str(path)])


def test_unknown_layouts_and_formats(tmp_path):
    with pytest.raises(DataError, match="no such file or folder"):
        detect_format(tmp_path / "nowhere")
    with pytest.raises(DataError, match="the folder is empty"):
        detect_format(tmp_path)
    (tmp_path / "README.txt").write_text("nothing yet")
    with pytest.raises(DataError, match="in no known layout"):
        detect_format(tmp_path)
    (tmp_path / "a.pcd").write_text("")
    with pytest.raises(DataError, match=r"clouds without a class\. Give each class a folder .*car/a\.pcd.*predict RUN"):
        detect_format(tmp_path)
    with pytest.raises(DataError, match=r"a\.pcd: a single cloud\. .* mine/car/a\.pcd; `airbayes predict"):
        detect_format(tmp_path / "a.pcd")
    for name, says in (("a.csv", "a single cloud"), ("a.las", r"unknown kind of file.* may be \.npy, .*\.txt\.")):
        (tmp_path / "file").mkdir(exist_ok=True)
        (tmp_path / "file" / name).write_text("")
        with pytest.raises(DataError, match=says):
            detect_format(tmp_path / "file" / name)
        (tmp_path / "file" / name).unlink()
    (tmp_path / "a.pcd").unlink()
    with pytest.raises(DataError, match="Did you mean kitti_object"):
        load(tmp_path, "kitti_objects")
    (tmp_path / "001/annotations/cuboids").mkdir(parents=True)
    (tmp_path / "001/lidar").mkdir()
    with pytest.raises(DataError, match="unpickling a file can run any code"):
        load(tmp_path)


def test_odd_names_are_not_shown_raw(tmp_path):
    writers.write_kitti_object(tmp_path)
    edit(tmp_path / "training/label_2/000000.txt", "Car 0.00", "Ca\x1b[31mr 0.00")
    with pytest.raises(DataError, match=r"line 1: 'Ca\?\[31mr' is no name") as caught:
        load(tmp_path)
    assert "\x1b" not in str(caught.value)


def test_class_folders_without_point_files_say_what_they_hold(tmp_path):
    for name in ("deep/car/x/y/a.csv", "las/car/a.las", "las/cone/a.csv", "flat/a.csv", "hidden/car/.a.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x,y,z\n" + "1,2,3\n" * 12)
    (tmp_path / "none").mkdir()
    for name, format, says in (
        ("deep", "auto", r"in no known layout.*deep/car: point files lie too deep, as .*car/x/y/a\.csv"),
        ("deep", "class_folder", r"deep/car: point files lie too deep.*Move them to car/FILE or car/OBJECT/FILE"),
        ("las", "auto", r"las/car: no point files: it holds \.las\. Known are \.npy"),
        ("hidden", "class_folder", r"hidden/car: no point files: it holds hidden files\. Known"),
        ("flat", "auto", r"clouds without a class.*`airbayes predict RUN .*flat/\*` takes them as they are"),
        ("none", "class_folder", r"none: no folders in it; need one for each class"),
    ):
        with pytest.raises(DataError, match=says):
            load(tmp_path / name, format)
    objects, report = load(tmp_path / "las", skip_bad=True)
    assert len(objects) == 1
    assert report.skipped["class folders without point files"] == 1


def test_parts_of_a_data_set_are_neither_classes_nor_objects(tmp_path):
    for part in ("Train", "test"):
        for name in (f"outside/{part}/car", f"outside/{part}/cone", f"inside/car/{part}", f"inside/cone/{part}"):
            (tmp_path / name).mkdir(parents=True)
            for number in range(3):
                (tmp_path / name / f"{number}.csv").write_text("x,y,z\n" + "1,2,3\n" * 12)
    for beside in ("outside", "outside/pictures"):  # classes neither where another folder is beside them
        (tmp_path / beside).mkdir(exist_ok=True)
        with pytest.raises(DataError, match=r"outside: Train, test: parts of a data set, not classes.*outside/Train\."):
            load(tmp_path / "outside")
    assert load(tmp_path / "outside/test")[0].class_names == ("car", "cone")
    assert len(set(load(tmp_path / "inside")[0].instance.tolist())) == 12
    (tmp_path / "outside/test").rename(tmp_path / "outside/cars")  # leaves one such name: a railway's train
    for number in range(3):
        (tmp_path / f"outside/Train/{number}.csv").write_text("x,y,z\n" + "1,2,3\n" * 12)
    assert "Train" in load(tmp_path / "outside", skip_bad=True)[0].class_names


def test_classes_of_other_names_say_how_they_are_taken(tmp_path):
    writers.write_kitti_object(tmp_path)
    for file in (tmp_path / "training/label_2").iterdir():
        file.write_text(re.sub(r"^(?!DontCare)\w+", "Auto", file.read_text(), flags=re.MULTILINE))
    with pytest.raises(DataError, match=r"no objects\. .* of class Auto.*--classes car='Auto'\."):
        load(tmp_path)
