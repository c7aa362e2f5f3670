"""Simulated sets on disk, under the hash of all that they depend on. A cache never stops a run: it only saves time."""

import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

from airbayes.data.object_file import load_objects, save_objects
from airbayes.data.objects import ObjectSet
from airbayes.data.simulator.config import SimulatorConfig, content_hash
from airbayes.data.simulator.simulate import simulate
from airbayes.errors import DataError


def cache_folder() -> Path:
    """$AIRBAYES_CACHE, else airbayes in $XDG_CACHE_HOME, else ~/.cache/airbayes."""
    if own := os.environ.get("AIRBAYES_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "airbayes"
    return Path("~/.cache/airbayes").expanduser()


def cached_objects(
    config: SimulatorConfig, per_class: Mapping[str, int], seed: int, folder: Path | None = None
) -> ObjectSet:
    """`simulate`, or its result from an earlier call. A damaged file is drawn again; a full disk only warns."""
    folder = folder or cache_folder()
    path = folder / f"objects-{content_hash(config, per_class, seed)}.npz"
    if path.exists():
        try:
            return load_objects(path)
        except DataError as error:
            warnings.warn(f"{error} Simulating it again.", stacklevel=2)
    objects = simulate(config, per_class, seed)
    try:
        _save(path, objects)
    except OSError as error:
        warnings.warn(f"Not cached: {folder} cannot be written ({error.strerror or error}).", stacklevel=2)
    return objects


def _save(path: Path, objects: ObjectSet) -> None:
    """Write under another name, then move: a reader sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".objects-", suffix=".npz")
    os.close(handle)
    try:
        save_objects(Path(name), objects)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
