"""Trackers by name. A package that is missing is reported before anything is computed."""

import shlex
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.tracker_names import check_trackers
from airbayes.experiment.tracking.base import Tracker
from airbayes.experiment.tracking.event_file import EventFile


def tracked_in(names: Sequence[str], folder: Path) -> dict[str, str]:
    """What trackers have written into a folder → how to look at it."""
    ways = {
        "tensorboard": ("tensorboard", f"tensorboard --logdir {shlex.quote(str(folder / 'tensorboard'))}"),
        "mlflow": ("mlflow.db", f"mlflow ui --backend-store-uri {shlex.quote(f'sqlite:///{folder}/mlflow.db')}"),
    }
    if find_spec("flask") is None:  # the extra only writes
        ways["mlflow"] = (ways["mlflow"][0], f"{ways['mlflow'][1]}  (first: pip install mlflow)")
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
