"""Who holds which training examples, and the clouds drawn from them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.data import from_clouds
from airbayes.data.clouds import draw_cloud, draw_clouds
from airbayes.data.partition import partition, spread_in_total
from airbayes.errors import DataError

LABEL = np.repeat(np.arange(6), 50)
SCENE = np.array([f"scene {index % 7}" for index in range(300)])


def counts(label, parts):
    return np.array([[np.sum(label[rows] == value) for value in range(6)] for rows in parts])


def test_iid_gives_everyone_the_same_number_of_every_class_and_shares_no_object():
    parts = partition(LABEL, SCENE, 5, 10, "iid", np.random.default_rng(0))
    assert (counts(LABEL, parts) == 10).all()
    assert len(np.unique(np.concatenate(parts))) == 300


def test_a_small_class_is_gone_through_again_evenly():
    label = np.array([0] * 7 + [1] * 100)
    parts = partition(label, np.full(107, ""), 5, 8, "iid", np.random.default_rng(0))
    used = np.bincount(np.concatenate(parts), minlength=107)[:7]
    assert used.sum() == 40
    assert used.max() - used.min() <= 1


def test_dirichlet_is_uneven_when_concentrated_and_even_when_not():
    def spread(concentration):
        parts = partition(LABEL, SCENE, 5, 10, "dirichlet", np.random.default_rng(1), concentration=concentration)
        assert (counts(LABEL, parts).sum(axis=0) == 50).all()
        return counts(LABEL, parts).std()

    assert spread(0.1) > 10
    assert spread(1e4) < 1


@given(st.integers(1, 12), st.integers(1, 9), st.floats(1e-3, 50), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_no_agent_is_left_with_nothing(agents, per_class, concentration, seed):
    rng = np.random.default_rng(seed)
    parts = partition(LABEL, SCENE, agents, per_class, "dirichlet", rng, concentration=concentration)
    assert len(parts) == agents
    assert min(len(part) for part in parts) >= 1


@pytest.mark.parametrize(("agents", "held"), [(5, 2), (3, 2), (2, 1), (6, 1), (9, 3)])
def test_by_class_covers_all_classes_with_few_each(agents, held):
    parts = partition(LABEL, SCENE, agents, 6, "by-class", np.random.default_rng(0), classes_per_agent=held)
    found = counts(LABEL, parts)
    assert (found.sum(axis=0) == agents * 6).all()
    assert ((found > 0).sum(axis=1) <= max(held, -(-6 // agents))).all()


def test_by_scene_shares_no_scene_and_refuses_too_few():
    parts = partition(LABEL, SCENE, 3, 10, "by-scene", np.random.default_rng(0))
    owners = [set(SCENE[rows]) for rows in parts]
    assert not (owners[0] & owners[1]) | (owners[0] & owners[2]) | (owners[1] & owners[2])
    assert (counts(LABEL, parts) == 10).all()
    with pytest.raises(DataError, match="7"):
        partition(LABEL, SCENE, 8, 10, "by-scene", np.random.default_rng(0))


def test_examples_in_total_must_divide():
    assert spread_in_total(40, 5) == 8
    with pytest.raises(DataError, match="42 examples per class do not divide over 5 agents; take 40"):
        spread_in_total(42, 5)


def test_clouds_are_centred_scaled_and_drawn_from_the_object():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(200, 3)).astype(np.float32) + np.array([5, -3, 1])
    objects = from_clouds([cloud, cloud[:12]], np.array([0, 1]), ("a", "b"))
    few, many = draw_clouds(objects, np.array([1, 0]), 64, 2.0, rng)
    originals = (cloud - cloud.mean(axis=0)) / 2
    nearest = np.abs(many[:, None] - originals[None]).max(axis=2).min(axis=1)
    assert nearest.max() < 1e-5
    assert len(np.unique(many, axis=0)) == 64  # enough points: none twice
    assert len(np.unique(few, axis=0)) <= 12
    assert draw_clouds(objects, np.zeros(0, int), 64, 2.0, rng).shape == (0, 64, 3)


def test_moving_an_object_does_not_change_its_cloud():
    cloud = np.random.default_rng(0).normal(size=(30, 3))
    first = draw_cloud(cloud, 16, 3.0, np.random.default_rng(1))
    moved = draw_cloud(cloud + np.array([100, -50, 3]), 16, 3.0, np.random.default_rng(1))
    np.testing.assert_allclose(first, moved, atol=1e-5)
