"""Random keys that follow the step, not the loop.

Noise depends on (run key, step, purpose, agent) alone. Chunking, resuming, sharding and vmap therefore
never change a result. Purposes are fixed numbers: adding one must not renumber the others.
"""

from enum import IntEnum

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key


class Purpose(IntEnum):
    LANGEVIN = 0  # ξ, the sampler's own Gaussian noise
    CHANNEL = 1  # z, the receiver noise
    LINKS = 2  # link gains and gain errors
    OUTAGE = 3  # which links or nodes are down
    BATCH = 4  # which examples are in the mini-batch
    QUANTISE = 5  # stochastic rounding


def step_key(key: Key[Array, ""], step: Int[Array, ""] | int, purpose: Purpose) -> Key[Array, ""]:
    """The key of one purpose at one step, shared by the whole network."""
    return jax.random.fold_in(jax.random.fold_in(key, step), int(purpose))


def agent_keys(
    key: Key[Array, ""], step: Int[Array, ""] | int, purpose: Purpose, num_agents: int
) -> Key[Array, " agent"]:
    """One key per agent, for one purpose at one step."""
    return jax.vmap(jax.random.fold_in, (None, 0))(step_key(key, step, purpose), jnp.arange(num_agents))


def normal_rows(keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
    """Standard normal rows, row k drawn from key k alone."""
    return jax.vmap(lambda key: jax.random.normal(key, (num_params,)))(keys)
