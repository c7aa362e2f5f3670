"""Batches of cells, stacked and compiled, at their first step or where a journal says they stood."""

import dataclasses
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from airbayes.experiment.build import Builder, stack, stack_samplers
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import SAMPLING_METHODS, ExperimentConfig
from airbayes.experiment.journal import Journal
from airbayes.experiment.loop import Batch, Carry, Loop, take_snapshot
from airbayes.experiment.sharding import place_batch, place_like, place_rows
from airbayes.experiment.team import AnyJournal
from airbayes.leaving import AHEAD

LOOK_EVERY_S = 0.5  # whether the run is to stop, while a program is compiled


@dataclasses.dataclass(frozen=True)
class Ready:
    """A batch of cells that is compiled."""

    cells: list[Cell]
    loop: Loop
    batch: Batch
    carry: Carry
    begin: int  # the step at which it stands
    snapshots: list[dict[str, np.ndarray]]  # metrics stored before
    seconds: float  # that compiling took


class ReadyAhead:
    """Batches made ready two at a time: another one already while this one is made ready and runs.

    The other one is the next that needs another program, so that two programs are compiled at once; batches of a
    program that is there, such as those of another power policy, are ready in no time. Two batches at once need twice
    the memory, which someone who limits the batch does not have: then none is made ready ahead. Nor over several
    devices: their processes must start programs in one order.

    A run that is to stop does not wait for the compiler. Its threads then stay at work, see `leaving`.
    """

    def __init__(self, builder: Builder, jobs: list[list[Cell]], journal: AnyJournal | None):
        self.builder, self.jobs, self.journal = builder, list(jobs), journal
        self.pool = ThreadPoolExecutor(2, thread_name_prefix=AHEAD)
        self.once = Once()
        self.begun: set[tuple] = set()  # programs
        self.coming: tuple[list[Cell], Future[Ready]] | None = None
        self.awaited: Future[Ready] | None = None

    def __enter__(self) -> "ReadyAhead":
        return self

    def __exit__(self, *error: object) -> None:
        left = [self.awaited, self.coming[1] if self.coming is not None else None]
        at_work = any(each is not None and not each.done() for each in left)
        self.pool.shutdown(wait=not at_work, cancel_futures=True)

    def take(self) -> Ready:
        """The next batch; another one is begun, also where this one fails. To be asked for once per job."""
        self._check()
        job = self.jobs.pop(0)
        if self.coming is not None and self.coming[0] is job:
            (_, self.awaited), self.coming = self.coming, None
        else:
            self.awaited = self._begin(job)
        alone = self.builder.config.cells_per_batch or self.builder.mesh is not None
        if self.jobs and self.coming is None and not alone:
            new = (other for other in self.jobs if program_of(other) not in self.begun)
            following = next(new, self.jobs[0])
            self.coming = following, self._begin(following)
        while not wait([self.awaited], LOOK_EVERY_S).done:
            self._check()
        try:
            return self.awaited.result()
        finally:
            self.awaited = None  # it would keep an error, and with it all arrays of a batch that had no room, in memory

    def _check(self) -> None:
        """Stop here if the run is to; several processes agree on that later, all at the same place."""
        if isinstance(self.journal, Journal):
            self.journal.check()

    def _begin(self, job: list[Cell]) -> "Future[Ready]":
        self.begun.add(program_of(job))
        return self.pool.submit(prepare, self.builder, job, self.journal, self.once)


class Once:
    """Locks by name: of two threads that would do the same work, the second waits, and finds it done."""

    def __init__(self):
        self.locks: dict[object, Lock] = defaultdict(Lock)
        self.own = Lock()

    def __call__(self, work: object) -> Lock:
        with self.own:
            return self.locks[work]


def program_of(cells: list[Cell]) -> tuple[str, int]:
    """Batches with the same are run by one compiled program: power policies are numbers in it."""
    return cells[0].method, len(cells)


def prepare(
    builder: Builder, cells: list[Cell], journal: AnyJournal | None = None, once: Callable[..., Lock] | None = None
) -> Ready:
    """Compile a batch, and put it where the journal says it stood. Threads that prepare batches share one `once`: data
    and programs of several batches are then made by the first that needs them."""
    started = time.perf_counter()
    once = once or Once()
    loop = make_loop(builder.config, builder.mesh)
    with once("data"):
        batch, theta = make_batch(builder, cells)
    if builder.mesh is not None:
        batch, theta = place_batch(batch, builder.mesh), place_rows(theta, builder.mesh)
    with once(program_of(cells)):
        carry = loop.start(batch, theta)
    saved = journal.latest(cells) if journal else None
    begin, snapshots = 0, []
    if journal and saved is not None and not fits(carry, saved.leaves):
        journal.tell(
            f"The state of {cells[0].variant} saved at step {saved.step:,} has not the arrays of this release: "
            f"{len(cells)} cell{'s' * (len(cells) > 1)} from step 0 again."
        )
    elif saved is not None:
        leaves, structure = jax.tree.flatten(carry)
        carry = jax.tree.unflatten(structure, place_like(saved.leaves, leaves))
        begin, snapshots = saved.step, saved.snapshots
    with once(program_of(cells)):
        carry = jax.block_until_ready(loop.advance(batch, carry, begin, begin))  # no step: compiles
    with once(("snapshot", cells[0].method in SAMPLING_METHODS, len(cells))):
        jax.block_until_ready(take_snapshot(batch.observer, carry.tracker, carry.state.theta))  # compiles too, early
    return Ready(cells, loop, batch, carry, begin, snapshots, time.perf_counter() - started)


def fits(carry: Carry, leaves: list[np.ndarray]) -> bool:
    """Whether stored arrays can stand in for a carry."""
    wanted = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(carry)]
    return wanted == [(leaf.shape, leaf.dtype) for leaf in leaves]


def make_loop(config: ExperimentConfig, mesh: Mesh | None = None) -> Loop:
    sampling = config.sampling
    return Loop(sampling.burn_in, sampling.thin, (sampling.steps - sampling.burn_in) // sampling.thin, mesh)


def make_batch(builder: Builder, cells: list[Cell]) -> tuple[Batch, jax.Array]:
    """The stacked samplers, data and keys of some cells, and their starting points [cell, chain, agent, param]."""
    chains = builder.config.sampling.chains

    def keys(cell: Cell) -> jax.Array:
        key = jax.random.fold_in(jax.random.key(cell.seed), cell.stream)
        return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(chains))

    batch = Batch(
        stack_samplers([builder.sampler(cell) for cell in cells]),
        stack([builder.data(cell) for cell in cells]),
        stack([builder.problem.observer(cell.seed, cell.method in SAMPLING_METHODS) for cell in cells]),
        jnp.stack([keys(cell) for cell in cells]),
    )
    return batch, jnp.stack([builder.start(cell) for cell in cells])
