"""Random keys that follow the step, not the loop.

Noise depends on (run key, step, purpose, agent) alone. Chunking, resuming, sharding and vmap therefore
never change a result. Purposes are fixed numbers: adding one must not renumber the others.
"""

from enum import IntEnum

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from airbayes.checks import describe
from airbayes.errors import AirbayesError


class Purpose(IntEnum):
    """What a random number is for; numbers never change, so that streams stay the same. Users' are from 1000 on."""

    LANGEVIN = 0  # ξ, the sampler's own Gaussian noise
    CHANNEL = 1  # z, the receiver noise
    LINKS = 2  # link gains and gain errors
    OUTAGE = 3  # which links or nodes are down
    BATCH = 4  # which examples are in the mini-batch
    QUANTISE = 5  # stochastic rounding
    BURST = 6  # links that go down and come back
    CHURN = 7  # agents that leave and rejoin
    LATE = 8  # agents whose message is not ready
    ATTACK = 9  # what a Byzantine agent sends
    FALLBACK = 10  # the noise of a receiver that discards its block


def step_key(key: Key[Array, ""], step: Int[Array, ""] | int, purpose: Purpose | int) -> Key[Array, ""]:
    """The key of one purpose at one step, shared by the whole network. Purposes of your own: integers from 1000 on."""
    _check_key(key)
    return jax.random.fold_in(jax.random.fold_in(key, step), int(purpose))


def _check_key(key: object) -> None:
    """One random key, new or old style; kind and shape are known under jit and vmap, too."""
    shape, dtype = getattr(key, "shape", None), getattr(key, "dtype", None)
    axes = 0 if dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key) else 1
    if shape is None or dtype is None or len(shape) != axes or (axes and dtype != np.uint32):
        raise AirbayesError(
            f"The key must be one random key such as jax.random.key(0), got {describe(key)}. "
            "Of several keys, one per chain, jax.vmap maps over them."
        )


def agent_keys(
    key: Key[Array, ""], step: Int[Array, ""] | int, purpose: Purpose | int, num_agents: int
) -> Key[Array, " agent"]:
    """One key per agent, for one purpose at one step."""
    return jax.vmap(jax.random.fold_in, (None, 0))(step_key(key, step, purpose), jnp.arange(num_agents))


def normal_rows(keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
    """Standard normal rows, row k drawn from key k alone: bit for bit `normal_rows_plain`, in half its time on a CPU.

    JAX's threefry is a loop there, whose state passes through memory five times; written out, its rounds and the
    normal quantile fuse with whatever uses the noise into one pass.
    """
    if not _is_default(keys):
        return normal_rows_plain(keys, num_params)
    uniform = jnp.maximum(_LEAST, _unit_rows(keys, num_params) * (np.float32(1) - _LEAST) + _LEAST)  # in (−1, 1)
    return np.float32(np.sqrt(2)) * jax.lax.erf_inv(uniform)


def uniform_rows(keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
    """Rows of numbers in [0, 1), row k drawn from key k alone: those of jax.random.uniform, by the same short cut."""
    if not _is_default(keys):
        return jax.vmap(lambda key: jax.random.uniform(key, (num_params,)))(keys)
    return _unit_rows(keys, num_params)


def uniform_at(key: Key[Array, ""], places: Int[Array, " slot"], num_params: int) -> Float[Array, " slot"]:
    """Some entries of the row that `uniform_rows` draws from a key, and no others. A place past its end has any."""
    if not _is_default(key[None]):
        return uniform_rows(key[None], num_params)[0][jnp.minimum(places, num_params - 1)]
    return _unit(key[None], places.astype(jnp.uint32)[None, :])[0]


def _unit_rows(keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
    return _unit(keys, jnp.arange(num_params, dtype=jnp.uint32)[None, :])


def _unit(keys: Key[Array, " agent"], counts: UInt32[Array, "#agent param"]) -> Float[Array, "agent param"]:
    words = jax.random.key_data(keys)
    high, low = _threefry(words[:, :1], words[:, 1:], jnp.zeros_like(counts), counts)
    mantissa = ((high ^ low) >> np.uint32(9)) | np.uint32(0x3F800000)  # 23 random bits, of a number in [1, 2)
    return jax.lax.bitcast_convert_type(mantissa, jnp.float32) - np.float32(1)


def normal_rows_plain(keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
    """The same numbers from jax.random, as a reference, and for other generators."""
    return jax.vmap(lambda key: jax.random.normal(key, (num_params,)))(keys)


def _is_default(keys: Key[Array, " agent"]) -> bool:
    """Whether jax.random would draw float32 numbers from threefry, entry i from (key, i)."""
    threefry = jax.random.key_impl(keys) == "threefry2x32"
    return threefry and jax.config.jax_threefry_partitionable and not jax.config.jax_enable_x64  # pyright: ignore


_LEAST = np.nextafter(np.float32(-1), np.float32(0))
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
Words = UInt32[Array, "#agent #param"]


def _threefry(key0: Words, key1: Words, high: Words, low: Words) -> tuple[Words, Words]:
    """Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    schedule = (key0, key1, key0 ^ key1 ^ np.uint32(0x1BD11BDA))
    high, low = high + schedule[0], low + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            high = high + low
            low = high ^ ((low << np.uint32(rotation)) | (low >> np.uint32(32 - rotation)))
        high = high + schedule[(group + 1) % 3]
        low = low + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return high, low
