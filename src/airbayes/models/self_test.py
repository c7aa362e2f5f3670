"""The PointNet of this installation, as fast as it goes here, against the plain one."""

import jax
import jax.numpy as jnp
import numpy as np

from airbayes.models.pointnet import pointnet

TOLERANCE = 1e-4  # of the largest entry


def pointnet_against_plain() -> float:
    """The largest difference of a gradient, over its largest entry; NaN where one is not finite."""
    rng = np.random.default_rng(0)
    clouds = jnp.asarray(rng.normal(size=(3, 11, 3)), jnp.float32)
    targets = jnp.asarray(rng.integers(6, size=3))
    theta = jnp.asarray(rng.normal(size=pointnet().num_params) * 0.2, jnp.float32)

    def gradient(pooling):
        model = pointnet(6, pooling)
        f = jax.grad(lambda theta: jnp.sum(model.log_likelihood(theta, clouds, targets)))
        return np.asarray(jax.jit(f, compiler_options={"xla_backend_optimization_level": 0})(theta))

    plain = gradient("plain")
    return float(np.abs(gradient("fast") - plain).max() / np.abs(plain).max())
