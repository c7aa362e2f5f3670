"""Every loader on files of its format: the objects come out where, how long and which way round they were put in."""

import numpy as np
import pytest
from data.formats import writers

from airbayes.data.formats import detect_format, load

ALL = {
    "kitti_object": writers.write_kitti_object,
    "kitti_tracking": writers.write_kitti_tracking,
    "semantic_kitti": writers.write_semantic_kitti,
    "sydney": writers.write_sydney,
    "nuscenes": writers.write_nuscenes,
    "argoverse2": writers.write_argoverse2,
    "class_folder": writers.write_class_folder,
}
BOXED = ("kitti_object", "kitti_tracking", "nuscenes", "argoverse2")
GROUPS = {
    "kitti_object": 3,  # no identities: every view is an object
    "kitti_tracking": 2,
    "semantic_kitti": 2,
    "sydney": 3,
    "nuscenes": 2,
    "argoverse2": 2,
    "class_folder": 14,
}


def write(name: str, root):
    if name == "argoverse2":
        pytest.importorskip("pyarrow", reason="Argoverse 2 needs the extra lidar")
    return ALL[name](root)


def sort_rows(points: np.ndarray) -> np.ndarray:
    return points[np.lexsort(np.round(points, 2).T)]


def match(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest distance from a point to its nearest counterpart, both ways."""
    distance = np.linalg.norm(found[:, None] - expected[None], axis=2)
    return float(max(distance.min(axis=0).max(), distance.min(axis=1).max()))


@pytest.mark.parametrize("name", ALL)
def test_objects_come_out_as_they_were_put_in(name, tmp_path):
    things = write(name, tmp_path)
    assert detect_format(tmp_path) == name
    objects, report = load(tmp_path)
    assert report.kept == len(objects) == len(things)
    assert report.skipped == {}
    assert {str(source) for source in objects.source} == {name}
    left = list(range(len(objects)))
    for thing in things:
        middle = (thing.points.min(axis=0) + thing.points.max(axis=0)) / 2
        expected = thing.points - (thing.centre if name in BOXED else middle)
        same = [i for i in left if len(objects.cloud(i)) == len(expected) and match(objects.cloud(i), expected) < 0.01]
        assert same, f"{thing.kind} {thing.instance} did not come out as it was put in"
        row = same[0]
        left.remove(row)
        assert objects.class_names[objects.label[row]] == thing.kind
        if name != "class_folder":
            assert objects.range_m[row] == pytest.approx(np.linalg.norm(thing.centre), abs=0.3)
        if name in BOXED:
            np.testing.assert_allclose(objects.box[row, :6], [*thing.centre, *thing.size], atol=1e-4)
            assert np.angle(np.exp(1j * (objects.box[row, 6] - thing.yaw))) == pytest.approx(0, abs=1e-4)
    assert left == []
    assert len(set(objects.groups)) == GROUPS[name]


@pytest.mark.parametrize("name", BOXED)
def test_a_car_is_long_wide_high_and_the_right_way_round(name, tmp_path):
    write(name, tmp_path)
    objects, _ = load(tmp_path)
    for row in np.flatnonzero(objects.label == objects.class_names.index("car")).tolist():
        yaw = objects.box[row, 6]
        ahead, left = np.array([np.cos(yaw), np.sin(yaw), 0]), np.array([-np.sin(yaw), np.cos(yaw), 0])
        cloud = objects.cloud(row)
        extent = [np.ptp(cloud @ axis) for axis in (ahead, left, np.array([0, 0, 1.0]))]
        np.testing.assert_allclose(extent, [4.44, 1.74, 1.44], atol=0.06)
        roof = cloud[cloud[:, 2] > 0.2]
        assert len(roof) >= 20  # the cabin is up
        assert (roof @ ahead).mean() < -0.4  # and in the rear half
        mirror = cloud[(np.abs(cloud[:, 2] - 0.22) < 0.08) & (np.abs(cloud @ ahead - 0.67) < 0.08)]
        assert len(mirror) >= 8
        assert (mirror @ left > 0.7).all()  # on the left: nothing is mirrored


@pytest.mark.parametrize("name", ["nuscenes", "argoverse2"])
def test_points_in_boxes_equal_the_annotated_counts(name, tmp_path):
    write(name, tmp_path)
    assert load(tmp_path)[1].annotated == (4, 4)


def test_roofs_are_up_without_boxes_too(tmp_path):
    for name in ("semantic_kitti", "sydney"):
        things = write(name, tmp_path / name)
        objects, _ = load(tmp_path / name)
        assert len(things) == len(objects)
        for row in np.flatnonzero(objects.label == 0).tolist():
            cloud = objects.cloud(row)
            low, high = cloud[cloud[:, 2] < 0], cloud[cloud[:, 2] > 0]
            assert (
                np.ptp(low[:, :2], axis=0).max() > np.ptp(high[:, :2], axis=0).max()
            )  # the body is longer than the cabin


def test_moving_and_parked_cars_are_one_instance(tmp_path):
    writers.write_semantic_kitti(tmp_path)
    objects, _ = load(tmp_path)
    cars = objects.label == objects.class_names.index("car")
    assert set(objects.instance[cars]) == {"car-7"}
    assert set(objects.frame[cars]) == {0, 1}
    assert set(objects.scene) == {"08"}


def test_semantic_kitti_may_be_given_as_sequences_or_as_one(tmp_path):
    writers.write_semantic_kitti(tmp_path)
    for path in (tmp_path / "sequences", tmp_path / "sequences/08"):
        assert detect_format(path) == "semantic_kitti"
        objects, _ = load(path)
        assert len(objects) == 4
        assert set(objects.scene) == {"08"}


def test_tracks_keep_their_name_scene_and_frame(tmp_path):
    writers.write_kitti_tracking(tmp_path)
    objects, report = load(tmp_path)
    assert sorted(zip(objects.scene, objects.instance, objects.frame.tolist(), strict=True)) == [
        ("0003", "7", 0),
        ("0003", "7", 1),
        ("0003", "9", 0),
        ("0003", "9", 1),
    ]
    assert report.left_out == {"DontCare": 2}


def test_sydney_folds_become_scenes(tmp_path):
    writers.write_sydney(tmp_path)
    objects, _ = load(tmp_path)
    assert dict(zip(objects.instance, objects.scene, strict=True)) == {
        "car.7": "fold0",
        "car.8": "fold1",
        "pedestrian.9": "fold1",
    }
    assert objects.frame.tolist() == [100, 300, 200]


def test_intensities_are_between_0_and_1(tmp_path):
    for name in ALL:
        write(name, tmp_path / name)
        objects, _ = load(tmp_path / name)
        assert objects.intensity.min() >= 0
        assert 0.3 < objects.intensity.max() <= 1, name


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_argoverse_compressions(compression, tmp_path):
    pytest.importorskip("pyarrow", reason="Argoverse 2 needs the extra lidar")
    writers.write_argoverse2(tmp_path, compression)
    assert len(load(tmp_path / "val" / "log-a")[0]) == 4  # a single log will do


def test_object_sets_pass_through(tmp_path):
    path = writers.write_object_set(tmp_path)
    objects, report = load(path)
    assert report.format == "object_set"
    assert objects.source.tolist() == ["test"] * 3
    assert objects.instance.tolist() == ["7", "9", "8"]
    few, report = load(path, classes={"car": "vehicle"}, min_points=5, max_objects=1)
    assert few.class_names == ("vehicle",)
    assert len(few) == 1
    assert report.left_out == {"pedestrian": 1}
