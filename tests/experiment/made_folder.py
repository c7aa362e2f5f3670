"""Results folders made by hand, through the store: the numbers follow from the cell alone, as they do in a run."""

import dataclasses
from pathlib import Path

import numpy as np

from airbayes.experiment.cells import enumerate_cells
from airbayes.experiment.config import ChannelConfig, ExperimentConfig, NetworkConfig, ProblemConfig
from airbayes.experiment.prediction_files import CellPredictions, Part
from airbayes.experiment.problem import Metrics
from airbayes.experiment.results import CellResult, Divergence
from airbayes.experiment.store import write_results

STUDY = ExperimentConfig(
    name="made-up",
    methods=("cd_dsgld", "q_dsgd"),
    evaluations=2,
    problem=ProblemConfig(kind="softmax"),
    network=NetworkConfig(agents=3, topologies=("full", "ring")),
    channel=ChannelConfig(snr_db=(0.0, 30.0)),
)


HISTORY = ("rms", *(f"{of}{name}" for of in ("", "sample_", "mean_") for name in ("accuracy", "ece", "nll")))


def made_predictions(rng: np.random.Generator) -> CellPredictions:
    """Of 5 test and 4 validation objects, 3 classes."""

    def part(count: int) -> Part:
        probabilities = rng.dirichlet(np.ones(3), count).astype(np.float32)
        labels = rng.integers(3, size=count).astype(np.int32)
        information = rng.uniform(size=count).astype(np.float32)
        return Part(probabilities, labels, information, np.arange(count) + 7, np.arange(count, dtype=np.int32) // 2)

    return CellPredictions(part(5), part(4))


def write_made(
    folder: Path, first: int, count: int, config: ExperimentConfig = STUDY, *, change=0.0, diverged=()
) -> Path:
    """A results folder of `count` seeds; `diverged` seeds have no metrics, `change` is added to all accuracies."""
    config = dataclasses.replace(config, first_seed=first, seeds=count)
    results = []
    for cell in enumerate_cells(config):
        rng = np.random.default_rng([cell.stream, cell.seed])
        history = {name: rng.uniform(size=(2, 3)) for name in HISTORY}
        if cell.seed in diverged:
            results.append(CellResult(cell, None, history, Divergence(5, 1, np.zeros((2, 3)))))
            continue
        value = rng.uniform() + change
        samples = rng.normal(size=(4, 1, 2)).astype(np.float32) if config.saved_samples else None
        names = ("bin_count", "bin_accuracy", "bin_confidence")
        bins: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
            name: (("agent", "bin"), rng.uniform(size=(3, 4))) for name in names
        }
        bins["confusion"] = (("agent", "label", "predicted"), rng.uniform(size=(3, 3, 3)))
        scalars = {"accuracy": value, "ece": value / 2, "nll": 1.0}
        metrics = Metrics(
            scalars, {name: np.full(3, scalars[name]) for name in scalars}, bins, samples, made_predictions(rng)
        )
        results.append(CellResult(cell, metrics, history))
    folder.mkdir(parents=True, exist_ok=True)
    hashes = "\n".join(f"hash{seed}" for seed in range(first, first + count))
    attributes = {"num_classes": 3, "simulator_hash": hashes, "repeated_examples": f"as in seed {first}"}
    write_results(folder, config, results, attributes)
    return folder
