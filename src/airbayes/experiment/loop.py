"""The loop over steps, for a batch of cells × chains in one compiled program.

One `fori_loop` with traced bounds: any chunk length runs the same machine code, so the result does not depend on how a
run is cut, and progress, checkpoints and checks live between chunks. Nothing of the trajectory is stored but the
tracker, a thinned trace of a few scalars, and gauges (mean, least, largest of what the sampler reports).
"""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int, Key, PyTree

from airbayes.experiment.problem import Observer
from airbayes.network.halo import AXIS
from airbayes.samplers import Info, Sampler, State

Step = int | Int[Array, ""]
RUNAWAY_RMS = 1e6  # beyond this a chain has diverged, finite or not


class Gauges(eqx.Module):
    """What the sampler reports, condensed over steps: [agent] each."""

    mean: Info  # over the steps after burn-in; a running mean, since a float32 sum stalls after 10⁷ steps
    least: Info  # over all steps
    most: Info
    count: Int[Array, ""]  # steps in `mean`

    def update(self, info: Info, counted: Int[Array, ""]) -> "Gauges":
        tree = jax.tree.map
        count = self.count + counted
        share = counted / jnp.maximum(count, 1)
        return Gauges(
            tree(lambda mean, value: mean + share * (value - mean), self.mean, info),
            tree(jnp.minimum, self.least, info),
            tree(jnp.maximum, self.most, info),
            count,
        )


class Carry(eqx.Module):
    """Everything a run needs to go on: save it and the run resumes bit for bit."""

    state: State
    tracker: PyTree
    trace: Float[Array, "... draw quantity"]
    gauges: Gauges
    bad_step: Int[Array, "..."]  # the step at which θ left the finite range; −1 while it has not
    bad_agent: Int[Array, "..."]  # the first agent that did; −1 while none has


class Batch(eqx.Module):
    """What does not change during a run, stacked over cells (keys over cells and chains)."""

    sampler: Sampler
    data: PyTree
    observer: Observer
    keys: Key[Array, "cell chain"]


class Loop(eqx.Module):
    """How samples are kept: after `burn_in`, every `thin` steps, `draws` in all."""

    burn_in: int = eqx.field(static=True)
    thin: int = eqx.field(static=True)
    draws: int = eqx.field(static=True)
    mesh: Mesh | None = eqx.field(static=True, default=None)  # the devices over which agents are split

    def start(self, batch: Batch, theta: Float[Array, "cell chain agent param"]) -> Carry:
        """The carry before the first step."""

        return _start(self, batch, theta)

    def advance(self, batch: Batch, carry: Carry, begin: Step, end: Step) -> Carry:
        """Steps `begin` to `end` (counted from 0, end excluded). The carry handed in is used up."""
        return _advance(self, batch, carry, jnp.int32(begin), jnp.int32(end))


def over_cells_and_chains(function: Callable) -> Callable:
    """Vmap a function of (sampler, data, observer, key, *rest of one chain) over a batch."""

    def run(batch: Batch, *rest):
        def one_cell(sampler, data, observer, keys, *rest):
            chain = lambda key, *rest: function(sampler, data, observer, key, *rest)  # noqa: E731
            return eqx.filter_vmap(chain)(keys, *rest)

        by_cell = eqx.filter_vmap(one_cell, in_axes=_cell_axis)
        return by_cell(batch.sampler, batch.data, batch.observer, batch.keys, *rest)

    return run


def _cell_axis(leaf: object) -> int | None:
    """A number without an axis is one for all cells."""
    return 0 if isinstance(leaf, jax.Array) and leaf.ndim else None


@eqx.filter_jit
def _start(loop: Loop, batch: Batch, theta: Float[Array, "cell chain agent param"]) -> Carry:
    def one_chain(sampler, data, observer, key, theta):
        state = sampler.init(theta)
        shapes = jax.eval_shape(lambda: _without_gradient(sampler).step(key, state, data)[1])

        def filled(value: float) -> Info:
            return jax.tree.map(lambda leaf: jnp.full(leaf.shape, value, leaf.dtype), shapes)

        gauges = Gauges(filled(0.0), filled(jnp.inf), filled(-jnp.inf), jnp.zeros((), jnp.int32))
        trace = jnp.zeros((loop.draws, observer.quantities(len(theta))))
        nowhere = jnp.full((), -1, jnp.int32)
        return Carry(state, observer.empty(len(theta)), trace, gauges, nowhere, nowhere)

    return _keep_split(over_cells_and_chains(one_chain)(batch, theta), loop.mesh)


