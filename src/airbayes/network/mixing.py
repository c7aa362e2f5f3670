"""Mixing on the device: θ_k + Σ_j w_kj m_kj (θ_j − θ_k).

The sum is over differences, never a product with W: a row of W that sums to 1 + δ after rounding acts
like a prior of precision Nδ/η on the posterior. Differences vanish at consensus, whatever the rounding
and whatever the mask.
"""

import dataclasses
from collections.abc import Sequence
from typing import Literal, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, Mesh, PartitionSpec
from jaxtyping import Array, Float, Int

from airbayes.errors import GraphError
from airbayes.network.graphs import Graph, require_graph
from airbayes.network.halo import AXIS, Halo, fetch, plan_halos
from airbayes.network.spectrum import check_connected, check_contraction, per_edge
from airbayes.network.weights import Weights, resolve

UNROLL = 64  # up to so many slots are one fused loop: 3 to 9 times faster than a scan over slots on a CPU
MAX_TABLE = 300_000_000  # entries, of 12 bytes each, of a table that was asked for


class Mixing(eqx.Module):
    """A padded neighbour table: agent k hears agent `neighbours[k, s]` in slot s with weight `weights[k, s]`.

    Summing slot by slot needs no scatter and has one order, so sharding agents does not change a bit.
    """

    neighbours: Int[Array, "agent slot"]  # padding points at the agent itself
    weights: Float[Array, "agent slot"]  # w_kj, 0 on padding
    edge_ids: Int[Array, "agent slot"]  # row of graph.edges, num_edges on padding
    edge_weight: Float[Array, ""] | None  # w where all edges share one
    degrees: Float[Array, " agent"]
    num_edges: int = eqx.field(static=True)  # rows of edge ids, padded ones included
    halo: Halo | None = None  # how rows are fetched where the agents are split over devices

    @property
    def num_agents(self) -> int:
        return self.neighbours.shape[-2]

    @property
    def links(self) -> Float[Array, "agent slot"]:
        """1 on links, 0 on padding."""
        return (self.edge_ids < self.num_edges).astype(self.weights.dtype)

    @property
    def senders(self) -> Int[Array, "agent slot"]:
        return self.neighbours

    @property
    def receivers(self) -> Int[Array, "agent 1"]:
        return jnp.arange(self.num_agents)[:, None]


class EdgeMixing(eqx.Module):
    """Directed links sorted by receiver, for skewed graphs whose table would be nearly all padding.

    Memory is [link, param]. The segment sum is a scatter: on a GPU its last bits may vary between runs.
    """

    receivers: Int[Array, " link"]
    senders: Int[Array, " link"]
    weights: Float[Array, " link"]
    edge_ids: Int[Array, " link"]
    edge_weight: Float[Array, ""] | None
    degrees: Float[Array, " agent"]
    num_edges: int = eqx.field(static=True)

    @property
    def num_agents(self) -> int:
        return self.degrees.shape[-1]

    @property
    def links(self) -> Float[Array, " link"]:
        return jnp.ones_like(self.weights)


AnyMixing = Mixing | EdgeMixing
"""What `build_mixing` returns: graph and weights on the device."""
PerLink = Float[Array, "*link"]  # [agent, slot] for Mixing, [link] for EdgeMixing


def neighbour_sum(
    values: Float[Array, "source param"],
    own: Float[Array, "agent param"],
    mixing: AnyMixing,
    link_gain: PerLink | None = None,
    sender_gain: Float[Array, " source"] | None = None,
) -> Float[Array, "agent param"]:
    """Σ_j w_kj g_kj (ρ_j values_j − own_k): what agent k hears, relative to its own θ_k.

    `values` has one row per agent. `link_gain` g multiplies the whole bracket. `sender_gain` ρ is applied to
    the row after it is fetched, not before: else its rounding would depend on which device the sender is on.
    """
    gains = mixing.weights if link_gain is None else mixing.weights * link_gain
    if isinstance(mixing, EdgeMixing):
        terms = gains[:, None] * (_sent(values, mixing.senders, sender_gain) - _rows(own, mixing.receivers))
        return jax.ops.segment_sum(terms, mixing.receivers, own.shape[0], indices_are_sorted=True)
    if mixing.halo is not None:
        return _sum_over_shards(values, own, mixing.halo, gains, sender_gain)
    return _sum_over_slots(values, own, mixing.neighbours, gains, sender_gain)


