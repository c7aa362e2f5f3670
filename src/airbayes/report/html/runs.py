"""A run as the report sees it: its results, and what follows from its configuration without running anything."""

import dataclasses
import math
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from airbayes.errors import AirbayesError
from airbayes.experiment.build import build_graph, build_problem
from airbayes.experiment.cells import Cell as StudyCell
from airbayes.experiment.config import UNCONNECTED_METHODS, ExperimentConfig
from airbayes.experiment.dataset import NO_TOPOLOGY, accuracy_of_agents
from airbayes.experiment.decisions import decisions
from airbayes.experiment.prediction_files import read_prediction, stored_predictions
from airbayes.experiment.scenario import graph_name, own_settings
from airbayes.experiment.store import CONFIG, read_dataset
from airbayes.experiment.toml_io import load_config
from airbayes.experiment.trained import rank
from airbayes.models import pointnet
from airbayes.network.weights import resolve
from airbayes.report.chance import accuracy_name, collapse_floor, num_classes
from airbayes.report.claims import ClaimRecord, claims_table, missing_for_claims
from airbayes.report.faults_figure import fault_words, has_scenarios
from airbayes.report.files import predicted_transitions
from airbayes.report.html.cells import Arrays, Cells
from airbayes.report.plain import plain_part
from airbayes.report.style import is_radio
from airbayes.text import printable

if TYPE_CHECKING:
    from airbayes.network import Graph

MAX_NAME = 80


