"""How much device memory a run will take, asked from the compiler: what its programs hold and the workspace they plan.

Only shapes are used and no step is computed: a builder with `only_shapes` is enough. On a CPU the programs are compiled
without optimising their machine code, which plans the same buffers in a few seconds.
"""

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp

from airbayes.experiment.build import Builder
from airbayes.experiment.cells import Cell
from airbayes.experiment.loop import Batch, take_snapshot
from airbayes.experiment.ready import make_batch, make_loop, program_of

_UNOPTIMISED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


@dataclasses.dataclass(frozen=True)
class BatchMemory:
    """Of the cells of one batch, in bytes."""

    held: int  # data, graphs, θ, trackers: as long as the batch runs
    workspace: int  # activations, gradients, noise: during a step or an evaluation

    @property
    def total(self) -> int:
        return self.held + self.workspace


def memory_of_batches(
    builder: Builder, batches: Sequence[list[Cell]], tell: Callable[[str], None] = lambda text: None
) -> list[BatchMemory]:
    """What each of several batches will take. Two programs are compiled at a time, as in a run, and none twice;
    `tell` hears of what."""
    programs: dict[tuple, list[Cell]] = {}
    for cells in batches:
        programs.setdefault(program_of(cells), cells)
    # Here, one after the other: what they share is then made once.
    work = [(cells, make_batch(builder, cells[:1])) for cells in programs.values()]

    def ask(job: tuple[list[Cell], tuple[Batch, jax.Array]]) -> BatchMemory:
        tell(f"asking the compiler for the memory of {job[0][0].variant}")
        return _memory(builder, *job)

    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(programs, pool.map(ask, work), strict=True))
    return [found[program_of(cells)] for cells in batches]


def memory_of_batch(builder: Builder, cells: list[Cell]) -> BatchMemory:
    """What a batch of these cells, all of one variant, will take."""
    return _memory(builder, cells, make_batch(builder, cells[:1]))


def _memory(builder: Builder, cells: list[Cell], first: tuple[Batch, jax.Array]) -> BatchMemory:
    """From the first of the cells: the others are of the same shapes."""
    loop = make_loop(builder.config)
    arrays, rest = eqx.partition(first, eqx.is_array)
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((len(cells), *leaf.shape[1:]), leaf.dtype), arrays)
    carry = jax.eval_shape(lambda arrays: loop.start(*eqx.combine(arrays, rest)), shapes)
    index = jax.ShapeDtypeStruct((), jnp.int32)

    def advance(arrays, carry, begin, end):
        return loop.advance(eqx.combine(arrays, rest)[0], carry, begin, end)

    def look(arrays, carry):
        return take_snapshot(eqx.combine(arrays, rest)[0].observer, carry.tracker, carry.state.theta)

    step = _analysis(jax.jit(advance, donate_argnums=1).lower(shapes, carry, index, index))
    evaluation = _analysis(jax.jit(look).lower(shapes, carry))
    workspace = max(
        step.temp_size_in_bytes + step.output_size_in_bytes - step.alias_size_in_bytes,
        evaluation.temp_size_in_bytes + evaluation.output_size_in_bytes,
    )
    return BatchMemory(step.argument_size_in_bytes, workspace)


def memory_of_builder(builder: Builder) -> int:
    """Data of every seed and the graphs, in bytes: what the batches are stacked from stays as long as the run."""
    seeds = range(builder.config.first_seed, builder.config.first_seed + builder.config.seeds)
    one = _bytes(builder.problem.data(seeds[0]))  # seeds have data of about one size
    return len(seeds) * one + _bytes(builder.mixings)


def peak(batches: Sequence[BatchMemory], shared: int, ahead: bool) -> int:
    """The most that is there at once: with `ahead`, a batch beside the next, which is made ready meanwhile."""
    alone = max(batch.total for batch in batches)
    beside = [one.total + other.total for one, other in pairwise(batches)]
    return shared + (max([alone, *beside]) if ahead else alone)


def _bytes(tree) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree) if eqx.is_array(leaf))


def _analysis(lowered: jax.stages.Lowered):
    options = _UNOPTIMISED if jax.default_backend() == "cpu" else None
    analysis = lowered.compile(compiler_options=options).memory_analysis()
    assert analysis is not None  # CPU and GPU have one
    return analysis
