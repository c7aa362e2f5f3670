"""Splits: no instance on both sides, classes even, every object tested once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.data import ObjectSet, from_clouds
from airbayes.data.splits import cap_views, instance_disjoint_split, instance_folds
from airbayes.errors import DataError


def make(labels, instances, scenes=None, classes=3) -> ObjectSet:
    clouds = [np.full((1, 3), i, np.float32) for i in range(len(labels))]
    names = tuple(f"class{i}" for i in range(classes))
    scenes = ["a"] * len(labels) if scenes is None else scenes
    return from_clouds(clouds, np.array(labels, int), names, instance=[str(i) for i in instances], scene=scenes)


def random_set(seed: int, instances: int = 40) -> ObjectSet:
    """Instances of three classes with 1 to 12 views each, rows shuffled."""
    rng = np.random.default_rng(seed)
    instance = rng.permutation(np.repeat(np.arange(instances), rng.integers(1, 13, instances)))
    return make(instance % 3, instance, scenes=[f"s{i % 2}" for i in instance])


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), folds=st.integers(2, 8))
def test_folds_share_no_instance_and_balance_classes(seed, folds):
    objects = random_set(seed)
    fold = instance_folds(objects, folds, seed)
    assert fold.shape == (len(objects),)
    assert set(fold) == set(range(folds))
    for group in range(40):
        assert len(set(fold[objects.groups == group])) == 1
    counts = np.zeros((3, folds), int)
    for group in range(40):
        row = int(np.argmax(objects.groups == group))
        counts[objects.label[row], fold[row]] += 1
    assert (np.ptp(counts, axis=1) <= 1).all()
    assert np.ptp(counts.sum(axis=0)) <= 1


def test_folds_follow_the_seed_and_not_the_row_order():
    objects = random_set(0)
    fold = instance_folds(objects, 5, 7)
    order = np.random.default_rng(1).permutation(len(objects))
    np.testing.assert_array_equal(instance_folds(objects.select(order), 5, 7), fold[order])
    assert (instance_folds(objects, 5, 8) != fold).any()


def test_equal_instance_names_in_two_scenes_or_sources_are_two_objects():
    two_scenes = make([0, 0], [7, 7], scenes=["a", "b"])
    assert set(instance_folds(two_scenes, 2, 0)) == {0, 1}
    assert len(set(make([0, 0], [7, 7]).groups)) == 1


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), fraction=st.floats(0.05, 0.95))
def test_split_is_disjoint_complete_and_stratified(seed, fraction):
    objects = random_set(seed)
    train, test = instance_disjoint_split(objects, fraction, seed)
    assert sorted([*train, *test]) == list(range(len(objects)))
    assert not set(objects.groups[train]) & set(objects.groups[test])
    for label in range(3):
        total = len(set(objects.groups[objects.label == label]))
        tested = len(set(objects.groups[test][objects.label[test] == label]))
        assert tested == min(max(round(fraction * total), 1), total - 1)


def test_a_lone_instance_is_trained_on():
    train, test = instance_disjoint_split(make([0, 0, 0, 1], [0, 1, 2, 3]), 0.5, 0)
    assert 3 in train
    assert len(test) == 2


def test_an_instance_with_two_labels_stays_together():
    objects = make([0, 0, 1, 1, 0, 1], [5, 5, 5, 1, 2, 3])
    fold = instance_folds(objects, 2, 0)
    assert len(set(fold[:3])) == 1


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), cap=st.integers(1, 14))
def test_cap_keeps_as_many_views_as_allowed(seed, cap):
    objects = random_set(seed)
    rows = cap_views(objects, cap, seed)
    assert (np.diff(rows) > 0).all()
    before, after = np.bincount(objects.groups), np.bincount(objects.groups[rows], minlength=40)
    np.testing.assert_array_equal(after, np.minimum(before, cap))


def test_cap_draws_views_at_random():
    objects = make([0] * 20, [0] * 20)
    kept = np.concatenate([cap_views(objects, 5, seed) for seed in range(60)])
    assert set(kept) == set(range(20))
    assert np.bincount(kept).max() < 30  # 15 expected of each; a fixed choice would give 60


def test_senseless_requests_are_refused():
    objects = make([0, 1], [0, 1])
    with pytest.raises(DataError, match=r"folds = 3; need 2 to 2"):
        instance_folds(objects, 3, 0)
    with pytest.raises(DataError, match=r"test_fraction = 1\.0"):
        instance_disjoint_split(objects, 1.0, 0)
    with pytest.raises(DataError, match="max_views = 0"):
        cap_views(objects, 0, 0)
    empty = objects.select(np.zeros(2, bool))
    assert len(cap_views(empty, 3, 0)) == 0
