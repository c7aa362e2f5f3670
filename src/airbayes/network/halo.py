"""One network over several devices: each holds a block of consecutive agents, and fetches only the rows it hears.

    x_s = [ θ_own ; θ_j for every j that an agent of shard s hears and another shard holds ]
    Σ_j w_kj (θ_j − θ_k)   is then a sum over rows of x_s, in the same order as on one device

Rows travel by one permutation for each distance between shards: shard s receives from shard s + o, for every offset o
at which some shard hears another. On a ring that is one row from either side; on a geometric graph numbered along a
curve, the rim of a patch; on a full graph, everything. Rounding does not depend on where a row came from.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, Mesh
from jaxtyping import Array, Float, Int

from airbayes.errors import GraphError

AXIS = "agents"  # the mesh axis over which agents are split


class Halo(eqx.Module):
    """What a sharded neighbour table needs to fetch its rows."""

    rows: Int[Array, "agent slot"]  # place of the neighbour in x_s
    send: tuple[Int[Array, "shard _"], ...]  # own rows that shard s sends at each offset; padded alike
    offsets: tuple[int, ...] = eqx.field(static=True)
    mesh: Mesh | AbstractMesh = eqx.field(static=True)

    def heard(self) -> int:
        """The most rows of others that a shard hears, padding aside; on the host."""
        blocks = np.split(np.asarray(self.rows), self.mesh.size)
        return max(len(np.unique(block[block >= len(block)])) for block in blocks)


def fetch(
    values: Float[Array, "own param"], send: Sequence[Int[Array, "1 _"]], offsets: tuple[int, ...], shards: int
) -> Float[Array, "source param"]:
    """x_s, inside shard_map: the own rows, then those of others, offset by offset."""
    parts = [values]
    for offset, rows in zip(offsets, send, strict=True):
        towards = [((shard + offset) % shards, shard) for shard in range(shards)]
        parts.append(jax.lax.ppermute(values[rows[0]], AXIS, towards))
    return jnp.concatenate(parts)


def plan_halos(tables: Sequence[Int[np.ndarray, "agent slot"]], mesh: Mesh | AbstractMesh) -> list[Halo]:
    """The halos of neighbour tables of one size, padded alike so that they stack."""
    shards, agents = mesh.size, len(tables[0])
    if agents % shards:
        raise GraphError(
            f"{agents:,} agents do not split evenly over {shards} devices; use a number of agents that is a multiple "
            f"of {shards}, or fewer devices."
        )
    own = agents // shards
    wanted = [
        [_wanted(table[shard * own : (shard + 1) * own], shard, shards, own) for shard in range(shards)]
        for table in tables
    ]
    longest = {offset: max(len(rows[offset]) for graph in wanted for rows in graph) for offset in range(1, shards)}
    offsets = tuple(offset for offset, length in longest.items() if length)
    starts = dict(zip(offsets, own + np.cumsum([0, *(longest[offset] for offset in offsets)]), strict=False))
    return [
        Halo(
            jnp.asarray(_places(table, rows, starts, own)),
            tuple(jnp.asarray(_sent(rows, offset, longest[offset], own)) for offset in offsets),
            offsets,
            mesh,
        )
        for table, rows in zip(tables, wanted, strict=True)
    ]


def _wanted(table: np.ndarray, shard: int, shards: int, own: int) -> dict[int, np.ndarray]:
    """Offset → agents that this shard hears from the shard at that distance, ascending."""
    heard = np.unique(table)
    distance = (heard // own - shard) % shards
    return {offset: heard[distance == offset] for offset in range(1, shards)}


def _places(
    table: np.ndarray, wanted: list[dict[int, np.ndarray]], starts: dict[int, np.integer], own: int
) -> np.ndarray:
    places = np.empty_like(table)
    for shard, rows in enumerate(wanted):
        block = slice(shard * own, (shard + 1) * own)
        agents = [np.arange(shard * own, (shard + 1) * own), *(rows[offset] for offset in starts)]
        begins = [0, *starts.values()]
        where = np.concatenate([begin + np.arange(len(part)) for begin, part in zip(begins, agents, strict=True)])
        known = np.concatenate(agents)
        order = np.argsort(known)
        places[block] = where[order][np.searchsorted(known[order], table[block])]
    return places


def _sent(wanted: list[dict[int, np.ndarray]], offset: int, length: int, own: int) -> np.ndarray:
    shards = len(wanted)
    sent = np.zeros((shards, length), np.int32)
    for shard in range(shards):
        rows = wanted[(shard - offset) % shards][offset] - shard * own
        sent[shard, : len(rows)] = rows
    return sent
