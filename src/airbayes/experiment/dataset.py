"""Results as one xarray Dataset: dims method, topology, snr_db, seed, agent (and step over iterations).

`method` holds variants such as "cd_dsgld:common"; ideal links stand at snr_db = inf, a sampler without a network at
topology "none". Cells that do not exist, or diverged, are NaN; `status` says which.
"""

from typing import TYPE_CHECKING

import numpy as np

from airbayes import __version__
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.grid import evaluation_steps
from airbayes.experiment.results import CellResult
from airbayes.experiment.shown import pick_shown, shown_agents
from airbayes.experiment.toml_io import dump_config

if TYPE_CHECKING:
    import xarray as xr

CELL_DIMS = ("method", "topology", "snr_db", "seed")
NO_TOPOLOGY, IDEAL_SNR = "none", float("inf")
STATUS_CODES = {"absent": 0, "ok": 1, "diverged": 2}


def to_dataset(config: ExperimentConfig, results: list[CellResult]) -> "xr.Dataset":
    import xarray as xr

    shown = shown_agents(config)
    coords = {
        "method": _unique(result.cell.variant for result in results),
        "topology": _unique(result.cell.topology or NO_TOPOLOGY for result in results),
        "snr_db": sorted({_snr(result) for result in results}),
        "seed": sorted({result.cell.seed for result in results}),
        "agent": shown.tolist(),
        "step": list(evaluation_steps(config)),
    }
    shape = tuple(len(coords[dim]) for dim in CELL_DIMS)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}

    def put(name: str, dims: tuple[str, ...], where: tuple[int, ...], values: np.ndarray) -> None:
        if "agent" in dims:
            values = pick_shown(values, dims.index("agent"), shown)
        sizes = tuple(len(coords[d]) if d in coords else values.shape[i] for i, d in enumerate(dims))
        if name not in variables:
            variables[name] = ((*CELL_DIMS, *dims), np.full(shape + sizes, np.nan, np.float32))
        # SGLD is one agent where the others are N: it fills the first rows.
        variables[name][1][where + tuple(slice(size) for size in values.shape)] = values

    status = np.zeros(shape, np.int8)
    diverged_step, diverged_agent = np.full(shape, -1, np.int32), np.full(shape, -1, np.int32)
    for result in results:
        cell = result.cell
        key = (cell.variant, cell.topology or NO_TOPOLOGY, _snr(result), cell.seed)
        where = tuple(coords[dim].index(value) for dim, value in zip(CELL_DIMS, key, strict=True))
        status[where] = STATUS_CODES[result.status]
        if result.diverged is not None:
            diverged_step[where], diverged_agent[where] = result.diverged.step, result.diverged.agent
        for name, values in result.history.items():
            put(f"{name}_over_steps", ("step", "agent"), where, values)
        if result.metrics is None:
            continue
        for name, value in result.metrics.scalars.items():
            put(name, (), where, np.asarray(value))
        for name, values in result.metrics.per_agent.items():
            put(f"{name}_per_agent", ("agent",), where, values)
        for name, (dims, values) in result.metrics.arrays.items():
            put(name, dims, where, values)
    meaning = ", ".join(f"{code} {name}" for name, code in STATUS_CODES.items())
    dataset = xr.Dataset(
        {
            **variables,
            "status": (CELL_DIMS, status, {"meaning": meaning}),
            "diverged_step": (CELL_DIMS, diverged_step, {"meaning": "-1 where the cell did not diverge"}),
            "diverged_agent": (CELL_DIMS, diverged_agent, {"meaning": "the first agent; -1 where none diverged"}),
        },
        coords=coords,
        attrs={"experiment": config.name, "airbayes_version": __version__, "config_toml": dump_config(config)},
    )
    dataset["snr_db"].attrs = {"units": "dB", "meaning": "P/N0; inf means ideal links"}
    return dataset


def accuracy_of_agents(dataset: "xr.Dataset", cell: Cell) -> tuple[float, float] | None:
    """The least and the greatest of the agents in results.nc; None where the cell has none."""
    name = "accuracy_per_agent"
    if name not in dataset:
        return None
    key = (cell.variant, cell.topology or NO_TOPOLOGY, IDEAL_SNR if cell.snr_db is None else cell.snr_db, cell.seed)
    values = dataset[name].sel(dict(zip(CELL_DIMS, key, strict=True))).values
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if len(known) else None


def to_summary(config: ExperimentConfig, results: list[CellResult]) -> dict:
    """What summary.json holds: one flat record per cell; numbers that are not finite become null."""
    cells = []
    for result in results:
        cell = result.cell
        record: dict = {
            "method": cell.method,
            "topology": cell.topology,
            "snr_db": cell.snr_db,
            "policy": cell.policy,
            "seed": cell.seed,
            "status": result.status,
        }
        if result.diverged is not None:
            record |= {"diverged_step": result.diverged.step, "diverged_agent": result.diverged.agent}
        scalars = {} if result.metrics is None else result.metrics.scalars
        cells.append(record | {name: value if np.isfinite(value) else None for name, value in scalars.items()})
    return {"experiment": config.name, "airbayes_version": __version__, "cells": cells}


def _snr(result: CellResult) -> float:
    return IDEAL_SNR if result.cell.snr_db is None else result.cell.snr_db


def _unique(values) -> list:
    return list(dict.fromkeys(values))
