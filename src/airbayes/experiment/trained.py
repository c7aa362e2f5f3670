"""A trained model from a results folder: which of the stored cells, and its samples of θ."""

import dataclasses
import math
from pathlib import Path

import numpy as np
from jaxtyping import Float

from airbayes.errors import ResultsError
from airbayes.experiment.run_source import RunSource
from airbayes.experiment.sample_files import StoredCell, read_manifest, read_samples
from airbayes.experiment.store import CONFIG
from airbayes.experiment.toml_io import load_config
from airbayes.folders import check_results_folder
from airbayes.models import Classifier, pointnet
from airbayes.text import is_name, printable

# Best first: samplers before optimisers, whose single θ cannot know what it does not know.
TRUST = (
    "cd_dsgld:common",
    "cd_dsgld:optimal",
    "cd_dsgld:truncated",
    "dsgld",
    "dsghmc",
    "sgld",
    "local_sgld",
    "q_dsgd",
    "dsgd",
    "local_sgd",
)
MOST_POINTS, MOST_CLASSES = 100_000, 10_000  # as an experiment may have
LISTED = 40  # stored cells an error message names


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Which stored model; None takes the most trustworthy."""

    method: str | None = None  # cd_dsgld, or with its policy cd_dsgld:common
    topology: str | None = None
    snr_db: float | None = None  # inf: ideal links
    seed: int | None = None
    agent: int = 0

    def fits(self, stored: StoredCell) -> bool:
        topology = stored.topology or "none"
        return (
            self.method in (None, stored.method, stored.cell.variant)
            and self.topology in (None, topology, Path(topology).name, Path(topology).stem)
            and self.snr_db in (None, _snr(stored))
            and self.seed in (None, stored.seed)
        )


BEST = Wanted()


@dataclasses.dataclass(frozen=True)
class Trained:
    """What a prediction needs."""

    stored: StoredCell
    agent: int
    class_names: tuple[str, ...]
    model: Classifier
    theta: Float[np.ndarray, "sample param"]
    points: int  # per cloud
    scale_m: float  # length that becomes 1
    source: RunSource  # what it learned from

    def __str__(self) -> str:
        noun = "sample" if len(self.theta) == 1 else "samples"
        return f"{self.stored.cell}, agent {self.agent}, {len(self.theta)} {noun} of θ"


def open_trained(folder: Path, wanted: Wanted = BEST, source: Path | None = None) -> Trained:
    """Choose a stored model of a run, read it, and check that it fits its classes.

    `source` is where its object set is now; None looks where it was.
    """
    check_results_folder(folder, CONFIG)
    config = load_config(folder / CONFIG)
    if config.problem.kind != "pointnet":
        raise ResultsError(
            f"{folder} learned problem.kind = {config.problem.kind!r}, which has no point clouds as input. "
            "Give a run with 'pointnet', such as `airbayes run quick` writes."
        )
    points, scale_m = config.lidar.points, config.lidar.scale_m
    if not 1 <= points <= MOST_POINTS or not 0 < scale_m < math.inf:
        raise ResultsError(
            f"{folder / CONFIG} has lidar.points = {points}, lidar.scale_m = {scale_m}; both must be above 0, "
            f"and points at most {MOST_POINTS:,}."
        )
    attributes, cells = read_manifest(folder)
    names = tuple(str(attributes.get("class_names", "")).split("\n"))
    distinct = len(set(names)) == len(names) == attributes.get("num_classes")
    if not distinct or not 2 <= len(names) <= MOST_CLASSES or not all(map(is_name, names)):
        raise ResultsError(f"The sample manifest of {folder} does not name its classes. Run the experiment again.")
    stored = choose(cells, wanted, folder)
    model = pointnet(len(names))
    theta = _agent_samples(folder, stored, wanted.agent, model.num_params)
    learned_from = RunSource(folder, config, attributes, source)
    return Trained(stored, wanted.agent, names, model, theta, points, scale_m, learned_from)


def choose(cells: list[StoredCell], wanted: Wanted, folder: Path, what: str = "samples") -> StoredCell:
    """The most trustworthy of those that fit: by method, then highest SNR, full graph first, lowest seed."""
    fitting = [each for each in cells if wanted.fits(each)]
    if not fitting:
        given = {field.name: getattr(wanted, field.name) for field in dataclasses.fields(wanted)[:-1]}
        asked = ", ".join(f"{name} {printable(str(value))}" for name, value in given.items() if value is not None)
        listed = "".join(f"\n  {printable(str(each.cell), 100)}" for each in cells[:LISTED])
        more = f"\n  and {len(cells) - LISTED} more" if len(cells) > LISTED else ""
        raise ResultsError(
            f"{folder} has no {what} of {asked or 'any model'}. Stored are:{listed}{more}"
            if cells
            else f"{folder} has no {what} of any model: all its cells diverged."
        )
    return min(fitting, key=lambda each: (*rank(each.cell.variant, each.topology or "", _snr(each)), each.seed))


def rank(variant: str, topology: str, snr_db: float) -> tuple:
    """The least is the one to trust."""
    trust = TRUST.index(variant) if variant in TRUST else len(TRUST)
    return trust, -snr_db, topology != "full", topology


def _snr(stored: StoredCell) -> float:
    return math.inf if stored.snr_db is None else stored.snr_db


def _agent_samples(folder: Path, stored: StoredCell, agent: int, params: int) -> np.ndarray:
    """θ [sample, param] of one agent."""
    theta = read_samples(folder, stored)
    if theta.ndim != 3 or theta.dtype != np.float32 or theta.shape[2] != params or not theta.size:
        raise ResultsError(
            f"{folder}, {printable(stored.file)}: samples are {theta.dtype} {theta.shape}; the model needs float32 "
            f"[sample, agent, {params}]. Run the experiment again."
        )
    if not 0 <= agent < theta.shape[1]:
        agents = "1 agent" if theta.shape[1] == 1 else f"{theta.shape[1]} agents"
        raise ResultsError(
            f"--agent {agent}: {folder} stores the samples of {agents}, counted from 0. "
            "Run the experiment with more --saved-agents to store others."
        )
    mine = theta[:, agent]
    if not np.isfinite(mine).all():
        raise ResultsError(
            f"{folder}, {printable(stored.file)}: samples of agent {agent} are not finite; choose another model."
        )
    return mine