def _sum_over_slots(
    values: Float[Array, "source param"],
    own: Float[Array, "agent param"],
    neighbours: Int[Array, "agent slot"],
    gains: Float[Array, "agent slot"],
    sender_gain: Float[Array, " source"] | None,
) -> Float[Array, "agent param"]:
    def add(total, neighbour, gain):
        return total + gain[:, None] * (_sent(values, neighbour, sender_gain) - own)

    # Starting from slot 0, not from zeros, gives the scan's carry the type of a shard inside shard_map.
    total = add(0.0, neighbours[:, 0], gains[:, 0])
    if gains.shape[1] > UNROLL:
        slots = (neighbours[:, 1:].T, gains[:, 1:].T)
        return jax.lax.scan(lambda total, slot: (add(total, *slot), None), total, slots)[0]
    for slot in range(1, gains.shape[1]):
        total = add(total, neighbours[:, slot], gains[:, slot])
    return total


def _sum_over_shards(
    values: Float[Array, "agent param"],
    own: Float[Array, "agent param"],
    halo: Halo,
    gains: Float[Array, "agent slot"],
    sender_gain: Float[Array, " agent"] | None,
) -> Float[Array, "agent param"]:
    """Every shard fetches the rows it lacks, then sums as one device does. A gain travels with its row."""

    def one_shard(values, own, rows, gains, send, sender_gain):
        if sender_gain is None:
            return _sum_over_slots(fetch(values, send, halo.offsets, shards), own, rows, gains, None)
        both = fetch(jnp.concatenate([values, sender_gain[:, None]], axis=1), send, halo.offsets, shards)
        return _sum_over_slots(both[:, :-1], own, rows, gains, both[:, -1])

    shards, split = halo.mesh.size, PartitionSpec(AXIS)
    run = jax.shard_map(one_shard, mesh=halo.mesh, in_specs=split, out_specs=split)
    return run(values, own, halo.rows, gains, halo.send, sender_gain)


def check_mask(mask: PerLink | None, mixing: AnyMixing) -> None:
    """One number for each link, in the layout of the weights; any other shape would be broadcast."""
    wanted = mixing.weights.shape
    if mask is not None and jnp.shape(mask) != wanted:
        raise GraphError(
            f"A mask must be shaped like mixing.weights, {list(wanted)}, got shape {list(jnp.shape(mask))}. "
            "Of up [agent, agent], up[k, j] = 1 where k hears j: up[mixing.receivers, mixing.senders]."
        )


def mix(
    theta: Float[Array, "agent param"],
    mixing: AnyMixing,
    mask: PerLink | None = None,
    sent: Float[Array, "agent param"] | None = None,
) -> Float[Array, "agent param"]:
    """θ_k + Σ_j w_kj m_kj (θ_j − θ_k): one gossip step; rows sum to one whatever the mask m.

    `sent` is what neighbours hear in place of θ_j, where it differs (an old θ_j, or a lie).
    """
    if theta.ndim != 2 or theta.shape[0] != mixing.num_agents:
        raise GraphError(
            f"θ must be [agent, param] with one row for each of the {mixing.num_agents} agents, got shape "
            f"{list(theta.shape)}. Of one number per agent give theta[:, None]; of several chains: jax.vmap(...)."
        )
    check_mask(mask, mixing)
    return theta + neighbour_sum(theta if sent is None else sent, theta, mixing, mask)


def _sent(
    values: Float[Array, "source param"], senders: Int[Array, " row"], gain: Float[Array, " source"] | None
) -> Float[Array, "row param"]:
    rows = _rows(values, senders)
    return rows if gain is None else gain[senders][:, None] * rows


def _rows(values: Float[Array, "source param"], index: Int[Array, " row"]) -> Float[Array, "row param"]:
    return jnp.asarray(values).at[index].get(mode="promise_in_bounds")  # of NumPy's arrays, too


@overload
def build_mixing(
    graph: Graph,
    weights: Weights = "best-constant",
    *,
    layout: Literal["table"],
    slots: int | None = None,
    max_edges: int | None = None,
    check: bool = True,
) -> Mixing: ...
@overload
def build_mixing(
    graph: Graph,
    weights: Weights = "best-constant",
    *,
    layout: Literal["auto", "table", "edges"] = "auto",
    slots: int | None = None,
    max_edges: int | None = None,
    check: bool = True,
) -> AnyMixing: ...


