"""The results of cells, in memory and as arrays that a record can hold."""

import dataclasses

import numpy as np

from airbayes.experiment.cells import Cell
from airbayes.experiment.prediction_files import from_arrays, to_arrays
from airbayes.experiment.problem import Metrics


@dataclasses.dataclass(frozen=True)
class Divergence:
    """Where a cell left the finite range."""

    step: int
    agent: int  # the first that did
    last_good: np.ndarray  # θ [agent, param] before that step


@dataclasses.dataclass(frozen=True)
class CellResult:
    cell: Cell
    metrics: Metrics | None  # None where the cell diverged: nothing of it is averaged
    history: dict[str, np.ndarray]  # name → [step, agent]
    diverged: Divergence | None = None

    @property
    def status(self) -> str:
        return "ok" if self.diverged is None else "diverged"


def pack_results(results: list[CellResult]) -> tuple[dict[str, np.ndarray], dict]:
    """Arrays and facts of some results, exactly: numbers stay binary."""
    arrays: dict[str, np.ndarray] = {}
    facts = []
    for index, result in enumerate(results):
        fact: dict = {"history": list(result.history)}
        arrays |= {f"{index}/history/{name}": values for name, values in result.history.items()}
        if result.diverged is not None:
            fact["diverged"] = {"step": result.diverged.step, "agent": result.diverged.agent}
            arrays[f"{index}/last_good"] = result.diverged.last_good
        if result.metrics is not None:
            metrics = result.metrics
            fact["scalars"] = list(metrics.scalars)
            arrays[f"{index}/scalars"] = np.array(list(metrics.scalars.values()), np.float64)
            fact["per_agent"] = list(metrics.per_agent)
            arrays |= {f"{index}/per_agent/{name}": values for name, values in metrics.per_agent.items()}
            fact["arrays"] = {name: list(dims) for name, (dims, _) in metrics.arrays.items()}
            arrays |= {f"{index}/arrays/{name}": values for name, (_, values) in metrics.arrays.items()}
            if metrics.samples is not None:
                arrays[f"{index}/samples"] = metrics.samples
            if metrics.predictions is not None:
                packed = to_arrays(metrics.predictions)
                fact["predictions"] = list(packed)
                arrays |= {f"{index}/predictions/{name}": values for name, values in packed.items()}
        facts.append(fact)
    return arrays, {"results": facts}


def unpack_results(cells: list[Cell], arrays: dict[str, np.ndarray], facts: dict) -> list[CellResult]:
    """What `pack_results` packed. A record that is not of these cells raises a KeyError or ValueError."""
    results = []
    for index, (cell, fact) in enumerate(zip(cells, facts["results"], strict=True)):
        history = {name: arrays[f"{index}/history/{name}"] for name in fact["history"]}
        metrics, diverged = None, None
        if "diverged" in fact:
            where = fact["diverged"]
            diverged = Divergence(where["step"], where["agent"], arrays[f"{index}/last_good"])
        if "scalars" in fact:
            scalars = dict(zip(fact["scalars"], arrays[f"{index}/scalars"].tolist(), strict=True))
            per_agent = {name: arrays[f"{index}/per_agent/{name}"] for name in fact["per_agent"]}
            with_dims = {name: (tuple(dims), arrays[f"{index}/arrays/{name}"]) for name, dims in fact["arrays"].items()}
            packed = {name: arrays[f"{index}/predictions/{name}"] for name in fact.get("predictions", ())}
            predictions = from_arrays(packed) if packed else None
            metrics = Metrics(scalars, per_agent, with_dims, arrays.get(f"{index}/samples"), predictions)
        results.append(CellResult(cell, metrics, history, diverged))
    return results
