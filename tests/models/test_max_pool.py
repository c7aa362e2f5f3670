"""The fused dense layer and max-pool against the plain one: values, gradients, ties, batching."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.models.max_pool import dense_max_pool, dense_max_pool_plain

SHAPES = [(1, 1, 1, 1), (3, 5, 2, 4), (1, 64, 16, 128), (28, 6, 4, 9)]


def draw(seed: int, clouds: int, points: int, features: int, channels: int):
    rng = np.random.default_rng(seed)
    x = jnp.asarray(rng.normal(size=(clouds, points, features)), jnp.float32)
    kernel = jnp.asarray(rng.normal(size=(features, channels)) / np.sqrt(features), jnp.float32)
    # A spread of biases leaves some channels dead in some clouds.
    bias = jnp.asarray(rng.normal(size=channels) - 1.0, jnp.float32)
    weight = jnp.asarray(rng.normal(size=(clouds, channels)), jnp.float32)
    return x, kernel, bias, weight


def gradients(pool, x, kernel, bias, weight):
    """Value and gradients of a random linear function of the output."""

    def loss(x, kernel, bias):
        return jnp.sum(weight * pool(x, kernel, bias))

    return pool(x, kernel, bias), jax.grad(loss, argnums=(0, 1, 2))(x, kernel, bias)


def assert_close(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * max(1.0, float(jnp.abs(b).max())))


compiled = jax.jit(gradients, static_argnums=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_value_and_gradients_are_those_of_the_plain_form(shape):
    case = draw(0, *shape)
    assert_close(compiled(dense_max_pool, *case), compiled(dense_max_pool_plain, *case))
    dead = np.asarray(dense_max_pool_plain(*case[:3])) == 0
    assert dead.any() or shape[0] == 1  # the case of a dead channel is among those compared


def test_the_same_without_jit():
    case = draw(0, *SHAPES[1])
    assert_close(gradients(dense_max_pool, *case), gradients(dense_max_pool_plain, *case))


def test_batched_over_cells_and_agents():
    """vmap over cells of vmap over agents, each agent with its own layer."""
    cases = [draw(seed, 48, 5, 3, 6) for seed in range(6)]
    stacked = [jnp.stack(leaves).reshape(2, 3, *leaves[0].shape) for leaves in zip(*cases, strict=True)]
    found = jax.jit(jax.vmap(jax.vmap(lambda *case: gradients(dense_max_pool, *case))))(*stacked)
    expected = [compiled(dense_max_pool_plain, *case) for case in cases]
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves).reshape(2, 3, *leaves[0].shape), *expected)
    assert_close(found, stack)


def test_leading_axes_are_free():
    x, kernel, bias, _ = draw(1, 12, 5, 3, 4)
    whole = dense_max_pool(x, kernel, bias)
    np.testing.assert_array_equal(dense_max_pool(x.reshape(2, 6, 5, 3), kernel, bias), whole.reshape(2, 6, 4))
    np.testing.assert_allclose(dense_max_pool(x[0], kernel, bias), whole[0], rtol=1e-6)


def test_duplicated_points_share_one_gradient():
    """Copies of a point tie: ∂W and ∂b agree, and so does the sum of ∂x over the copies."""
    x, kernel, bias, weight = draw(2, 8, 5, 3, 16)
    copies = jnp.concatenate([x, x, x[:, :2]], axis=1)
    _, (found_x, found_kernel, found_bias) = compiled(dense_max_pool, copies, kernel, bias, weight)
    _, (plain_x, plain_kernel, plain_bias) = compiled(dense_max_pool_plain, copies, kernel, bias, weight)
    assert_close((found_kernel, found_bias), (plain_kernel, plain_bias))

    def summed(d):
        return d[:, :5] + d[:, 5:10] + jnp.pad(d[:, 10:], ((0, 0), (0, 3), (0, 0)))

    assert_close(summed(found_x), summed(plain_x))
    assert float(jnp.abs(found_x - plain_x).max()) > 1e-3  # the copies themselves are treated differently
    np.testing.assert_array_equal(found_x[:, 5:], 0.0)  # the first one takes it all
