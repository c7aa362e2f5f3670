"""Simulated sets on disk, under the hash of all that they depend on. A cache never stops a run: it only saves time."""

import warnings
from collections.abc import Mapping
from pathlib import Path

from airbayes.cache import cache_folder
from airbayes.data.object_file import load_objects, save_objects
from airbayes.data.objects import ObjectSet
from airbayes.data.simulator.config import SimulatorConfig, content_hash
from airbayes.data.simulator.simulate import simulate
from airbayes.errors import DataError, ResultsError
from airbayes.files import write_atomically


def cached_objects(
    config: SimulatorConfig, per_class: Mapping[str, int], seed: int, folder: Path | None = None
) -> ObjectSet:
    """`simulate`, or its result from an earlier call. A damaged file is drawn again; a full disk only warns."""
    folder = folder or cache_folder()
    if folder is None:
        return simulate(config, per_class, seed)
    path = folder / f"objects-{content_hash(config, per_class, seed)}.npz"
    if path.exists():
        try:
            return load_objects(path)
        except DataError as error:
            warnings.warn(f"{error} Simulating it again.", stacklevel=2)
    objects = simulate(config, per_class, seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda part: save_objects(part, objects))
    except (OSError, ResultsError) as error:
        warnings.warn(f"Not cached: {folder} cannot be written ({error}).", stacklevel=2)
    return objects
