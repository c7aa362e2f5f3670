"""Runs a grid: all cells of a variant (method and power policy) in one vmapped program, compiled once."""

import dataclasses
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from airbayes.compiler import check_compiler
from airbayes.experiment.build import Builder, stack
from airbayes.experiment.cells import Cell, enumerate_cells, group_by_variant
from airbayes.experiment.config import SAMPLING_METHODS, ExperimentConfig
from airbayes.experiment.loop import Batch, Carry, Loop, over_cells_and_chains
from airbayes.experiment.problem import Metrics, Outcome
from airbayes.experiment.validate import check_config
from airbayes.metrics import ess, rhat

CHUNK = 200  # most steps between two signs of life


@dataclasses.dataclass(frozen=True)
class CellResult:
    cell: Cell
    status: str  # "ok" or "diverged"
    diverged_step: int | None
    metrics: Metrics | None  # None where the cell diverged: nothing of it is averaged
    history: dict[str, np.ndarray]  # name → [step, agent]


@runtime_checkable
class Reporter(Protocol):
    """Who is told how a run goes on."""

    def begin(self, variant: str, cells: int, steps: int) -> None: ...
    def compiled(self, variant: str, seconds: float) -> None: ...
    def advance(self, variant: str, step: int) -> None: ...
    def finish(self, variant: str, results: list[CellResult]) -> None: ...


def run_grid(config: ExperimentConfig, reporter: Reporter, builder: Builder | None = None) -> list[CellResult]:
    """Every cell of the experiment; the configuration is checked before anything is compiled."""
    check_config(config)
    check_compiler()
    builder = builder or Builder(config)
    return [result for variant in run_variants(builder, reporter) for result in variant]


def run_variants(builder: Builder, reporter: Reporter) -> Iterator[list[CellResult]]:
    """The results of one variant after the other; while one runs, the next is compiled and takes its first step."""
    config = builder.config
    groups = group_by_variant(enumerate_cells(config))
    jobs = [batch for cells in groups.values() for batch in _batches(cells, config.cells_per_batch)]
    done: list[CellResult] = []
    ahead = ThreadPoolExecutor(1)
    try:
        compiling = ahead.submit(_prepare, builder, jobs[0])
        for index, job in enumerate(jobs):
            variant = job[0].variant
            if not done:
                reporter.begin(variant, len(groups[variant]), config.sampling.steps)
            ready = compiling.result()
            reporter.compiled(variant, ready.seconds)
            following = jobs[index + 1] if index + 1 < len(jobs) else None
            # Two batches at once need twice the memory, which someone who limits the batch does not have.
            if following and not config.cells_per_batch:
                compiling = ahead.submit(_prepare, builder, following)
            done += run_batch(builder, ready, reporter)
            if following and config.cells_per_batch:
                del ready
                compiling = ahead.submit(_prepare, builder, following)
            if len(done) == len(groups[variant]):
                reporter.finish(variant, done)
                yield done
                done = []
    finally:
        ahead.shutdown(wait=False, cancel_futures=True)


@dataclasses.dataclass(frozen=True)
class Ready:
    """A batch of cells that is compiled, with its first step taken."""

    cells: list[Cell]
    loop: Loop
    batch: Batch
    carry: Carry
    seconds: float  # that compiling took


def _prepare(builder: Builder, cells: list[Cell]) -> Ready:
    started = time.perf_counter()
    loop = make_loop(builder.config)
    batch, theta = make_batch(builder, cells)
    carry = jax.block_until_ready(loop.advance(batch, loop.start(batch, theta), 0, 1))
    return Ready(cells, loop, batch, carry, time.perf_counter() - started)


def run_batch(builder: Builder, ready: Ready, reporter: Reporter) -> list[CellResult]:
    """Cells of one variant, together, from their first step to the last."""
    sampling, batch, carry = builder.config.sampling, ready.batch, ready.carry
    evaluated = evaluation_steps(builder.config)
    snapshots = []
    begin = 1
    for end in chunk_ends(sampling.steps, evaluated):
        if end > begin:
            carry = jax.block_until_ready(ready.loop.advance(batch, carry, begin, end))
        if end in evaluated:
            snapshots.append(jax.tree.map(np.asarray, _snapshot(batch, carry)))
        begin = end
        reporter.advance(ready.cells[0].variant, end)
    history = {name: np.stack([snapshot[name] for snapshot in snapshots]) for name in snapshots[0]}
    return [_finish(builder, cell, index, carry, history) for index, cell in enumerate(ready.cells)]


