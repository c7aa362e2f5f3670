"""Augmentation of point clouds, drawn afresh at every step: a turn about z, jitter, and points lost.

The gradient then is that of E[log p(y | T(x), θ)] over the transformations T, an estimate from one draw per cloud.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from airbayes.checks import NOT_NEGATIVE, PROBABILITY, check_count, checked
from airbayes.models.local_data import LocalData, draw_minibatch
from airbayes.models.posterior import check_data


class Augmentation(eqx.Module):
    """A random change of training inputs, anew at every step."""

    yaw: Float[Array, ""]  # a turn about z, uniform in ±yaw, radians
    jitter: Float[Array, ""]  # standard deviation of every coordinate, in input units
    dropout: Float[Array, ""]  # probability that a point is lost

    def __init__(self, yaw: float = 0.0, jitter: float = 0.0, dropout: float = 0.0):
        self.yaw = checked("The largest turn in radians", NOT_NEGATIVE, one=True)(yaw)
        self.jitter = checked("The standard deviation of the jitter", NOT_NEGATIVE, one=True)(jitter)
        self.dropout = checked("The share of lost points", PROBABILITY, one=True)(dropout)

    def __call__(self, key: Key[Array, ""], clouds: Float[Array, "example point 3"]) -> Float[Array, "example point 3"]:
        turn_key, jitter_key, lost_key = jax.random.split(key, 3)
        angle = jax.random.uniform(turn_key, (len(clouds), 1), minval=-self.yaw, maxval=self.yaw)
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        x, y, z = clouds[..., 0], clouds[..., 1], clouds[..., 2]
        turned = jnp.stack([cos * x - sin * y, sin * x + cos * y, z], axis=-1)
        moved = turned + self.jitter * jax.random.normal(jitter_key, clouds.shape)
        # A lost point becomes a copy of the first: a maximum over points does not see copies.
        lost = jax.random.bernoulli(lost_key, self.dropout, clouds.shape[:2])
        return jnp.where(lost[..., None], moved[:, :1], moved)


class AugmentedGradient(eqx.Module):
    """∇f_k with every cloud transformed at every step; over all of an agent's data, or B of its examples."""

    potential: Callable
    augmentation: Augmentation
    batch_size: int = eqx.field(static=True, default=0)  # B; 0 takes all

    def __check_init__(self):
        check_count("The mini-batch B", self.batch_size, 0, "0 takes all data.")

    def __call__(
        self, keys: Key[Array, " agent"], theta: Float[Array, "agent param"], data: LocalData
    ) -> Float[Array, "agent param"]:
        check_data(self.potential, theta, data)

        def one_agent(key, row, local):
            batch_key, augment_key = jax.random.split(key)
            if self.batch_size:
                local = draw_minibatch(batch_key, local, self.batch_size)
            inputs = self.augmentation(augment_key, local.inputs)
            return jax.grad(self.potential)(row, LocalData(inputs, local.targets, local.weights))

        return jax.vmap(one_agent)(keys, theta, data)
