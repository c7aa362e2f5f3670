"""The cells of a study: one per method, power policy, topology, SNR and seed."""

import dataclasses
import zlib
from pathlib import PurePath

from airbayes.experiment.config import RADIO_METHODS, UNCONNECTED_METHODS, ExperimentConfig
from airbayes.experiment.scenario import graph_name


@dataclasses.dataclass(frozen=True)
class Cell:
    method: str
    policy: str | None  # only cd_dsgld has one
    topology: str | None  # None: no network
    snr_db: float | None  # None: ideal links
    seed: int

    @property
    def variant(self) -> str:
        """Method and policy: cells of one variant share a compiled program."""
        return self.method if self.policy is None else f"{self.method}:{self.policy}"

    @property
    def stream(self) -> int:
        """A number that does not depend on the rest of the grid, for the cell's noise. Scenarios of one graph share it:
        then they differ by their faults alone."""
        graph = None if self.topology is None else PurePath(graph_name(self.topology)).name  # a CSV file may move
        return zlib.crc32(f"{self.variant}/{graph}/{self.snr_db}".encode()) & 0x7FFFFFFF

    def __str__(self) -> str:
        snr = "ideal" if self.snr_db is None else f"{self.snr_db:g} dB"
        return f"{self.variant} {self.topology or 'no network'} {snr} seed {self.seed}"


def enumerate_cells(config: ExperimentConfig) -> list[Cell]:
    """Every cell of the grid, variant by variant."""
    cells = []
    for method in config.methods:
        policies = config.policies if method == "cd_dsgld" else (None,)
        topologies = (None,) if method in UNCONNECTED_METHODS else config.network.topologies
        snrs = config.channel.snr_db if method in RADIO_METHODS else (None,)
        cells += [
            Cell(method, policy, topology, snr, config.first_seed + index)
            for policy in policies
            for topology in topologies
            for snr in snrs
            for index in range(config.seeds)
        ]
    return cells


def group_by_variant(cells: list[Cell]) -> dict[str, list[Cell]]:
    """Cells that run together in one vmapped program."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.variant, []).append(cell)
    return groups
