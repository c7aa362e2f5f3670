"""Puts the parts of one experiment together that were run seed by seed, on one machine or several.

Parts must agree in everything but their seeds. Seeds that two parts share must agree bit by bit: they are the same
experiment run twice, so a difference means other code, other data, or rounding on another machine.
"""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airbayes.errors import ResultsError
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.journal import Journal
from airbayes.experiment.prediction_files import CellPredictions, read_prediction, stored_predictions
from airbayes.experiment.sample_files import FOLDER, StoredCell, read_manifest, read_samples
from airbayes.experiment.store import (
    CONFIG,
    GRAPHS,
    SUMMARY,
    changed_edges,
    csv_graphs,
    portable,
    prepare_folder,
    read_dataset,
    read_diverged,
    read_summary,
    run_lock,
    write_diverged,
    write_folder,
)
from airbayes.experiment.strange_files import StrangeFolder, read_strange, write_strange
from airbayes.experiment.toml_io import changed_fields, dump_config, load_config, said
from airbayes.files import read_limited
from airbayes.folders import PROGRESS, check_results_folder, check_writable
from airbayes.network.interop import MAX_CSV_BYTES
from airbayes.text import printable

if TYPE_CHECKING:
    import xarray as xr

MOST_NAMED = 4  # variables in a message
# Attributes of results that follow from the seeds, the machine or the configuration, which is compared by itself; all
# others must agree.
OWN_ATTRIBUTES = ("config_toml", "experiment", "simulator_hash", "repeated_examples", "environment")


@dataclasses.dataclass(frozen=True)
class Part:
    """One results folder, read whole."""

    folder: Path
    config: ExperimentConfig  # edge lists by their names in the folder
    graphs: dict[str, bytes]
    dataset: "xr.Dataset"
    summary: dict[str, Any]


def merge_folders(folders: list[Path], out: Path, *, force: bool = False, shared: list[int] | None = None) -> list[int]:
    """Write the union of the parts' seeds to `out`; returns the seeds. Those of several parts are added to `shared`."""
    if len(folders) < 2:
        raise ResultsError(f"Merging needs two or more results folders; {len(folders)} given.")
    if out.resolve() in [folder.resolve() for folder in folders]:
        raise ResultsError(f"{out} is one of the parts. Choose another folder with --out.")
    for folder in folders:  # all of them, before one is read
        check_results_folder(folder, SUMMARY)
    check_writable(out)
    parts = sorted((read_part(folder) for folder in folders), key=lambda part: part.config.first_seed)
    for part in parts[1:]:
        check_same_experiment(parts[0], part)
    dataset = merge_datasets([part.dataset for part in parts])
    seeds = [int(seed) for seed in dataset["seed"].values]
    if shared is not None:
        count = Counter(int(seed) for part in parts for seed in part.dataset["seed"].values)
        shared += [seed for seed in seeds if count[seed] > 1]
    config = config_for(parts[0].config, seeds)
    dataset.attrs = merge_attributes([part.dataset.attrs for part in parts]) | {"config_toml": dump_config(config)}
    samples, sample_attributes = merge_samples(parts)
    predictions = merge_predictions(parts)
    strange = merge_strange(parts)
    summary = merge_summaries([part.summary for part in parts])
    with run_lock(out):
        if prepare_folder(out, config, force=force):
            raise ResultsError(f"{out} already holds this experiment, complete. Use --force to replace it.")
        if (out / PROGRESS).exists() and not force:
            raise ResultsError(f"{out} holds an unfinished run. Use another --out, or --force to discard it.")
        write_diverged(out, merge_diverged(parts))
        write_folder(out, config, parts[0].graphs, dataset, summary, samples, sample_attributes, predictions)
        if strange is not None:
            write_strange(out, strange.classes, strange.cells)
        Journal(out).clear()
    return seeds


def read_part(folder: Path) -> Part:
    summary = read_summary(folder)  # first: without it the run did not end
    config = load_config(folder / CONFIG)
    dataset = read_dataset(folder)
    names = [_portable_name(str(name)) for name in dataset["topology"].values]
    dataset = dataset.assign_coords(topology=names)
    cells = [cell | {"topology": cell["topology"] and _portable_name(cell["topology"])} for cell in summary["cells"]]
    # From the folder itself, whatever the configuration says: merging copies them.
    graphs = {
        path.name: read_limited(folder / GRAPHS / path.name, MAX_CSV_BYTES, ResultsError) for path in csv_graphs(config)
    }
    return Part(folder, portable(config), graphs, dataset, summary | {"cells": cells})


def _portable_name(topology: str) -> str:
    return f"{GRAPHS}/{Path(topology).name}" if topology.endswith(".csv") else topology


def _portable_cell(cell: Cell) -> Cell:
    return dataclasses.replace(cell, topology=cell.topology and _portable_name(cell.topology))


def check_same_experiment(first: Part, other: Part) -> None:
    """Refuse parts that differ in more than their seeds, naming everything that differs."""

    def without_seeds(config: ExperimentConfig) -> ExperimentConfig:
        return dataclasses.replace(config, seeds=1, first_seed=0)

    changed = changed_fields(without_seeds(first.config), without_seeds(other.config))
    changed += changed_edges(first.graphs, other.graphs)
    a, b = first.dataset.attrs, other.dataset.attrs
    changed += [
        printable(f"{name}: {_attribute(a.get(name))} → {_attribute(b.get(name))}", 300)
        for name in sorted((a.keys() | b.keys()) - set(OWN_ATTRIBUTES))
        if not np.array_equal(np.asarray(a.get(name)), np.asarray(b.get(name)))
    ]
    if changed:
        listed = "\n  ".join(changed)
        raise ResultsError(
            f"{first.folder} and {other.folder} are different experiments; only seeds and first_seed may differ. "
            f"Differences:\n  {listed}"
        )


