"""Trackers by name. A package that is missing is reported before anything is computed."""

import importlib.util
import shlex
from collections.abc import Sequence
from pathlib import Path

from airbayes.errors import ConfigError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.tracking.base import Tracker
from airbayes.experiment.tracking.event_file import EventFile

TRACKERS = {"tensorboard": "tensorboard", "mlflow": "mlflow"}  # name, which is also the extra → module


def check_trackers(names: Sequence[str]) -> None:
    """Raise ConfigError unless every tracker can be used."""
    problems = [f"Unknown tracker {name!r}. Known: {', '.join(TRACKERS)}." for name in names if name not in TRACKERS]
    problems += [
        f"--track {name} needs a package that is not installed. Install it with: pip install 'airbayes[{name}]'"
        for name in names
        if name in TRACKERS and importlib.util.find_spec(TRACKERS[name]) is None
    ]
    if problems:
        raise ConfigError(problems)


def tracked_in(names: Sequence[str], folder: Path) -> dict[str, str]:
    """What trackers have written into a folder → how to look at it."""
    ways = {
        "tensorboard": ("tensorboard", f"tensorboard --logdir {shlex.quote(str(folder / 'tensorboard'))}"),
        "mlflow": ("mlflow.db", f"mlflow ui --backend-store-uri {shlex.quote(f'sqlite:///{folder}/mlflow.db')}"),
    }
    return {file: way for name, (file, way) in ways.items() if name in names and (folder / file).exists()}


def open_trackers(names: Sequence[str], folder: Path, config: ExperimentConfig, *, anew: bool = False) -> list[Tracker]:
    """Those named; the file of events is first, for the others are brought up to date from it. `anew`: --force."""
    check_trackers(names)
    events = EventFile(folder, anew=anew)
    trackers: list[Tracker] = [events]
    if "tensorboard" in names:
        from airbayes.experiment.tracking.tensorboard import TensorBoard

        trackers.append(TensorBoard(folder, events.path))
    if "mlflow" in names:
        from airbayes.experiment.tracking.mlflow import MLflow

        trackers.append(MLflow(folder, config, events.path, anew=anew))
    return trackers