def build_mixing(
    graph: Graph,
    weights: Weights = "best-constant",
    *,
    layout: Literal["auto", "table", "edges"] = "auto",
    slots: int | None = None,
    max_edges: int | None = None,
    check: bool = True,
) -> AnyMixing:
    """The mixing of a graph under `weights`: "best-constant", "max-degree", "metropolis", w, or w_e [edge].

    `slots` and `max_edges` pad the table and the edge ids, so that several graphs stack. "auto" takes the
    table unless it would have over 1e6 entries, more than 7/8 of them padding, as for a star of 10⁵ agents.
    """
    require_graph(graph)
    if layout not in ("auto", "table", "edges"):
        raise GraphError(f"Unknown layout {layout!r}. Choose 'auto', 'table' or 'edges'.")
    if check:
        check_connected(graph)
    resolved = resolve(graph, weights)
    if check and not isinstance(weights, str):  # the named rules contract on every connected graph
        check_contraction(graph, resolved)
    most = max(1, int(graph.degrees.max()))  # an edgeless graph keeps one slot of padding
    slots = _padded("slots", slots, most, "the largest degree")
    num_edges = _padded("max_edges", max_edges, graph.num_edges, "the number of edges")
    entries = graph.num_agents * slots
    if layout == "auto":
        layout = "edges" if entries > max(1_000_000, 16 * graph.num_edges) else "table"
    if layout == "table":
        _check_table(graph.num_agents, slots, "use layout='edges'")

    # Edges are sorted: with the smaller senders first, a stable sort by receiver leaves senders ascending.
    senders, receivers = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    order = np.argsort(receivers, kind="stable")
    receivers, senders = receivers[order], senders[order]
    edge_ids = np.tile(np.arange(graph.num_edges, dtype=np.int32), 2)[order]
    link_weights = per_edge(graph, resolved)[edge_ids]
    edge_weight = jnp.asarray(resolved, float) if isinstance(resolved, float) else None
    degrees = jnp.asarray(graph.degrees, float)
    if layout == "edges":
        links = (jnp.asarray(receivers), jnp.asarray(senders), jnp.asarray(link_weights, float))
        return EdgeMixing(*links, jnp.asarray(edge_ids), edge_weight, degrees, num_edges)

    first_link = np.cumsum(graph.degrees) - graph.degrees
    column = np.arange(len(receivers)) - first_link[receivers]

    def table(padding, entries):
        result = np.broadcast_to(padding, (graph.num_agents, slots)).astype(entries.dtype)
        result[receivers, column] = entries
        return result

    return Mixing(
        jnp.asarray(table(np.arange(graph.num_agents)[:, None], senders)),
        jnp.asarray(table(0.0, link_weights), float),
        jnp.asarray(table(num_edges, edge_ids)),
        edge_weight,
        degrees,
        num_edges,
    )


def stack_mixings(
    graphs: Sequence[Graph], weights: Weights = "best-constant", check: bool = True, mesh: Mesh | None = None
) -> list[Mixing]:
    """Tables of several graphs of one size, padded alike; with a mesh, for agents that are split over its devices.

    `jax.tree.map(lambda *leaves: jnp.stack(leaves), *result)` stacks them for vmap.
    """
    slots = check_stack(graphs)
    max_edges = max(graph.num_edges for graph in graphs)
    mixings = [
        build_mixing(graph, weights, layout="table", slots=slots, max_edges=max_edges, check=check) for graph in graphs
    ]
    return mixings if mesh is None else shard_mixings(mixings, mesh)


def shard_mixings(mixings: Sequence[Mixing], mesh: Mesh | AbstractMesh) -> list[Mixing]:
    """The same tables for agents in consecutive blocks, one per device of the mesh, whose axis is `agents`."""
    halos = plan_halos([np.asarray(mixing.neighbours) for mixing in mixings], mesh)
    return [dataclasses.replace(mixing, halo=halo) for mixing, halo in zip(mixings, halos, strict=True)]


def check_stack(graphs: Sequence[Graph]) -> int:
    """The slots of tables for all these graphs; raises GraphError where they cannot be stacked or are too large."""
    for graph in graphs:
        require_graph(graph)
    if len({graph.num_agents for graph in graphs}) != 1:
        raise GraphError(f"Only graphs of one size stack; these have {[g.num_agents for g in graphs]} agents.")
    slots = max(1, *(int(graph.degrees.max()) for graph in graphs))
    busiest = max(graphs, key=lambda graph: int(graph.degrees.max()))
    _check_table(graphs[0].num_agents, slots, f"{busiest.name!r} has an agent with {slots:,} neighbours; leave it out")
    return slots


def _check_table(num_agents: int, slots: int, fix: str) -> None:
    if num_agents * slots > MAX_TABLE:
        raise GraphError(
            f"A table of {num_agents:,} agents × {slots:,} slots is too large (limit {MAX_TABLE:,} entries): {fix}."
        )


def _padded(name: str, asked: int | None, needed: int, what: str) -> int:
    if asked is not None and asked < needed:
        raise GraphError(f"{name} = {asked} is less than {what}, {needed}.")
    return needed if asked is None else asked
