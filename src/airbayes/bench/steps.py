"""Section b: the whole step of every method on PointNet, and its parts; what is not gradient should be ≤ 15 %.

What is not gradient is timed as a step whose gradient is given. Parts are timed on their own, so they need not add up:
in the whole step the compiler fuses some of them.
"""

from collections.abc import Callable, Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from airbayes.bench.loops import CompiledLoop, over_cells
from airbayes.bench.machine import on_gpu, too_large
from airbayes.bench.pointnet_case import PointNetCase, make_case
from airbayes.bench.rows import Row, timed
from airbayes.bench.sizes import Sizes
from airbayes.bench.step_parts import Part, make_samplers, parts_of
from airbayes.bench.timing import Work, time_together
from airbayes.models import LocalData, pool_agents
from airbayes.network import ring
from airbayes.samplers import SGLD, Sampler

GROUP = "b step"
SHARE_TARGET = 0.15
SNR_DB = 20.0


def run_steps(sizes: Sizes, tell: Callable[[str], None]) -> Iterator[Row]:
    cells = sizes.together if on_gpu() else 1  # as studies run them
    case = make_case(sizes.agents, sizes.clouds, sizes.points, cells)
    gradient_of_all = case.gradient_loop  # compiled once: every method but SGLD has it
    samplers = make_samplers(case, ring(sizes.agents), SNR_DB)
    for method in sizes.methods or samplers:
        tell(f"{method}, {cells} cells" if cells > 1 else method)
        central = isinstance(samplers[method], SGLD)
        works: dict[str, Work] = {} if central else {"gradient": gradient_of_all}
        yield from time_method(method, samplers[method], case, works, sizes)


def time_method(
    method: str, sampler: Sampler, case: PointNetCase, works: dict[str, Work], sizes: Sizes
) -> Iterator[Row]:
    """The step, its parts (those not in `works` yet), and the share of the step that is not gradient."""
    title = method if case.cells == 1 else f"{method}, {case.cells} cells"
    whole = step_loop(sampler, case)
    reason = too_large(whole.compilation().bytes_needed())
    if reason:
        yield Row(GROUP, title, "ms", skipped=reason)
        return
    works = {"whole step": whole, "all but the gradient": step_loop(with_given_gradient(sampler, case), case), **works}
    for name, part in parts_of(sampler).items():
        works.setdefault(name, part_loop(part, sampler, case))
    found = time_together(works, sizes.effort)
    unit, scale = ("ms", 1e3) if case.cells == 1 else ("ms a cell", 1e3 / case.cells)
    for name, timing in found.items():
        yield timed(GROUP, f"{title}: {name}", timing, unit=unit, scale=scale)
    step, rest = found["whole step"], found["all but the gradient"]
    yield Row(
        GROUP,
        f"{title}: not gradient",
        "share",
        ours=rest.least / step.least,
        repeats=step.repeats,
        ours_median=rest.median / step.median,
        at_most=SHARE_TARGET,
        note="all but the gradient / whole step",
    )


def step_loop(sampler: Sampler, case: PointNetCase) -> CompiledLoop:
    """Step after step of all cells, with what the sampler reports."""
    theta, data = inputs_of(sampler, case)
    states = jax.vmap(sampler.init)(theta)

    def step(index, states, fixed):
        keys, sampler, data = fixed
        return eqx.filter_vmap(lambda key, sampler, state, data: sampler.step(key, state, data))(
            keys, sampler, states, data
        )

    return CompiledLoop(step, states, _fixed(sampler, case, data), evolving=True)


class GivenGradient(eqx.Module):
    """A gradient that costs nothing; the barrier keeps what follows from it inside the loop."""

    value: Float[Array, "agent param"]

    def __call__(
        self, keys: Key[Array, " agent"] | None, theta: Float[Array, "agent param"], data: PyTree
    ) -> Float[Array, "agent param"]:
        return jax.lax.optimization_barrier((self.value, theta))[0]


def with_given_gradient(sampler: Sampler, case: PointNetCase) -> Sampler:
    """The same sampler, without the work for its gradient."""
    theta, _ = inputs_of(sampler, case)
    value = jax.random.normal(jax.random.key(0), theta.shape[1:])
    return eqx.tree_at(lambda tree: tree.gradient, sampler, GivenGradient(value))


def part_loop(part: Part, sampler: Sampler, case: PointNetCase) -> CompiledLoop:
    """One part over and over, on the arrays the step begins with."""
    theta, data = inputs_of(sampler, case)

    def run(index, theta, fixed):
        keys, sampler, data = fixed
        return eqx.filter_vmap(lambda key, sampler, theta, data: part(key, index, sampler, theta, data))(
            keys, sampler, theta, data
        )

    return CompiledLoop(run, theta, _fixed(sampler, case, data))


def inputs_of(sampler: Sampler, case: PointNetCase) -> tuple[jax.Array, LocalData]:
    """θ and data of all cells; a centralised sampler is one agent with everybody's clouds."""
    if isinstance(sampler, SGLD):
        return case.theta[:, :1], jax.vmap(pool_agents)(case.data)
    return case.theta, case.data


def _fixed(sampler: Sampler, case: PointNetCase, data: LocalData) -> tuple:
    keys = jax.vmap(jax.random.key)(jnp.arange(case.cells))
    return keys, over_cells(sampler, case.cells), data
