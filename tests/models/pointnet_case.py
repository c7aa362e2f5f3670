"""A PointNet, clouds and parameters to try it on."""

import jax
import jax.numpy as jnp
import numpy as np

from airbayes.models import pointnet

MODEL = pointnet()


def clouds(seed: int, *shape: int):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(*shape, 3)) * 0.4, jnp.float32)


def moved(seed: int):
    """A θ away from the start, where the T-Nets are not the identity and every bias counts."""
    first, second = jax.random.split(jax.random.key(seed))
    return MODEL.init(first) + 0.1 * jax.random.normal(second, (MODEL.num_params,))