@dataclasses.dataclass(frozen=True)
class Run:
    name: str  # how it is called on the page
    folder: Path
    config: ExperimentConfig
    dataset: xr.Dataset
    objects: bool | None = None  # whether to show clouds of test objects; None: if they are simulated

    @property
    def linear(self) -> bool:
        return "w2_agent" in self.dataset or self.config.problem.kind == "linear"

    @property
    def scenarios(self) -> bool:
        return has_scenarios(self.dataset)

    @cached_property
    def curves(self) -> "Run | None":
        """What can be drawn against SNR: graphs that carry no fault rates; none in a study of faults alone."""
        if not self.scenarios:
            return self
        part = plain_part(self.dataset)
        return None if part is None else dataclasses.replace(self, dataset=part)

    @cached_property
    def variants(self) -> list[str]:
        return [str(name) for name in self.dataset.method.values]

    @cached_property
    def topologies(self) -> list[str]:
        return [str(name) for name in self.dataset.topology.values if name != NO_TOPOLOGY]

    @cached_property
    def snrs(self) -> list[float]:
        """The finite ones, ascending."""
        return sorted(float(snr) for snr in self.dataset.snr_db.values if math.isfinite(snr))

    @property
    def seeds(self) -> int:
        return self.dataset.sizes["seed"]

    @cached_property
    def class_names(self) -> list[str]:
        given = str(self.dataset.attrs.get("class_names", ""))
        count = self.dataset.sizes.get("label", 0)
        names = [printable(name, 40) for name in given.split("\n")] if given else []
        return names if len(names) == count else [f"class {index}" for index in range(count)]

    @cached_property
    def collapse_floor(self) -> float:
        """Accuracy at or below which a model has collapsed, and its ECE means nothing."""
        return collapse_floor(self.dataset)

    @property
    def floor_words(self) -> str:
        return f"{accuracy_name(self.dataset).replace('_', ' ')} of {self.collapse_floor:.2f} or less"

    def collapsed(self, cells: Cells) -> np.ndarray:
        """How many of the seeds guess, at each SNR of the cells (or in all, at the one that was chosen)."""
        name = accuracy_name(cells)
        if name not in cells:
            return np.zeros(cells.status.shape[:-1], np.int64)
        return np.asarray((cells.ok(name) <= self.collapse_floor).sum(axis=-1))

    @cached_property
    def num_params(self) -> int | None:
        """m. A PointNet's follows from its classes: no need for the objects, which may lie elsewhere."""
        try:
            if self.config.problem.kind == "pointnet":
                return pointnet(num_classes(self.dataset)).num_params
            return build_problem(self.config).model.num_params
        except AirbayesError:
            return None

    @cached_property
    def transitions(self) -> dict[str, float]:
        """Graph → predicted transition SNR in dB."""
        return predicted_transitions(self.config)

    @cached_property
    def claims(self) -> list[ClaimRecord]:
        if missing_for_claims(self.dataset) or self.dataset.attrs.get("evaluated_on") == "validation":
            return []
        try:
            found = claims_table(self.dataset)
        except AirbayesError:
            return []
        measured = any(record.verdict != "not measured" for record in found)
        return found if measured else []  # other graphs, or SNRs in between: nothing to score

    @cached_property
    def decisions(self) -> dict[tuple[str, str, float], dict]:
        """(variant, graph, SNR) → decisions of the first seed; none where predictions are gone or were not stored."""
        try:
            rows = stored_predictions(self.folder)
            first = min((row.seed for row in rows), default=0)
            return {
                _place(row.cell): decisions(read_prediction(self.folder, row))
                | {"accuracy_of_agents": accuracy_of_agents(self.dataset, row.cell)}
                for row in rows
                if row.seed == first
            }
        except AirbayesError:  # damaged, or without an order, as NaN confidences are
            return {}

    def decision(self, variant: str, topology: str, snr: float) -> dict | None:
        return self.decisions.get((variant, self.place(variant, topology), snr if is_radio(variant) else math.inf))

    @cached_property
    def trusted(self) -> tuple[str, str, float] | None:
        """Variant, graph and SNR that `airbayes decide` shows, and `predict` takes, where none is named."""
        return min(self.decisions, key=lambda place: rank(*place), default=None)

    def graph(self, topology: str) -> "Graph | None":
        """The graph of a topology of the results; None where its edge list is gone."""
        wanted = topology
        if topology.endswith(".csv"):
            same = [name for name in self.config.network.topologies if PurePath(name).name == PurePath(topology).name]
            wanted = same[0] if same else topology
        try:
            return build_graph(self.config, wanted)
        except (AirbayesError, OSError):
            return None

    def edge_weights(self, topology: str) -> "tuple[Graph, float | np.ndarray] | None":
        """The graph and its weight, or weights; of a large graph they need eigenvalues, so they are kept."""
        if topology not in self._weights:
            graph, weights = self.graph(topology), None
            try:
                weights = None if graph is None else resolve(graph, self.config.network.weights)
            except AirbayesError:
                graph = None
            self._weights[topology] = None if graph is None or weights is None else (graph, weights)
        return self._weights[topology]

    @cached_property
    def _weights(self) -> "dict[str, tuple[Graph, float | np.ndarray] | None]":
        return {}

    def transition(self, topology: str) -> float | None:
        by_file = {PurePath(name).name: snr for name, snr in self.transitions.items()}
        return by_file.get(PurePath(graph_name(topology)).name)

    def place(self, variant: str, topology: str) -> str:
        """Where the cells of a variant stand when a graph is looked at: without a network, always in one place."""
        return NO_TOPOLOGY if variant in UNCONNECTED_METHODS else topology

    @cached_property
    def arrays(self) -> Arrays:
        return Arrays(self.dataset)

    def cells(self, variant: str, topology: str, snr: float | None = None) -> Cells | None:
        """All seeds of a variant on a graph, at an SNR or over all it has; None where nothing ran.

        A method without a radio has ideal links, whatever the SNR.
        """
        place, index = self.place(variant, topology), self.arrays.index
        snrs = [math.inf] if not is_radio(variant) else self.snrs if snr is None else [snr]
        known = variant in index["method"] and place in index["topology"] and all(s in index["snr_db"] for s in snrs)
        if not known or not snrs:
            return None
        found = Cells(self.arrays, variant, place, snrs, snr is not None)
        return found if found.present.any() else None


def _place(cell: StudyCell) -> tuple[str, str, float]:
    return cell.variant, cell.topology or NO_TOPOLOGY, math.inf if cell.snr_db is None else cell.snr_db


def show_topology(topology: str) -> str:
    """An edge list by its file name, a scenario by its fault."""
    if topology == "none":
        return "no graph"
    try:
        own = own_settings(topology)
    except AirbayesError:  # an @ in a name that is no scenario
        own = {}
    if own:  # a scenario: the fault in words
        (fault, rate), *others = own.items()
        more = ", ".join(f"{name} {value:g}" for name, value in others)
        graph = show_topology(graph_name(topology))
        return printable(f"{graph}, {fault_words(fault, rate)}" + (f" ({more})" if more else ""), 80)
    name = PurePath(topology).name if topology.endswith(".csv") else topology
    return printable(name, 60)


def make_run(folder: Path, config: ExperimentConfig, dataset: xr.Dataset, objects: bool | None = None) -> Run:
    folder_name = folder.resolve().name
    name = config.name if config.name == folder_name else f"{config.name} ({folder_name})"
    return Run(printable(name, MAX_NAME), folder, config, dataset, objects)


def read_run(folder: Path, objects: bool | None = None) -> Run:
    dataset = read_dataset(folder)
    return make_run(folder, load_config(folder / CONFIG), dataset, objects)
