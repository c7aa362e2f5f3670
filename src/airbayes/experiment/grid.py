"""Runs a grid: all cells of a variant (method and power policy) in one vmapped program, compiled once."""

from collections.abc import Iterator

import jax
import numpy as np

from airbayes.compiler import check_compiler
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import Cell, enumerate_cells, group_by_variant
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.failures import Failure, error_text, is_disk_full, note_failure
from airbayes.experiment.finish import finish_cell
from airbayes.experiment.journal import Journal, Stopped
from airbayes.experiment.loop import Carry, take_snapshot
from airbayes.experiment.ready import Ready, ReadyAhead
from airbayes.experiment.reporter import Marked, Reporter
from airbayes.experiment.results import CellResult
from airbayes.experiment.sharding import collect
from airbayes.experiment.team import AnyJournal
from airbayes.experiment.validate import check_config

CHUNK = 200  # most steps between two signs of life


def run_grid(config: ExperimentConfig, reporter: Reporter, builder: Builder | None = None) -> list[CellResult]:
    """Every cell of the experiment; the configuration is checked before anything is compiled."""
    config = check_config(config)
    check_compiler()
    builder = builder or Builder(config)
    return [result for variant in run_variants(builder, reporter) for result in variant]


def run_variants(
    builder: Builder,
    reporter: Reporter,
    journal: AnyJournal | None = None,
    failures: list[Failure] | None = None,
) -> Iterator[list[CellResult]]:
    """The results of one variant after the other; while one runs, the next is compiled.

    With a journal, batches that were finished before are taken from it, others go on from where they stood. Of several
    processes only the first has results; the others yield empty lists. An error in a batch ends the run, or, with
    `failures`, is added to them, and the other batches go on.
    """
    config, reporter = builder.config, Marked(reporter)
    groups = group_by_variant(enumerate_cells(config))
    jobs = [batch for cells in groups.values() for batch in batches_of(cells, config.cells_per_batch)]
    found = [journal.finished(job) if journal else None for job in jobs]
    waiting = [job for job, results in zip(jobs, found, strict=True) if results is None]
    done: list[CellResult] = []
    cells_done = 0
    with ReadyAhead(builder, waiting, journal) as ahead:
        for job, results in zip(jobs, found, strict=True):
            variant = job[0].variant
            if not cells_done:
                reporter.begin(variant, groups[variant], config.sampling.steps)
            if results is None:
                try:
                    done += _run_waiting(builder, ahead, reporter, journal)
                except Exception as error:
                    if failures is None or ends_run(error, reporter):
                        raise
                    failures.append(_failure(job, error, journal))
                    reporter.failed(job, failures[-1].text)
            else:
                _retell(reporter, job, results, evaluation_steps(config))
                reporter.resumed(job, config.sampling.steps)
                done += results
            cells_done += len(job)
            if cells_done == len(groups[variant]):
                if done or not failures:
                    reporter.finish(variant, done)
                    yield done
                done, cells_done = [], 0


def ends_run(error: Exception, reporter: Marked) -> bool:
    """Whether an error is not the batch's own: someone stops the run, nothing can be stored, or nobody be told."""
    return isinstance(error, Stopped) or error is reporter.error or is_disk_full(error)


def _failure(cells: list[Cell], error: Exception, journal: AnyJournal | None) -> Failure:
    place = journal.place(cells) if isinstance(journal, Journal) else None
    return Failure(cells, error_text(error), note_failure(place, error))


def _run_waiting(
    builder: Builder, ahead: ReadyAhead, reporter: Reporter, journal: AnyJournal | None
) -> list[CellResult]:
    ready = ahead.take()
    reporter.compiled(ready.cells[0].variant, ready.seconds)
    if ready.begin:
        reporter.resumed(ready.cells, ready.begin)
    if journal:
        journal.check()
    return run_batch(builder, ready, reporter, journal)


def run_batch(
    builder: Builder, ready: Ready, reporter: Reporter, journal: AnyJournal | None = None
) -> list[CellResult]:
    """Cells of one variant, together, to the last step."""
    sampling, batch, carry = builder.config.sampling, ready.batch, ready.carry
    evaluated = evaluation_steps(builder.config)
    snapshots, begin = list(ready.snapshots), ready.begin
    for step, snapshot in zip(evaluated, snapshots, strict=False):  # a tracker may have missed the last before a kill
        reporter.snapshot(ready.cells, step, _over_agents(snapshot), _lost(carry, step))
    for end in chunk_ends(sampling.steps, evaluated):
        if end <= begin:
            continue
        carry = jax.block_until_ready(ready.loop.advance(batch, carry, begin, end))
        if end in evaluated:
            snapshot = collect(take_snapshot(batch.observer, carry.tracker, carry.state.theta))
            if snapshot is not None:
                snapshots.append(snapshot)
                alone = jax.process_count() == 1  # else the trackers are spread over processes
                glimpse = builder.problem.glimpse([cell.seed for cell in ready.cells], carry.tracker) if alone else {}
                reporter.snapshot(ready.cells, end, _over_agents(snapshot) | glimpse, _lost(carry, end))
        begin = end
        reporter.advance(ready.cells, end)
        if journal and end < sampling.steps:
            journal.after_chunk(ready.cells, end, carry, snapshots)
    whole = carry if builder.mesh is None else collect(carry)
    if whole is None:  # another process finishes the cells
        return []
    history = {name: np.stack([snapshot[name] for snapshot in snapshots]) for name in snapshots[0]}
    results = [finish_cell(builder, cell, index, whole, history) for index, cell in enumerate(ready.cells)]
    if journal:
        journal.finish(ready.cells, results)
    return results


def _retell(reporter: Reporter, cells: list[Cell], results: list[CellResult], evaluated: tuple[int, ...]) -> None:
    """What was stored of cells that another process computed, or this one before it was killed."""
    if not results:  # one of several processes, but not the first
        return
    for index, step in enumerate(evaluated):
        seen = [{name: values[index].mean() for name, values in result.history.items()} for result in results]
        values = {name: np.array([each[name] for each in seen]) for name in seen[0]}
        lost = np.array([result.diverged is not None and result.diverged.step < step for result in results])
        reporter.snapshot(cells, step, values, lost)


def _over_agents(snapshot: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: values.mean(axis=-1) for name, values in snapshot.items()}


def _lost(carry: Carry, step: int) -> np.ndarray:
    """Which cells have a chain that diverged in the first `step` steps."""
    bad_step = np.asarray(carry.bad_step)
    return np.asarray(((bad_step >= 0) & (bad_step < step)).any(axis=1))


def evaluation_steps(config: ExperimentConfig) -> tuple[int, ...]:
    """The steps after which metrics are stored; the last step is always one of them."""
    steps = config.sampling.steps
    points = np.linspace(0, steps, config.evaluations + 1).round().astype(int)
    return tuple(np.unique(points[points > 0]).tolist())


def chunk_ends(steps: int, evaluated: tuple[int, ...]) -> list[int]:
    return sorted({*range(CHUNK, steps, CHUNK), *evaluated, steps})


def batches_of(cells: list[Cell], size: int) -> Iterator[list[Cell]]:
    size = size or len(cells)
    for begin in range(0, len(cells), size):
        yield cells[begin : begin + size]
