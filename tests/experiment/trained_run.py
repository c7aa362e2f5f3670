"""Object sets of three simple shapes, and results folders with samples that were not sampled."""

from pathlib import Path

import jax
import numpy as np

from airbayes.data import ObjectSet, from_clouds
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ExperimentConfig, LidarConfig, ProblemConfig
from airbayes.experiment.run_source import checksum, place_of
from airbayes.experiment.sample_files import write_samples
from airbayes.experiment.store import CONFIG
from airbayes.experiment.toml_io import dump_config
from airbayes.files import write_text
from airbayes.models import pointnet

SHAPES = {"flat": (2, 1, 0.3), "tall": (0.3, 0.3, 1.5), "round": (1, 1, 1)}


def make_objects(per_class: int, class_names: tuple[str, ...] = tuple(SHAPES), seed: int = 0) -> ObjectSet:
    """Clouds of 10 to 59 points, one instance each; the n-th name has the n-th shape."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(class_names)), per_class)
    sizes = np.array(list(SHAPES.values()))[label]
    clouds = [rng.normal(size=(rng.integers(10, 60), 3)) * size for size in sizes]
    return from_clouds(clouds, label, class_names)


def made_samples(num_classes: int, samples: int, agents: int = 1, seed: int = 0) -> np.ndarray:
    """θ [sample, agent, param] around a start of the network: confident enough to differ between objects."""
    model, rng = pointnet(num_classes), np.random.default_rng(seed)
    start = np.asarray(model.init(jax.random.key(seed)))
    return (start + rng.normal(size=(samples, agents, model.num_params)) * 0.2).astype(np.float32)


def write_trained(folder: Path, cells: list[Cell], class_names: tuple[str, ...] = tuple(SHAPES), **lidar) -> Path:
    """A results folder as far as prediction reads it; every cell has other samples, 4 of a sampler."""
    folder.mkdir(parents=True)
    config = ExperimentConfig(problem=ProblemConfig(kind="pointnet"), lidar=LidarConfig(points=16, **lidar))
    write_text(folder / CONFIG, dump_config(config))
    samples = {
        cell: made_samples(len(class_names), 1 if cell.method in ("q_dsgd", "dsgd") else 4, agents=2, seed=number)
        for number, cell in enumerate(cells)
    }
    attributes: dict[str, str | int] = {"num_classes": len(class_names), "class_names": "\n".join(class_names)}
    if Path(config.lidar.source).is_file():  # as a run stores it
        attributes |= {"source_sha256": checksum(Path(config.lidar.source))} | place_of(config)
    write_samples(folder, samples, attributes)
    return folder
