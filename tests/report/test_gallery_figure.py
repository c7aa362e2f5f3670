"""The gallery and the scan figure show what is in the set."""

import dataclasses

import numpy as np
import pytest

from airbayes.data import from_clouds
from airbayes.data.simulator import SimulatorConfig, simulate
from airbayes.errors import DataError
from airbayes.report.gallery_figure import gallery_figure, project, spread_by_range
from airbayes.report.scan_figure import scan_figure


@pytest.fixture(scope="module")
def objects():
    return simulate(SimulatorConfig(), {"train": 9}, seed=0)


def test_one_panel_per_object_from_near_to_far(objects):
    figure = gallery_figure(objects, columns=3)
    titles = [axes.get_title() for axes in figure.axes]
    assert len(titles) == 6 * 3
    shown = [int(title.split(" m, ")[0]) for title in titles]
    for row in range(6):
        assert shown[3 * row : 3 * row + 3] == sorted(shown[3 * row : 3 * row + 3])
    assert figure.get_suptitle().startswith("Lidar objects from near to far, seen")
    assert figure.axes[0].get_ylabel() == "car"
    assert len(np.asarray(figure.axes[0].collections[0].get_offsets())) == int(titles[0].split(" m, ")[1].split()[0])


def test_objects_are_spread_over_the_ranks(objects):
    chosen = spread_by_range(objects, 2, 4)
    ranges = objects.range_m[objects.label == 2]
    assert (objects.label[chosen] == 2).all()
    assert objects.range_m[chosen[0]] == ranges.min()
    assert objects.range_m[chosen[-1]] == ranges.max()


def test_a_set_without_boxes_and_with_few_objects_is_drawn_too(tmp_path):
    clouds = [np.random.default_rng(k).normal(size=(k + 1, 3)) for k in range(3)]
    bare = from_clouds(clouds, np.array([0, 0, 2]), ("a", "unused", r"<b> $\wrong$"))
    figure = gallery_figure(bare)
    figure.savefig(tmp_path / "bare.png")
    assert sum(bool(axes.collections) for axes in figure.axes) == 3
    assert [axes.get_title() for axes in figure.axes[:2]] == ["2 points", "1 point"]
    assert figure.get_suptitle().startswith("Lidar objects from densest to sparsest, seen")
    partly = dataclasses.replace(bare, range_m=np.array([9, 5, np.nan], np.float32))
    assert "sparsest, then from near to far where the range is known" in gallery_figure(partly).get_suptitle()


@pytest.mark.parametrize("name", ["human.pedestrian.construction_worker", "x" * 200, "a name of many words " * 5])
def test_a_long_name_stays_beside_its_row(name):
    clouds = [np.random.default_rng(k).normal(size=(9, 3)) for k in range(2)]
    figure = gallery_figure(from_clouds(clouds, np.array([0, 1]), (name, "car")))
    figure.draw_without_rendering()
    rows = [axes for axes in figure.axes if axes.get_ylabel()]
    boxes = [axes.yaxis.label.get_window_extent() for axes in rows]
    assert boxes[0].y0 > boxes[1].y1
    assert boxes[0].y1 < figure.bbox.y1
    assert boxes[0].x0 >= 0


def test_the_eye_sees_up_as_up_and_right_as_right():
    """Looking along x, a point to the right (−y) moves right; a higher one up; lengths never grow."""
    seen = project(np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]), 0.0)
    assert seen[0, 0] > 0.8
    assert seen[1, 0] == pytest.approx(0)
    assert 0.9 < seen[1, 1] < 1


def test_scan_figure_shows_the_beams_in_rows(objects):
    figure = scan_figure(objects)
    elevation = np.asarray(figure.axes[0].collections[0].get_offsets())[:, 1]
    beams = np.array(SimulatorConfig().elevations_deg)
    assert np.abs(elevation[:, None] - beams).min(axis=1).max() < 0.02


def test_scan_figure_says_what_it_lacks(objects):
    bare = from_clouds([np.zeros((3, 3))], np.array([0]), ("a",))
    with pytest.raises(DataError, match="box"):
        scan_figure(bare)
    with pytest.raises(DataError, match="'car'"):
        scan_figure(objects.select(objects.label > 0))
