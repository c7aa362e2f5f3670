"""The results folder: what a run writes into it, and how it is read again."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from airbayes.data.object_file import read_arrays
from airbayes.errors import ConfigError, GraphError, ResultsError
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.dataset import STATUS_CODES, to_dataset, to_summary
from airbayes.experiment.environment import describe_environment
from airbayes.experiment.prediction_files import CellPredictions, write_predictions
from airbayes.experiment.results import CellResult
from airbayes.experiment.results_file import SUMS, check_sum, read_dataset_file, sums_of, write_dataset
from airbayes.experiment.run_source import place_of
from airbayes.experiment.sample_files import file_stem, write_samples
from airbayes.experiment.toml_io import changed_fields, dump_config, load_config
from airbayes.files import read_limited, write_atomically, write_text
from airbayes.folders import check_results_folder, make_folder
from airbayes.locks import Locked, locked
from airbayes.network.interop import MAX_CSV_BYTES
from airbayes.text import printable

if TYPE_CHECKING:
    import xarray as xr

CONFIG, SUMMARY, RESULTS, GRAPHS = "config.toml", "summary.json", "results.nc", "graphs"
CLAIMS_FILE, REPORT_FILE = "claims.json", "report.html"  # of these results; written by the report
DECISIONS_FILE, STRANGE = "decisions.json", "strange"  # the same; written by `airbayes decide`
DIVERGED = "diverged"  # last good states
PARTIAL = "partial.nc"  # what a run has finished so far
LOCK = ".lock"  # while a run is under way
MOST_SUMMARY = 256 << 20  # bytes


def prepare_folder(folder: Path, config: ExperimentConfig, *, force: bool = False) -> bool:
    """Make the folder and check that it can be written. True when it already holds this experiment, complete.

    A folder with another experiment is refused unless `force` is given: results are never overwritten unasked.
    """
    make_folder(folder)
    for left in folder.glob(".*.part*"):  # of a process that was killed while it wrote
        left.unlink(missing_ok=True)
    if force or not (folder / CONFIG).exists():
        return False
    try:
        found = load_config(folder / CONFIG)
    except ConfigError as error:
        raise ResultsError(f"{folder} holds an unreadable {CONFIG} ({error}). Use --force to overwrite it.") from error
    changed = changed_fields(portable(found), portable(config)) + _changed_graphs(folder, config)
    if changed:
        listed = "\n  ".join(changed)
        raise ResultsError(
            f"{folder} holds results of another configuration. Use another --out, or --force to overwrite "
            "(from Python: another folder, or remove this one). "
            f"Changed:\n  {listed}"
        )
    return (folder / SUMMARY).exists() and (folder / RESULTS).exists()


@contextmanager
def run_lock(
    folder: Path, *, shared: bool = False, wait: bool = False, tell: Callable[[str], None] = lambda text: None
) -> Iterator[None]:
    """One run at a time in a folder; or, shared, several that each compute a part."""
    make_folder(folder)
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder / LOCK, shared=shared, wait=wait, tell=tell))
        except Locked as error:
            raise ResultsError(
                f"{folder} is in use by {error.holder}. Wait until that is done, or choose another folder with --out."
            ) from None
        yield


def csv_graphs(config: ExperimentConfig) -> list[Path]:
    return [Path(name) for name in config.network.topologies if name.endswith(".csv")]


def portable(config: ExperimentConfig) -> ExperimentConfig:
    """Edge lists named by their copies in the results folder."""
    names = tuple(
        f"{GRAPHS}/{Path(name).name}" if name.endswith(".csv") else name for name in config.network.topologies
    )
    return dataclasses.replace(config, network=dataclasses.replace(config.network, topologies=names))


def _changed_graphs(folder: Path, config: ExperimentConfig) -> list[str]:
    return [
        f"network.topologies: the edges in {path} have changed"
        for path in csv_graphs(config)
        if (copy := folder / GRAPHS / path.name).exists()
        and read_limited(copy, MAX_CSV_BYTES, GraphError) != read_limited(path, MAX_CSV_BYTES, GraphError)
    ]


def changed_edges(first: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Edge lists of one name that differ, in words."""
    return [
        f"network.topologies: the edges in {name} differ"
        for name in sorted(first.keys() & other.keys())
        if first[name] != other[name]
    ]


def read_graphs(config: ExperimentConfig) -> dict[str, bytes]:
    """The edge lists that the configuration names; to be read when a run begins, for they may change meanwhile."""
    return {path.name: read_limited(path, MAX_CSV_BYTES, GraphError) for path in csv_graphs(config)}


