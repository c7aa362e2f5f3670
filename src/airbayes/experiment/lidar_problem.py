"""PointNet on lidar objects: the study of the paper."""

import hashlib
import math
from functools import lru_cache
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from airbayes.experiment.class_problem import ClassData, ClassProblem, Origin
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.lidar_data import (
    SIMULATED,
    Clouds,
    LidarSplit,
    SplitSizes,
    class_names,
    draw_split,
    simulator_hash,
    split_sizes,
)
from airbayes.experiment.predictive_observer import LabelledSet
from airbayes.models import Augmentation, pointnet, stack_agents


class LidarProblem(ClassProblem):
    def __init__(self, config: ExperimentConfig, only_shapes: bool = False):
        """only_shapes: clouds of zeros stand in for the data, for who wants to know how large it is."""
        self.config, self.only_shapes = config, only_shapes
        self.num_agents = config.network.agents
        self.class_names = class_names(config.lidar)
        self.model = self.classifier = self.pointnet = pointnet(len(self.class_names))
        self.split = lru_cache(maxsize=None)(self._split)
        self.sizes = lru_cache(maxsize=None)(self._sizes)
        self.draw = lru_cache(maxsize=None)(self._draw)

    def class_data(self, seed: int) -> ClassData:
        return self.draw(seed)

    def _split(self, seed: int) -> LidarSplit:
        return draw_split(self.config, seed)

    def _sizes(self, seed: int) -> SplitSizes:
        return split_sizes(self.config, seed)

    def _draw(self, seed: int) -> ClassData:
        """Padded to the largest of all seeds, so that cells of different seeds stack."""
        config, on_test = self.config, self.config.lidar.evaluate_on == "test"
        seeds = {seed, *range(config.first_seed, config.first_seed + config.seeds)}
        sizes = [self.sizes(each) for each in seeds]
        examples, validation = max(each.train for each in sizes), max(each.validation for each in sizes)
        held_out = max(each.test for each in sizes) if on_test else validation
        if self.only_shapes:
            return self._blank(examples, held_out, validation if on_test else None)
        split = self.split(seed)
        train = stack_agents([part.inputs for part in split.train], [part.labels for part in split.train], examples)
        # Nothing is chosen on the examples that are scored.
        chosen_on = _labelled(split.validation, validation) if on_test else None
        seen = self._seen(split)
        origins = _origin(split, seen), _origin(split, split.validation)
        return ClassData(train, _labelled(seen, held_out), chosen_on, *origins)

    def _blank(self, examples: int, held_out: int, validation: int | None) -> ClassData:
        def clouds(count: int) -> Clouds:
            nothing = np.zeros(count, np.int32)
            return Clouds(np.zeros((count, self.config.lidar.points, 3), np.float32), nothing, nothing)

        train = self.num_agents * [clouds(examples)]
        return ClassData(
            stack_agents([part.inputs for part in train], [part.labels for part in train], examples),
            _labelled(clouds(held_out), held_out),
            None if validation is None else _labelled(clouds(validation), validation),
        )

    def _seen(self, split: LidarSplit) -> Clouds:
        return split.test if self.config.lidar.evaluate_on == "test" else split.validation

    def augmentation(self) -> Augmentation | None:
        lidar = self.config.lidar
        if not (lidar.augment_yaw or lidar.augment_jitter_m or lidar.augment_dropout):
            return None
        return Augmentation(
            math.radians(lidar.augment_yaw), lidar.augment_jitter_m / lidar.scale_m, lidar.augment_dropout
        )

    def prior_scale(self) -> np.ndarray | float:
        settings = self.config.problem
        scale = self.pointnet.fan_in_scale() if settings.prior_scaling == "fan-in" else 1.0
        return settings.prior_scale * scale

    def typical_rms(self, seed: int) -> tuple[float, str]:
        """From θ⁰ the noise fills the prior: the network average relaxes in N s²/η steps."""
        sampling = self.config.sampling
        variance = np.square(self.prior_scale())
        left = np.exp(-2 * sampling.eta * sampling.steps / (self.num_agents * variance))
        start = np.square(np.asarray(self.start(seed, 1, 1)))
        rms = float(np.sqrt(np.mean(start * left + variance * (1 - left))))
        return rms, f"θ after {sampling.steps:,} steps of prior and noise"

    def attributes(self) -> dict[str, str | int]:
        config = self.config
        found = super().attributes() | {"evaluated_on": config.lidar.evaluate_on}
        if config.lidar.source == SIMULATED:
            seeds = range(config.first_seed, config.first_seed + config.seeds)
            hashes = {simulator_hash(config.lidar, self.num_agents, seed) for seed in seeds}
            return found | {"simulator_hash": "\n".join(sorted(hashes))}
        found["source_sha256"] = hashlib.sha256(Path(config.lidar.source).read_bytes()).hexdigest()
        return found | {"repeated_examples": self._repetition(config.first_seed)}

    def _repetition(self, seed: int) -> str:
        """What the first seed trains and is scored on, class by class; shown with the tables."""
        split = self.split(seed)
        rows = np.concatenate([part.rows for part in split.train])
        lines = []
        for index, name in enumerate(self.class_names):
            mine = rows[split.objects.label[rows] == index]
            instances = len(np.unique(split.objects.groups[mine]))
            scored = int(np.sum(self._seen(split).labels == index))
            lines.append(
                f"{name}: {len(mine)} examples from {len(np.unique(mine))} objects, {instances} instances; "
                f"{scored} scored"
            )
        return "\n".join(lines)


def _origin(split: LidarSplit, clouds: Clouds) -> Origin:
    return Origin(split.source_rows[clouds.rows], split.objects.groups[clouds.rows].astype(np.int32))


def _labelled(clouds: Clouds, length: int) -> LabelledSet:
    """The clouds, and padding behind them up to `length`."""
    missing = length - len(clouds.rows)
    inputs = np.pad(clouds.inputs, [(0, missing), (0, 0), (0, 0)])
    return LabelledSet(jnp.asarray(inputs), jnp.asarray(np.pad(clouds.labels, (0, missing), constant_values=-1)))
