"""Draws: reproducible, extendable without change, no object in two splits, named by a hash of all they depend on."""

import dataclasses

import numpy as np
import pytest

from airbayes.data.simulator import CLASSES, SimulatorConfig, content_hash, parameters_hash, simulate
from airbayes.data.simulator.shares import draw
from airbayes.errors import DataError

CONFIG = SimulatorConfig()
NAMES = ("points", "intensity", "label", "instance", "scene", "frame", "range_m", "box")


@pytest.fixture(scope="module")
def drawn():
    return simulate(CONFIG, {"train": 4, "test": 3}, seed=5)


def assert_same(one, other):
    for name in NAMES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_counts_labels_and_names(drawn):
    assert drawn.class_names == CLASSES
    assert len(drawn) == 6 * 7
    for split, count in (("train", 4), ("test", 3)):
        assert np.bincount(drawn.label[drawn.scene == split]).tolist() == [count] * 6
    assert set(drawn.source) == {"simulator"}
    np.testing.assert_allclose(drawn.range_m, np.linalg.norm(drawn.box[:, :3], axis=1), rtol=1e-6)


def test_objects_have_enough_points_inside_their_boxes(drawn):
    assert drawn.counts.min() >= CONFIG.min_points
    for index in range(len(drawn)):
        yaw, half = drawn.box[index, 6], drawn.box[index, 3:6] / 2
        c, s = np.cos(yaw), np.sin(yaw)
        local = drawn.cloud(index) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        assert (np.abs(local) <= half + 6 * CONFIG.range_noise).all()
    assert drawn.intensity.min() >= 0
    assert drawn.intensity.max() <= 1


def test_same_seed_same_objects_other_seed_others(drawn):
    assert_same(drawn, simulate(CONFIG, {"train": 4, "test": 3}, seed=5))
    other = simulate(CONFIG, {"train": 4, "test": 3}, seed=6)
    assert not set(map(tuple, drawn.box.tolist())) & set(map(tuple, other.box.tolist()))


@pytest.mark.parametrize("processes", [2, 3])
def test_the_number_of_processes_changes_no_byte(processes):
    config = dataclasses.replace(CONFIG, views=2)
    wanted = [(split, label, index) for split in ("train", "test") for label in range(6) for index in range(3)]
    alone, together = draw(config, wanted, 3, 1), draw(config, wanted, 3, processes)
    for field in dataclasses.fields(alone):
        one, other = np.asarray(getattr(alone, field.name)), np.asarray(getattr(together, field.name))
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes(), field.name


def test_processes_that_cannot_work_only_cost_time(monkeypatch):
    wanted = [("train", label, 0) for label in range(6)]
    monkeypatch.setattr("sys.executable", "false")
    assert_same(draw(CONFIG, wanted, 3, 2), draw(CONFIG, wanted, 3, 1))
    with pytest.raises(DataError, match="No view with 100000 points"):
        draw(dataclasses.replace(CONFIG, min_points=100_000), wanted, 3, 2)


def test_more_objects_and_other_splits_change_nothing(drawn):
    more = simulate(CONFIG, {"test": 5, "train": 4}, seed=5)
    first = [int(name.rsplit("-", 1)[1]) < 3 for name in more.instance]
    assert_same(more.select(np.array(first) & (more.scene == "test")), drawn.select(drawn.scene == "test"))
    assert_same(more.select(more.scene == "train"), drawn.select(drawn.scene == "train"))


def test_splits_share_no_physical_object(drawn):
    assert len(np.unique(drawn.groups)) == len(drawn)
    sizes = [tuple(row) for row in drawn.box[:, 3:6].tolist()]
    assert len(set(sizes)) == len(drawn)


def test_views_share_the_body_and_not_the_place():
    config = dataclasses.replace(CONFIG, views=3)
    seen = simulate(config, {"train": 2}, seed=0)
    assert len(seen) == 6 * 2 * 3
    for group in np.unique(seen.groups):
        mine = seen.select(seen.groups == group)
        assert mine.frame.tolist() == [0, 1, 2]
        assert len(np.unique(mine.box[:, 3:6], axis=0)) == 1
        assert len(np.unique(mine.box[:, 0])) == 3


def test_the_draw_of_this_version_is_pinned():
    """Whoever changes what is drawn must raise SIMULATOR_VERSION, and then renew these numbers.

    Sums and not a hash of the bits: another processor may round the last digit of a point the other way.
    """
    pinned = simulate(CONFIG, {"pinned": 3}, seed=1)
    assert len(pinned.points) == pytest.approx(PINNED_POINTS, rel=1e-3)
    assert np.abs(pinned.points).sum(dtype=float) == pytest.approx(PINNED_SUM, rel=1e-3)
    assert pinned.intensity.sum(dtype=float) == pytest.approx(PINNED_LIGHT, rel=1e-3)
    np.testing.assert_allclose(pinned.box[::5, 3], PINNED_LENGTHS, atol=2e-3)


PINNED_POINTS, PINNED_SUM, PINNED_LIGHT = 11_584, 46_496.7, 3_271.3
PINNED_LENGTHS = (4.156, 7.450, 0.690, 1.815)


def test_frozen_parameters():
    """The studies' parameters: their hash is stored with the results, so it must not change unnoticed."""
    assert parameters_hash(CONFIG) == "70cddea64855679024208e6a38e86519b7f346ad5c2a4965d335dc3c6614c595"


def test_hash_depends_on_everything_that_the_draw_depends_on():
    base = (CONFIG, {"train": 4}, 0)
    changed = [
        (dataclasses.replace(CONFIG, occlusion=0.41), {"train": 4}, 0),
        (CONFIG, {"train": 5}, 0),
        (CONFIG, {"test": 4}, 0),
        (CONFIG, {"train": 4, "test": 1}, 0),
        (CONFIG, {"train": 4}, 1),
    ]
    assert len({content_hash(*each) for each in [base, *changed]}) == 6
    assert content_hash(*base) == content_hash(SimulatorConfig(), {"train": 4}, 0)


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(DataError, match="Seed -1"):
        simulate(CONFIG, {"train": 1}, seed=-1)
    with pytest.raises(DataError, match="'train': -2"):
        simulate(CONFIG, {"train": -2}, seed=0)
    blind = dataclasses.replace(CONFIG, elevations_deg=(80.0,), occlusion=0.0)
    with pytest.raises(DataError, match="lower min_points"):
        simulate(blind, {"train": 1}, seed=0)


def test_nothing_asked_nothing_drawn():
    assert len(simulate(CONFIG, {"train": 0}, seed=0)) == 0
