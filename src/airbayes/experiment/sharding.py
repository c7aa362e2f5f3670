"""One network over several devices: which arrays are split over the mesh axis `agents`, and how they come back.

Split are the rows of agents: θ and what else the samplers remember, data, neighbour tables, trackers, gauges. The rest
is the same on every device. Programs are written for the whole network; the compiler splits them, and reductions
over agents become collectives. Two parts are written per shard: neighbours' rows (`network.halo`) and gradients.
"""

from collections.abc import Callable, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Key, PyTree, Shaped

from airbayes.experiment.loop import Batch
from airbayes.network import Mixing
from airbayes.network.halo import AXIS

WHOLE, ROWS = PartitionSpec(), PartitionSpec(None, AXIS)  # of a batch: [cell, agent, ...]
BLOCK = 16_000_000  # bytes that travel at a time when arrays are collected


def make_mesh(devices: Sequence) -> Mesh:
    """One axis, `agents`. Devices of one process must be neighbours, so that most rows travel within it."""
    return jax.make_mesh((len(devices),), (AXIS,), axis_types=(AxisType.Auto,), devices=devices)


class ShardedGradient(eqx.Module):
    """Every shard computes the gradients of its own agents, by the very program of a small network."""

    gradient: Callable  # (keys, theta, data) → ∇f_k(θ_k), [agent, param]
    mesh: Mesh = eqx.field(static=True)

    def __call__(
        self, keys: Key[Array, " agent"], theta: Float[Array, "agent param"], data: PyTree
    ) -> Float[Array, "agent param"]:
        arrays, rest = eqx.partition(self.gradient, eqx.is_array)

        def one_shard(arrays, keys, theta, data):
            return eqx.combine(arrays, rest)(keys, theta, data)

        rows = PartitionSpec(AXIS)
        run = jax.shard_map(
            one_shard, mesh=self.mesh, in_specs=(WHOLE, rows, rows, rows), out_specs=rows, check_vma=False
        )
        return run(arrays, keys, theta, data)


def place_batch(batch: Batch, mesh: Mesh) -> Batch:
    """The batch on the devices of all processes; each of them hands in the same one."""

    def node(part):
        if isinstance(part, Mixing):
            return jax.tree.map(lambda leaf: _put(leaf, mesh, ROWS if leaf.ndim > 1 else WHOLE), part)
        return _put(part, mesh, WHOLE) if eqx.is_array(part) else part

    return Batch(
        jax.tree.map(node, batch.sampler, is_leaf=lambda part: isinstance(part, Mixing)),
        jax.tree.map(lambda leaf: _put(leaf, mesh, ROWS), batch.data),
        jax.tree.map(node, batch.observer),
        _put(batch.keys, mesh, WHOLE),
    )


def place_rows(leaf: Shaped[Array, "cell chain agent ..."], mesh: Mesh) -> Array:
    return _put(leaf, mesh, PartitionSpec(None, None, AXIS))


def place_like(leaves: Sequence[np.ndarray], wanted: Sequence[Array]) -> list[Array]:
    """Host arrays where other arrays are."""
    return [
        jax.make_array_from_callback(leaf.shape, like.sharding, lambda index, leaf=leaf: leaf[index])
        for leaf, like in zip(leaves, wanted, strict=True)
    ]


def _put(leaf: Array, mesh: Mesh, spec: PartitionSpec) -> Array:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        wrap = partial(jax.random.wrap_key_data, impl=jax.random.key_impl(leaf))
        return jax.jit(wrap)(_put(jax.random.key_data(leaf), mesh, spec))
    host = np.asarray(leaf)
    return jax.make_array_from_callback(host.shape, NamedSharding(mesh, spec), lambda index: host[index])


def collect(tree: PyTree) -> PyTree | None:
    """Arrays of all processes as numpy arrays on the first one; None on the others, which must call this too.

    Rows travel in blocks of a few megabytes: no device ever holds more of an array than its own part.
    """
    leaves, structure = jax.tree.flatten(tree)
    found = [_collect(leaf) for leaf in leaves]
    return jax.tree.unflatten(structure, found) if jax.process_index() == 0 else None


def _collect(leaf: Array) -> np.ndarray | None:
    first = jax.process_index() == 0
    if leaf.is_fully_addressable or leaf.is_fully_replicated:
        return np.asarray(leaf) if first else None
    assert isinstance(leaf.sharding, NamedSharding)
    mesh = leaf.sharding.mesh
    assert isinstance(mesh, Mesh)
    axis = next(index for index, names in enumerate(leaf.sharding.spec) if names in (AXIS, (AXIS,)))
    own = leaf.shape[axis] // mesh.size
    size = max(1, min(own, BLOCK * own // max(leaf.nbytes, 1)))
    out = np.empty(leaf.shape, leaf.dtype) if first else None
    for begin in range(0, own, size):
        begin = min(begin, own - size)  # the last block may overlap the one before
        block = _block(leaf, begin, axis, size, mesh)
        if out is not None:
            for shard, rows in enumerate(np.asarray(block.addressable_data(0))):
                place = slice(shard * own + begin, shard * own + begin + size)
                out[(slice(None),) * axis + (place,)] = rows
    return out


@partial(jax.jit, static_argnums=(2, 3, 4))
def _block(leaf: Array, begin: int, axis: int, size: int, mesh: Mesh) -> Array:
    """[shard, ...] with `size` rows of every shard."""

    def one_shard(part, begin):
        return jax.lax.all_gather(jax.lax.dynamic_slice_in_dim(part, begin, size, axis), AXIS)

    rows = PartitionSpec(*[None] * axis, AXIS)
    run = jax.shard_map(one_shard, mesh=mesh, in_specs=(rows, WHOLE), out_specs=WHOLE, check_vma=False)
    return run(leaf, jnp.int32(begin))