def _without_gradient(sampler: Sampler) -> Sampler:
    """Reports the same shapes, and spares tracing what is longest to trace."""
    if not hasattr(sampler, "gradient"):  # one of somebody's own
        return sampler
    return eqx.tree_at(lambda tree: tree.gradient, sampler, lambda keys, theta, data: theta)


@eqx.filter_jit(donate="all-except-first")
def _advance_donating(frozen: tuple, carry: Carry) -> Carry:
    loop, batch, begin, end = frozen

    def step(counted, sampler, data, observer, key, state, gauges, bad_step, bad_agent):
        state, info = sampler.step(key, state, data)
        lost = ~(jnp.mean(state.theta**2, axis=-1) < RUNAWAY_RMS**2)  # True for NaN too
        agents = jnp.arange(len(lost), dtype=jnp.int32)
        first = jnp.min(agents, initial=len(lost), where=lost)  # one reduction: over devices, each is a message
        now = (bad_step < 0) & (first < len(lost))
        bad_step = jnp.where(now, state.step, bad_step)
        bad_agent = jnp.where(now, first, bad_agent)
        return state, gauges.update(info, counted), bad_step, bad_agent

    def keep(sampler, data, observer, key, theta, tracker):
        return observer.update(tracker, theta)

    def body(index, carry: Carry) -> Carry:
        counted = (index >= loop.burn_in).astype(jnp.int32)
        run_step = over_cells_and_chains(partial(step, counted))
        state, gauges, bad_step, bad_agent = run_step(batch, carry.state, carry.gauges, carry.bad_step, carry.bad_agent)
        # A chain that diverged keeps its last good state; a real branch, which costs nothing while all is well.
        state = jax.lax.cond((bad_step >= 0).any(), _hold, lambda _, new, __: new, carry.state, state, bad_step)
        since = index + 1 - loop.burn_in

        def kept(tracker, trace):
            tracker, quantities = over_cells_and_chains(keep)(batch, state.theta, tracker)
            return tracker, trace.at[:, :, since // loop.thin - 1].set(quantities)

        # `since` is the same for all cells, so this stays a real branch and costs nothing when not taken.
        is_kept = (since > 0) & (since % loop.thin == 0)
        tracker, trace = jax.lax.cond(is_kept, kept, lambda *same: same, carry.tracker, carry.trace)
        return _keep_split(Carry(state, tracker, trace, gauges, bad_step, bad_agent), loop.mesh)

    return jax.lax.fori_loop(begin, end, body, carry)


def _keep_split(carry: Carry, mesh: Mesh | None) -> Carry:
    """Rows of agents stay on the device of their agent, and whatever else is there on all of them."""
    if mesh is None:
        return carry
    agents = carry.state.theta.shape[2]

    def by_agent(leaf, axis=2):  # [cell, chain, agent, ...]
        split = leaf.ndim > axis and leaf.shape[axis] == agents
        spec = PartitionSpec(*[None] * axis, AXIS) if split else PartitionSpec()
        return jax.lax.with_sharding_constraint(leaf, NamedSharding(mesh, spec))

    state, tracker, gauges = jax.tree.map(by_agent, (carry.state, carry.tracker, carry.gauges))
    trace = by_agent(carry.trace, 3)  # where agents are monitored one by one
    return Carry(state, tracker, trace, gauges, by_agent(carry.bad_step), by_agent(carry.bad_agent))


def _hold(old: State, new: State, bad_step: Int[Array, "cell chain"]) -> State:
    """The new state of chains that are well, the old one of the others."""

    def choose(before, after):
        lost = (bad_step >= 0).reshape(bad_step.shape + (1,) * (after.ndim - bad_step.ndim))
        return jnp.where(lost, before, after)

    return jax.tree.map(choose, old, new)


def _advance(loop: Loop, batch: Batch, carry: Carry, begin: Int[Array, ""], end: Int[Array, ""]) -> Carry:
    return _advance_donating((loop, batch, begin, end), carry)


@eqx.filter_jit
def take_snapshot(observer: Observer, tracker: PyTree, theta: Float[Array, "cell chain agent param"]) -> dict:
    """name → [cell, agent], the mean over chains. It knows no sampler, so that all variants share one program."""

    def one_cell(observer, trackers, thetas):
        return eqx.filter_vmap(observer.snapshot)(trackers, thetas)

    seen = eqx.filter_vmap(one_cell)(observer, tracker, theta)
    return jax.tree.map(lambda values: values.mean(axis=1), seen)
