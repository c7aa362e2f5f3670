"""The object set a run learned from, found again by its content.

A run knows its set by sha256. The name in its configuration may be relative to a folder that is no longer the working
folder, so several places are tried; what lies there counts only if its checksum is that of the run.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from airbayes.data import ObjectSet
from airbayes.errors import AirbayesError, ResultsError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.lidar_data import SIMULATED, read_source, simulator_hash, source_objects
from airbayes.text import printable

SHA256, PLACE, SIMULATOR = "source_sha256", "source_path", "simulator_hash"  # in the manifest of the samples
MOST_COMPARED = 256 << 20  # bytes of a set that is opened to look for other objects in it


def place_of(config: ExperimentConfig) -> dict[str, str | int]:
    """Where the set of a run lies when it ends. For its samples, not for results.nc: that is the same everywhere."""
    if config.problem.kind != "pointnet" or config.lidar.source == SIMULATED:
        return {}
    return {PLACE: str(Path(config.lidar.source).absolute())}


def checksum(path: Path) -> str:
    """sha256 of a file."""
    try:
        with open(path, "rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise ResultsError(f"Cannot read {printable(str(path), 400)}: {error.strerror or error}.") from None


@dataclasses.dataclass(frozen=True)
class RunSource:
    """What a results folder says about the objects its run learned from."""

    folder: Path
    config: ExperimentConfig
    facts: dict[str, str | int]  # of the sample manifest
    named: Path | None = None  # by --source

    @property
    def sha256(self) -> str | None:
        found = self.facts.get(SHA256)
        return found if isinstance(found, str) else None  # not stored by early runs

    @property
    def simulated(self) -> bool:
        return self.config.lidar.source == SIMULATED

    def find(self) -> Path:
        """The file with the run's objects; an error where there is none, or only others of its name."""
        places = [path for path in dict.fromkeys(self._places()) if path.is_file()]
        other = None
        for path in places:
            found = None if self.sha256 is None else checksum(path)
            if found == self.sha256:
                return path
            other = other or f"{printable(str(path), 400)} has sha256 {found}"
        wanted = printable(str(self.named or self.config.lidar.source), 400)
        if other is not None:
            raise ResultsError(
                f"{other}, but {self.folder} learned from a set with {self.sha256}. "
                "Name the set it learned from: --source FILE."
            )
        there = f" (sha256 {self.sha256})" if self.sha256 else ""
        raise ResultsError(f"there is no file {wanted}{there}. Name the set {self.folder} learned from: --source FILE.")

    def objects(self, seed: int) -> ObjectSet:
        """All objects that the stored predictions of a seed point into."""
        lidar, agents = self.config.lidar, self.config.network.agents
        if self.simulated:
            if self.named is not None:
                raise ResultsError(f"--source {self.named}: {self.folder} learned from simulated objects, not a file.")
            known = str(self.facts.get(SIMULATOR, "")).split()
            if known and (drawn := simulator_hash(lidar, agents, seed)) not in known:
                raise ResultsError(
                    f"this airbayes simulates other objects ({drawn}) than {self.folder} learned from "
                    f"({', '.join(known)}). Run the experiment again, or use the airbayes that made it."
                )
            return source_objects(self.config, seed)
        return read_source(str(self.find()))

    def count_known(self, files: Sequence[tuple[Path, Sequence[np.ndarray]]]) -> int:
        """How many of the objects of these files the run's set holds. Files are compared first, then points; 0 where
        the set is simulated, not at hand or too large to look into."""
        if self.simulated:
            return 0
        try:
            source = self.find()
            sha256 = self.sha256 or checksum(source)
        except AirbayesError:
            source, sha256 = None, self.sha256
        same = [path.is_file() and checksum(path) == sha256 for path, _ in files]
        count = sum(len(clouds) for (_, clouds), whole in zip(files, same, strict=True) if whole)
        rest = [cloud for (_, clouds), whole in zip(files, same, strict=True) if not whole for cloud in clouds]
        if source is None or not rest or source.stat().st_size > MOST_COMPARED:
            return count
        try:
            own = read_source(str(source))
        except AirbayesError:
            return count
        held = set(_prints(own.cloud(row) for row in range(len(own))))
        return count + sum(found in held for found in _prints(rest))

    def _places(self) -> Iterator[Path]:
        """As named; as in the configuration; where it lay when the run ended; beside the results, and above."""
        if self.named is not None:
            yield self.named
            return
        given = Path(self.config.lidar.source)
        yield given
        if isinstance(place := self.facts.get(PLACE), str) and "\0" not in place:
            yield Path(place)
        if not given.is_absolute():
            above = self.folder.resolve()
            yield from (each / given for each in (above, *above.parents))


def _prints(clouds: Iterable[np.ndarray]) -> Iterator[bytes]:
    """One for each cloud, the same where all points are."""
    return (hashlib.blake2b(cloud.astype(np.float32).tobytes(), digest_size=16).digest() for cloud in clouds)
