"""Outages as 0/1 masks of links: m_kj = 0 when agent k does not hear agent j in this step.

Masks multiply the brackets w_kj (θ_j − θ_k), so rows of the masked W still sum to one. Each has the
shape of `mixing.weights` and is 0 on padding. Padding a table further changes no draw.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Key, Real

from airbayes.checks import PROBABILITY, check_number
from airbayes.network.mixing import AnyMixing, EdgeMixing, PerLink

Probability = Real[ArrayLike, ""]


def link_mask(key: Key[Array, ""], mixing: AnyMixing, outage_probability: Probability) -> PerLink:
    """Each edge is down with probability p, in both directions at once: the masked W is symmetric."""
    up = _up(key, mixing.num_edges + 1, outage_probability)
    return mixing.links * up[mixing.edge_ids]


def one_way_mask(key: Key[Array, ""], mixing: AnyMixing, outage_probability: Probability) -> PerLink:
    """Each direction of each edge is down with probability p by itself: the masked W is not symmetric."""
    upwards, downwards = jax.random.split(key)
    up = _up(upwards, mixing.num_edges + 1, outage_probability)[mixing.edge_ids]
    down = _up(downwards, mixing.num_edges + 1, outage_probability)[mixing.edge_ids]
    return mixing.links * jnp.where(mixing.senders < mixing.receivers, up, down)


def node_mask(key: Key[Array, ""], mixing: AnyMixing, outage_probability: Probability) -> PerLink:
    """Each agent is down with probability p and then neither hears nor is heard."""
    up = _up(key, mixing.num_agents, outage_probability)
    return mixing.links * (up[mixing.senders] & up[mixing.receivers])


def burst_mask(
    key: Key[Array, ""],
    mixing: AnyMixing,
    before: PerLink,
    first: Bool[Array, ""],
    outage_probability: Probability,
    mean_length: Probability,
    one_way: bool = False,
) -> PerLink:
    """Gilbert–Elliott links, one step on from the mask `before`; `first` draws from the stationary law instead.

    A link that is down heals with probability 1/L, one that is up fails with p/((1−p)L): it is down a share p of the
    time, L steps at a time. With `one_way` each direction is a chain by itself. L = 1/(1−p) is `link_mask` in law.
    """
    threshold = down_below(before > 0, first, outage_probability, mean_length)
    return mixing.links * (_link_uniforms(key, mixing, one_way) >= threshold)


def down_below(
    up: Bool[Array, "*thing"], first: Bool[Array, ""], outage_probability: Probability, mean_length: Probability
) -> Float[Array, "*thing"]:
    """The probability that a two-state chain (down a share p of the time, L steps at a time) is down in this step."""
    heals = 1.0 / mean_length
    fails = outage_probability / (1.0 - outage_probability) * heals
    return jnp.where(first, outage_probability, jnp.where(up, fails, 1.0 - heals))


def combine(first: PerLink, *others: PerLink) -> PerLink:
    """The links that survive every one of the masks."""
    for other in others:
        first = first * other
    return first


def surviving_components(mask: PerLink, mixing: AnyMixing) -> int:
    """The number of groups of agents that still all reach each other under the mask; on the host."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    alive = np.asarray(mask * mixing.links) != 0
    receivers = np.broadcast_to(np.asarray(mixing.receivers), alive.shape)[alive]
    senders = np.asarray(mixing.senders)[alive]
    shape = (mixing.num_agents, mixing.num_agents)
    links = coo_array((np.ones(len(senders), np.int8), (senders, receivers)), shape=shape)
    return int(connected_components(links.tocsr(), directed=True, connection="strong")[0])


def links_up(mask: PerLink, mixing: AnyMixing) -> Float[Array, " agent"]:
    """The share of its links over which each agent hears; 1 where it has none."""
    mask = mask * mixing.links
    if isinstance(mixing, EdgeMixing):
        heard = jax.ops.segment_sum(mask, mixing.receivers, mixing.num_agents, indices_are_sorted=True)
    else:
        heard = mask.sum(axis=1)
    return jnp.where(mixing.degrees > 0, heard / jnp.maximum(mixing.degrees, 1.0), 1.0)


def is_split(mask: PerLink, mixing: AnyMixing, present: Float[Array, " agent"] | None = None) -> Bool[Array, ""]:
    """Whether some present agent cannot reach another over any number of links; on the device, N³ log N."""
    agents = mixing.num_agents
    receivers = jnp.broadcast_to(mixing.receivers, mask.shape)
    reach = jnp.eye(agents).at[receivers, mixing.senders].add(mask * mixing.links)
    for _ in range(max(1, (agents - 1).bit_length())):
        reach = jnp.minimum(reach @ reach, 1.0)
    reached = reach > 0
    if present is not None:
        reached = reached | (present == 0)[:, None] | (present == 0)[None, :]
    return ~reached.all()


def _link_uniforms(key: Key[Array, ""], mixing: AnyMixing, one_way: bool) -> PerLink:
    """A number in [0, 1) for each link, the same in both directions unless `one_way`."""
    if not one_way:
        return jax.random.uniform(key, (mixing.num_edges + 1,))[mixing.edge_ids]
    upwards, downwards = (_link_uniforms(half, mixing, False) for half in jax.random.split(key))
    return jnp.where(mixing.senders < mixing.receivers, upwards, downwards)


def _up(key: Key[Array, ""], count: int, outage_probability: Probability) -> Bool[Array, " draw"]:
    check_number("The probability p of an outage", outage_probability, PROBABILITY, "10 % is 0.1.")
    # Threefry draws entry i from (key, i) alone, so a longer array begins with the same entries.
    return jax.random.uniform(key, (count,)) >= outage_probability