def write_results(
    folder: Path,
    config: ExperimentConfig,
    results: list[CellResult],
    attributes: dict[str, str | int] | None = None,
    graphs: dict[str, bytes] | None = None,
) -> None:
    """Everything a finished run leaves; nothing of an older run is touched before."""
    attributes = attributes or {}
    graphs = read_graphs(config) if graphs is None else graphs
    samples = {
        result.cell: result.metrics.samples
        for result in results
        if result.metrics is not None and result.metrics.samples is not None
    }
    predictions = {
        result.cell: result.metrics.predictions
        for result in results
        if result.metrics is not None and result.metrics.predictions is not None
    }
    dataset = to_dataset(config, results).assign_attrs(attributes | {"environment": describe_environment()})
    write_diverged(folder, {result.cell: result.diverged.last_good for result in results if result.diverged})
    about = attributes | place_of(config)
    write_folder(folder, portable(config), graphs, dataset, to_summary(config, results), samples, about, predictions)


def write_diverged(folder: Path, last_good: dict[Cell, np.ndarray]) -> None:
    """The last good θ [agent, param] of every cell that diverged, to find out why."""
    place = folder / DIVERGED
    shutil.rmtree(place, ignore_errors=True)
    for cell, theta in last_good.items():
        place.mkdir(exist_ok=True)
        write_atomically(place / f"{file_stem(cell)}.npz", lambda path, theta=theta: np.savez(path, theta=theta))


def read_diverged(folder: Path, cell: Cell) -> np.ndarray | None:
    """What `write_diverged` wrote of a cell; None where there is nothing."""
    path = folder / DIVERGED / f"{file_stem(cell)}.npz"
    return read_arrays(path, path.stat().st_size).get("theta") if path.exists() else None  # stored, not packed


def write_partial_results(
    folder: Path, config: ExperimentConfig, results: list[CellResult], attributes: dict[str, str | int]
) -> None:
    """What is done so far, under a name of its own: a run that is killed leaves its finished methods."""
    write_dataset(folder / PARTIAL, to_dataset(config, results).assign_attrs(attributes))


def write_folder(
    folder: Path,
    config: ExperimentConfig,
    graphs: dict[str, bytes],
    dataset: "xr.Dataset",
    summary: dict,
    samples: dict[Cell, np.ndarray],
    attributes: dict[str, str | int],
    predictions: dict[Cell, CellPredictions],
) -> None:
    """config.toml (complete, runs again as it is), results.nc, and last summary.json: a folder with it is complete."""
    for old in (SUMMARY, CLAIMS_FILE, REPORT_FILE, DECISIONS_FILE, SUMS):
        (folder / old).unlink(missing_ok=True)
    shutil.rmtree(folder / STRANGE, ignore_errors=True)
    for name, edges in graphs.items():
        (folder / GRAPHS).mkdir(exist_ok=True)
        write_atomically(folder / GRAPHS / name, lambda copy, edges=edges: copy.write_bytes(edges))
    write_text(folder / CONFIG, dump_config(config))
    write_dataset(folder / RESULTS, dataset)
    write_samples(folder, samples, attributes)
    write_predictions(folder, predictions)
    text = json.dumps(summary, indent=1, allow_nan=False) + "\n"
    write_text(folder / SUMS, sums_of({RESULTS: (folder / RESULTS).read_bytes(), SUMMARY: text.encode()}))
    write_text(folder / SUMMARY, text)
    (folder / PARTIAL).unlink(missing_ok=True)


def read_summary(folder: Path) -> dict:
    """summary.json, checked: `cells` is a list of flat records that name their cell."""
    check_results_folder(folder, SUMMARY)
    path = folder / SUMMARY
    summary = None
    try:
        check_sum(path)
        summary = json.loads(read_limited(path, MOST_SUMMARY).decode("utf-8"))
        problem = _summary_problem(summary)
    except (ValueError, RecursionError) as error:
        problem = printable(str(error), 200)
    if problem is not None or summary is None:
        raise ResultsError(
            f"Cannot read {path}: {problem}. Is {folder} a results folder? Run the experiment again with --force."
        )
    return summary


def _summary_problem(summary: object) -> str | None:
    """The first thing that no run writes, or None."""
    if not isinstance(summary, dict) or not isinstance(summary.get("cells"), list):
        return "it holds no list of cells"
    kinds = {"method": str, "policy": str | None, "topology": str | None, "snr_db": int | float | None, "seed": int}
    for index, record in enumerate(summary["cells"]):
        if not isinstance(record, dict):
            return f"cell {index} is no table"
        for name, kind in kinds.items():
            if name not in record or isinstance(record[name], bool) or not isinstance(record[name], kind):
                return f"cell {index} has {name} = {printable(repr(record.get(name)))}"
        if record.get("status") not in STATUS_CODES:
            return f"cell {index} has status = {printable(repr(record.get('status')))}"
    return None


def read_dataset(folder: Path) -> "xr.Dataset":
    """The whole Dataset, in memory."""
    check_results_folder(folder, RESULTS)
    if (folder / SUMMARY).exists():
        check_sum(folder / SUMMARY)  # the same numbers: whoever changed them changed results
    return read_dataset_file(folder / RESULTS)
