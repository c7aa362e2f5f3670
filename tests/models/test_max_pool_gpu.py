"""The GPU kernels, interpreted on whatever machine there is, against the plain form of the same steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.models import max_pool, max_pool_gpu


def drawn(clouds: int, points: int):
    """Two agents; half of the points are copies, as in clouds resampled with replacement."""
    x = jax.nn.relu(jax.random.normal(jax.random.key(0), (2, clouds, points, 16)))
    x = x.at[:, :, points // 2 :].set(x[:, :, : points // 2])
    kernel = jax.random.normal(jax.random.key(1), (2, 16, 128))
    g = jax.random.normal(jax.random.key(2), (2, clouds, 128))
    return x, kernel, g


@pytest.mark.parametrize(("clouds", "points"), [(24, 16), (7, 32), (13, 64)])  # 3, 1 and 13 programs
def test_kernels_equal_the_plain_steps(clouds, points):
    x, kernel, g = drawn(clouds, points)
    best, winner = jax.vmap(lambda a, b: max_pool_gpu.winners(a, b, interpret=True))(x, kernel)
    plain_best, plain_winner = jax.vmap(max_pool._winners)(x, kernel)
    np.testing.assert_allclose(best, plain_best, atol=1e-5)
    np.testing.assert_array_equal(winner, plain_winner)
    assert int(winner.max()) < points // 2  # of two copies the first wins
    found = jax.vmap(lambda *a: max_pool_gpu.pull_back(*a, interpret=True))(x, kernel, winner, g)
    for mine, plain in zip(found, jax.vmap(max_pool._pull_back)(x, kernel, winner, g), strict=True):
        np.testing.assert_allclose(mine, plain, atol=1e-5 * float(jnp.abs(plain).max()))


def test_shapes_that_a_gpu_block_cannot_have_are_left_to_the_plain_steps():
    def shaped(points, features):
        return max_pool_gpu.fits(jnp.zeros((3, points, features)), jnp.zeros((features, 128)))

    assert shaped(64, 16)
    assert not shaped(48, 16)
    assert not shaped(256, 16)
    assert not shaped(8, 16)
    assert not shaped(64, 8)


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="needs an NVIDIA GPU")
def test_compiled_kernels_agree_too():
    x, kernel, g = drawn(40, 64)
    compiled = jax.jit(jax.vmap(max_pool_gpu.winners))(x, kernel)
    plain = jax.vmap(max_pool._winners)(x, kernel)
    np.testing.assert_allclose(compiled[0], plain[0], atol=1e-5)
    back = [jax.jit(jax.vmap(f))(x, kernel, plain[1], g) for f in (max_pool_gpu.pull_back, max_pool._pull_back)]
    for mine, reference in zip(*back, strict=True):
        np.testing.assert_allclose(mine, reference, atol=1e-5 * float(jnp.abs(reference).max()))
