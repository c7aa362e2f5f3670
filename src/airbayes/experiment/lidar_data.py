"""The lidar objects of one seed: who trains on what, what is held out, and the clouds drawn from them.

Simulated objects are drawn anew for every seed. An object set is split by physical object: seed s is tested on fold
s mod folds, so as many seeds as folds test every object once. Part of the other folds' objects is the validation set.
"""

import dataclasses
from functools import lru_cache
from pathlib import Path

import numpy as np

from airbayes.data import ObjectSet
from airbayes.data.clouds import draw_clouds
from airbayes.data.metres import load_for_network
from airbayes.data.partition import partition, spread_in_total
from airbayes.data.simulator import CLASSES, SimulatorConfig, cached_objects, content_hash
from airbayes.data.splits import cap_views, instance_disjoint_split, instance_folds
from airbayes.errors import DataError
from airbayes.experiment.config import ExperimentConfig, LidarConfig
from airbayes.experiment.problem import DATA_STREAM
from airbayes.text import plural

SIMULATED = "simulated"
VALIDATION_SHARE = 0.15  # of the training objects of an object set


@dataclasses.dataclass(frozen=True)
class Clouds:
    inputs: np.ndarray  # f32 [example, point, 3]
    labels: np.ndarray  # i32 [example]
    rows: np.ndarray  # which object of the set each example shows


@dataclasses.dataclass(frozen=True)
class LidarSplit:
    objects: ObjectSet  # of the classes to learn
    source_rows: np.ndarray  # where each of them is in `source_objects`
    train: list[Clouds]  # one per agent
    validation: Clouds
    test: Clouds


@dataclasses.dataclass(frozen=True)
class SplitSizes:
    """Examples of the parts of one seed's data."""

    train: int  # of the agent that has most
    validation: int
    test: int


def class_names(settings: LidarConfig) -> tuple[str, ...]:
    """The classes to learn, in label order."""
    if not settings.source:
        raise DataError("lidar.source is empty; name an object set, --lidar.source FILE.npz, or 'simulated'.")
    if settings.source != SIMULATED and not Path(settings.source).exists():
        raise DataError(f"lidar.source = {settings.source!r} is not there; name an object set (.npz), or 'simulated'.")
    known = CLASSES if settings.source == SIMULATED else read_source(settings.source).class_names
    unknown = [name for name in settings.classes if name not in known]
    if unknown:
        raise DataError(f"lidar.classes holds {unknown[0]!r}; {settings.source} has {', '.join(known)}.")
    return settings.classes or known


def draw_split(config: ExperimentConfig, seed: int) -> LidarSplit:
    """All data of one seed; it depends on the seed and the lidar settings alone."""
    settings, agents = config.lidar, config.network.agents
    whole = source_objects(config, seed)
    objects = whole.with_classes(class_names(settings))
    learned = np.isin(whole.label, [whole.class_names.index(name) for name in objects.class_names])
    train, validation, test = (
        _by_scene(objects) if settings.source == SIMULATED else _by_instance(objects, settings, seed)
    )
    rng = np.random.default_rng([seed, DATA_STREAM])

    def clouds(rows: np.ndarray) -> Clouds:
        inputs = draw_clouds(objects, rows, settings.points, settings.scale_m, rng)
        return Clouds(inputs, objects.label[rows].astype(np.int32), rows)

    shared = [clouds(train[rows]) for rows in _shares(objects, train, settings, agents, rng)]
    return LidarSplit(objects, np.flatnonzero(learned), shared, clouds(validation), clouds(test))


def split_sizes(config: ExperimentConfig, seed: int) -> SplitSizes:
    """Those of `draw_split`, before anything is drawn: simulated objects are counted, not simulated."""
    settings, agents = config.lidar, config.network.agents
    if settings.source == SIMULATED:
        objects = _counted(settings, agents)
        train, validation, test = _by_scene(objects)
    else:
        objects = read_source(settings.source).with_classes(class_names(settings))
        train, validation, test = _by_instance(objects, settings, seed)
    shares = _shares(objects, train, settings, agents, np.random.default_rng([seed, DATA_STREAM]))
    return SplitSizes(max(map(len, shares)), len(validation), len(test))


