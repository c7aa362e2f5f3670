"""Outages as 0/1 masks of links: m_kj = 0 when agent k does not hear agent j in this step.

Masks multiply the brackets w_kj (θ_j − θ_k), so rows of the masked W still sum to one. Each has the
shape of `mixing.weights` and is 0 on padding. Padding a table further changes no draw.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Key, Real

from airbayes.network.mixing import AnyMixing, PerLink

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


def _up(key: Key[Array, ""], count: int, outage_probability: Probability) -> Bool[Array, " draw"]:
    # Threefry draws entry i from (key, i) alone, so a longer array begins with the same entries.
    return jax.random.uniform(key, (count,)) >= outage_probability
