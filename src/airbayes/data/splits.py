"""Train and test sets that share no physical object.

Many rows are views of one object; views of an object on both sides would let a model recognise it instead of its class.
"""

import numpy as np

from airbayes.data.objects import ObjectSet
from airbayes.errors import DataError


def instance_folds(objects: ObjectSet, folds: int, seed: int) -> np.ndarray:
    """The fold i64 [object], 0 to folds-1, in which each object is tested.

    All views of an instance share a fold. Every class's instances are dealt out in turn, so that their number differs
    by at most one between folds; the number of views may differ more (see cap_views).
    """
    group, group_class = _group_classes(objects)
    if folds < 2 or folds > len(group_class):
        raise DataError(f"folds = {folds}; need 2 to {len(group_class)}, the number of distinct instances.")
    rng = np.random.default_rng(seed)
    fold = np.zeros(len(group_class), np.int64)
    dealt = 0  # the next class goes on where the last one stopped, so that the folds' totals are even too
    for label in range(len(objects.class_names)):
        members = rng.permutation(np.flatnonzero(group_class == label))
        fold[members] = (dealt + np.arange(len(members))) % folds
        dealt += len(members)
    return fold[group]


def instance_disjoint_split(objects: ObjectSet, test_fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows for training and rows for testing, ascending: about test_fraction of every class's instances are tested.

    A class with two or more instances has at least one on each side; a lone instance is trained on.
    """
    if not 0 < test_fraction < 1:
        raise DataError(f"test_fraction = {test_fraction}; need a number between 0 and 1, for example 0.2.")
    group, group_class = _group_classes(objects)
    rng = np.random.default_rng(seed)
    tested = np.zeros(len(group_class), bool)
    for label in range(len(objects.class_names)):
        members = rng.permutation(np.flatnonzero(group_class == label))
        if len(members) >= 2:
            tested[members[: np.clip(round(test_fraction * len(members)), 1, len(members) - 1)]] = True
    return np.flatnonzero(~tested[group]), np.flatnonzero(tested[group])


def cap_views(objects: ObjectSet, max_views: int, seed: int) -> np.ndarray:
    """Rows, ascending, with at most max_views of each instance, drawn at random: no object weighs too much."""
    if max_views < 1:
        raise DataError(f"max_views = {max_views}; need at least 1.")
    order, groups = np.random.default_rng(seed).permutation(len(objects)), objects.groups
    by_group = order[np.argsort(groups[order], kind="stable")]
    group = groups[by_group]
    starts = np.concatenate([[True], group[1:] != group[:-1]]) if len(group) else np.zeros(0, bool)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(group)), 0))
    return np.sort(by_group[np.arange(len(group)) - first < max_views])


def _group_classes(objects: ObjectSet) -> tuple[np.ndarray, np.ndarray]:
    """The group of every object and the class of every group: the one most of its views have."""
    group = objects.groups
    votes = np.zeros((int(group.max(initial=-1)) + 1, len(objects.class_names)), np.int64)
    np.add.at(votes, (group, objects.label), 1)
    return group, votes.argmax(axis=1)