def make_loop(config: ExperimentConfig) -> Loop:
    sampling = config.sampling
    return Loop(sampling.burn_in, sampling.thin, (sampling.steps - sampling.burn_in) // sampling.thin)


def make_batch(builder: Builder, cells: list[Cell]) -> tuple[Batch, jax.Array]:
    """The stacked samplers, data and keys of some cells, and their starting points [cell, chain, agent, param]."""
    chains = builder.config.sampling.chains

    def keys(cell: Cell) -> jax.Array:
        key = jax.random.fold_in(jax.random.key(cell.seed), cell.stream)
        return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(chains))

    batch = Batch(
        stack([builder.sampler(cell) for cell in cells]),
        stack([builder.data(cell) for cell in cells]),
        stack([builder.problem.observer(cell.seed, cell.method in SAMPLING_METHODS) for cell in cells]),
        jnp.stack([keys(cell) for cell in cells]),
    )
    starts = [builder.problem.start(cell.seed, builder.num_agents(cell), chains) for cell in cells]
    return batch, jnp.stack(starts)


def evaluation_steps(config: ExperimentConfig) -> tuple[int, ...]:
    """The steps after which metrics are stored; the last step is always one of them."""
    steps = config.sampling.steps
    points = np.linspace(0, steps, config.evaluations + 1).round().astype(int)
    return tuple(np.unique(points[points > 0]).tolist())


def chunk_ends(steps: int, evaluated: tuple[int, ...]) -> list[int]:
    return sorted({*range(CHUNK, steps, CHUNK), *evaluated, 1, steps})


@eqx.filter_jit
def _snapshot(batch: Batch, carry: Carry) -> dict:
    """name → [cell, agent], the mean over chains."""

    def look(sampler, data, observer, key, tracker, theta):
        return observer.snapshot(tracker, theta)

    seen = over_cells_and_chains(look)(batch, carry.tracker, carry.state.theta)
    return jax.tree.map(lambda values: values.mean(axis=1), seen)


def _finish(builder: Builder, cell: Cell, index: int, carry: Carry, history: dict[str, np.ndarray]) -> CellResult:
    mine: Carry = jax.tree.map(lambda leaf: np.asarray(leaf[index]), carry)
    over_time = {name: values[:, index] for name, values in history.items()}
    if (mine.bad_step >= 0).any():
        first = int(mine.bad_step[mine.bad_step >= 0].min())
        return CellResult(cell, "diverged", first, None, over_time)
    gauges = _gauge_metrics(mine)
    # Where every gain was 1 in every block, CD-DSGLD was DSGLD and has its law.
    law = builder.exact_law(cell) if gauges.get("unit_gain_min", 1.0) == 1.0 else None
    is_sampler = cell.method in SAMPLING_METHODS
    theta = np.asarray(mine.state.theta)
    metrics = builder.problem.finish(Outcome(cell.seed, is_sampler, mine.tracker, theta, over_time, law))
    scalars = metrics.scalars | gauges
    if is_sampler:  # R-hat of an optimiser's path would mean nothing
        scalars |= _diagnostics(np.asarray(mine.trace))
    scalars |= {name: float(values[-1].mean()) for name, values in over_time.items()}
    return CellResult(cell, "ok", None, dataclasses.replace(metrics, scalars=scalars), over_time)


def _gauge_metrics(carry: Carry) -> dict[str, float]:
    """Means after burn-in (over agents and chains) and extremes over the whole run."""
    gauges = carry.gauges
    out: dict[str, float] = {}
    for name, mean in gauges.mean.items():
        out[f"{name}_mean"] = float(np.mean(mean))
        out[f"{name}_min"] = float(np.min(gauges.least[name]))
        out[f"{name}_max"] = float(np.max(gauges.most[name]))
    return out


def _diagnostics(trace: np.ndarray) -> dict[str, float]:
    """The worst R-hat and ESS over the monitored quantities; absent when there are too few draws."""
    chains, draws, _ = trace.shape
    if draws < 8 or chains * draws < 16:
        return {}
    return {"rhat": float(np.nanmax(rhat(trace))), "ess": float(np.nanmin(ess(trace)))}


def _batches(cells: list[Cell], size: int) -> Iterator[list[Cell]]:
    size = size or len(cells)
    for begin in range(0, len(cells), size):
        yield cells[begin : begin + size]