def _attribute(value: Any) -> str:
    """As people write it: what has a line for each class is a list, and numpy's numbers are numbers."""
    if value is None:
        return "none"
    return said(tuple(value.splitlines()) if isinstance(value, str) else np.asarray(value).tolist())


def merge_attributes(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """Those of the first seeds, and of all parts the hashes of simulated objects and what they were computed on."""

    def lines(name: str) -> list[str]:
        return list(dict.fromkeys(line for each in attributes for line in str(each.get(name, "")).splitlines()))

    joined = {"simulator_hash": sorted(lines("simulator_hash")), "environment": lines("environment")}
    return attributes[0] | {name: "\n".join(found) for name, found in joined.items() if found}


def merge_datasets(datasets: "list[xr.Dataset]") -> "xr.Dataset":
    """All seeds, sorted. A variable that a part lacks, because all of its cells diverged, is NaN there."""
    import xarray as xr

    try:
        merged = xr.concat(
            datasets,
            "seed",
            data_vars="minimal",
            coords="minimal",
            compat="equals",
            join="exact",
            combine_attrs="override",
        )
    except ValueError as error:
        raise ResultsError(f"The results do not fit together: {error}. Is one of the folders damaged?") from error
    seeds = merged["seed"].values
    firsts = [int(np.flatnonzero(seeds == seed)[0]) for seed in np.unique(seeds)]
    for index, seed in enumerate(seeds):
        original = int(np.flatnonzero(seeds == seed)[0])
        differing = [
            str(name)
            for name, variable in sorted(merged.data_vars.items(), key=lambda each: (each[0] != "status", each[1].ndim))
            if "seed" in variable.dims and _bytes(variable, index) != _bytes(variable, original)
        ]
        if differing:
            more = f" and {len(differing) - MOST_NAMED} more" if len(differing) > MOST_NAMED else ""
            listed = ", ".join(differing[:MOST_NAMED]) + more
            raise ResultsError(
                f"Seed {seed} is in more than one part, with different results ({listed}). "
                "Give every part its own seeds: rounding can depend on the machine and on how many cells run together."
            )
    return merged.isel(seed=firsts)


def _bytes(variable: "xr.DataArray", index: int) -> bytes:
    return np.ascontiguousarray(variable.isel(seed=index).values).tobytes()


def merge_summaries(summaries: list[dict[str, Any]]) -> dict[str, Any]:
    """The cells in the order in which one run would have written them: seeds innermost, each once."""
    found: dict[tuple, dict[int, dict]] = {}
    for summary in summaries:
        for cell in summary["cells"]:
            key = tuple(cell[name] for name in ("method", "policy", "topology", "snr_db"))
            found.setdefault(key, {}).setdefault(cell["seed"], cell)
    cells = [by_seed[seed] for by_seed in found.values() for seed in sorted(by_seed)]
    return summaries[0] | {"cells": cells}


def merge_samples(parts: list[Part]) -> tuple[dict[Cell, np.ndarray], dict[str, str | int]]:
    """Stored samples of θ, if any, with what a model needs; as a run does, they are held in memory."""
    stored: dict[Cell, tuple[Part, StoredCell]] = {}
    attributes = []
    for part in parts:
        if not (part.folder / FOLDER).exists():
            continue
        found, rows = read_manifest(part.folder)
        attributes.append(found)
        for row in rows:
            cell = _portable_cell(row.cell)
            _, known = stored.setdefault(cell, (part, row))
            if known.sha256 != row.sha256:
                raise ResultsError(f"The samples of {cell} are in more than one part and differ. Merge only one.")
    samples = {cell: read_samples(part.folder, row) for cell, (part, row) in stored.items()}
    return samples, merge_attributes(attributes) if attributes else {}


def merge_predictions(parts: list[Part]) -> dict[Cell, CellPredictions]:
    """Stored predictions of all parts; parts from before they were stored have none."""
    stored: dict[Cell, tuple[Part, StoredCell]] = {}
    for part in parts:
        for row in stored_predictions(part.folder):
            cell = _portable_cell(row.cell)
            stored.setdefault(cell, (part, row))  # of a seed in two parts the results agree to the bit, checked before
    return {cell: read_prediction(part.folder, row) for cell, (part, row) in stored.items()}


def merge_strange(parts: list[Part]) -> StrangeFolder | None:
    """Scores of strange objects, of all parts that were shown the same classes as the first that has any."""
    found = [each for part in parts if (each := read_strange(part.folder)) is not None]
    if not found:
        return None
    alike = [each for each in found if each.classes == found[0].classes]
    cells = {_portable_cell(cell): scores for each in reversed(alike) for cell, scores in each.cells.items()}
    return StrangeFolder(found[0].classes, cells)


def merge_diverged(parts: list[Part]) -> dict[Cell, np.ndarray]:
    """The last good states of cells that diverged; parts from before they were stored have none."""
    names = [field.name for field in dataclasses.fields(Cell)]
    found: dict[Cell, np.ndarray] = {}
    for part in parts:
        for record in part.summary["cells"]:
            cell = Cell(**{name: record[name] for name in names})
            theta = read_diverged(part.folder, cell) if record["status"] == "diverged" else None
            if theta is not None:
                found.setdefault(cell, theta)
    return found


def config_for(config: ExperimentConfig, seeds: list[int]) -> ExperimentConfig:
    """The configuration that runs these seeds. With a gap none does: then it names those before the first gap."""
    count = next((i for i, seed in enumerate(seeds) if seed != seeds[0] + i), len(seeds))
    return dataclasses.replace(config, first_seed=seeds[0], seeds=count)