def _shares(
    objects: "ObjectSet | Counted", train: np.ndarray, settings: LidarConfig, agents: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Which of the objects `train` every agent has."""
    return partition(
        objects.label[train],
        objects.scene[train],
        agents,
        per_agent(settings, agents),
        settings.partition,
        rng,
        concentration=settings.concentration,
        classes_per_agent=settings.classes_per_agent,
    )


@dataclasses.dataclass(frozen=True)
class Counted:
    """What is known of simulated objects before they are drawn, in their order."""

    label: np.ndarray  # i64 [object]
    scene: np.ndarray  # str [object], the split


def _counted(settings: LidarConfig, agents: int) -> Counted:
    """The objects of the classes to learn: a split after the other, in it a class after the other."""
    names, views = class_names(settings), SimulatorConfig().views
    learned = [names.index(name) for name in CLASSES if name in names]
    parts = [
        (np.repeat(learned, count * views), np.full(len(learned) * count * views, split))
        for split, count in _wanted(settings, agents).items()
    ]
    label, scene = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Counted(label, scene)


def source_objects(config: ExperimentConfig, seed: int) -> ObjectSet:
    """Everything the objects of a seed are taken from, all classes; stored predictions point into it."""
    settings = config.lidar
    if settings.source == SIMULATED:
        return cached_objects(SimulatorConfig(), _wanted(settings, config.network.agents), seed)
    return read_source(settings.source)


def per_agent(settings: LidarConfig, agents: int) -> int:
    """Examples per class of each agent."""
    return settings.per_class if settings.per_class_of == "agent" else spread_in_total(settings.per_class, agents)


@lru_cache(maxsize=4)
def read_source(path: str) -> ObjectSet:
    return load_for_network(Path(path))


def simulator_hash(settings: LidarConfig, agents: int, seed: int) -> str:
    """Names the simulated objects of a seed exactly; stored with the results."""
    return content_hash(SimulatorConfig(), _wanted(settings, agents), seed)


def _wanted(settings: LidarConfig, agents: int) -> dict[str, int]:
    """Objects per class and split."""
    return {
        "train": agents * per_agent(settings, agents),
        "validation": settings.validation_per_class,
        "test": settings.test_per_class,
    }


def _by_scene(objects: ObjectSet | Counted) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The simulator names its splits there."""
    train, validation, test = (np.flatnonzero(objects.scene == name) for name in ("train", "validation", "test"))
    return train, validation, test


def _by_instance(objects: ObjectSet, settings: LidarConfig, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    instances = len(np.unique(objects.groups))
    if settings.folds > instances:
        raise DataError(
            f"lidar.folds = {settings.folds}, but {settings.source} has {instances} instances of the classes to "
            "learn, and each fold needs one; use fewer folds, or a larger set."
        )
    draw, fold = divmod(seed, settings.folds)
    held_out = instance_folds(objects, settings.folds, draw) == fold
    few_views = np.zeros(len(objects), bool)
    few_views[cap_views(objects, settings.max_views, draw)] = True
    rest = np.flatnonzero(~held_out)
    inner_train, inner_held_out = instance_disjoint_split(objects.select(rest), VALIDATION_SHARE, seed)
    validation = rest[inner_held_out]
    train = rest[inner_train]
    for index, name in enumerate(objects.class_names):
        if not (objects.label[train] == index).any():
            there = plural(len(np.unique(objects.groups[objects.label == index])), "instance")
            raise DataError(
                f"{settings.source} has {there} of class {name!r}; without those held out, none is left to train "
                f"on in seed {seed}. Leave the class out with --lidar.classes, or use a larger set."
            )
    return train, validation[few_views[validation]], np.flatnonzero(held_out & few_views)
