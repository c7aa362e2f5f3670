"""The PointNet for CPUs against the plain one: values, gradients, ties, sizes, batching, NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from models.pointnet_case import MODEL, clouds, moved

from airbayes.models import FullGradient, GaussianPrior, LocalData, Posterior, pointnet, pointnet_cpu
from airbayes.models.base import pick_labels
from airbayes.models.layers_cpu import (
    Layer,
    cloud_layer,
    point_layer,
    pull_cloud_kernels,
    pull_point_layer,
    sum_in_blocks,
)
from airbayes.models.max_pool import dense_max_pool_plain
from airbayes.models.pointnet_cpu import cut, joined, log_likelihood_on_cpu, pointnet_on_cpu
from airbayes.models.winners_cpu import BLOCK, pool_and_winners, pull_winners


def fast(theta, x):
    return pointnet_on_cpu(theta, x)


def plain(theta, x):
    return MODEL.unravel(theta)(dense_max_pool_plain, x)


def gradient_of(network):
    """The gradient of a fixed random combination of the scores, with respect to θ."""

    def gradient(theta, x):
        weight = jnp.asarray(np.random.default_rng(9).normal(size=(x.shape[0], 6)), jnp.float32)
        return jax.grad(lambda t: jnp.sum(weight * network(t, x)))(theta)

    return gradient


def score_and_gradient(network):
    return jax.jit(lambda theta, x: (network(theta, x), gradient_of(network)(theta, x)))


def assert_close(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * float(jnp.abs(b).max()))


# Less than a block of points, one block, blocks and a rest; one cloud, an odd number of clouds.
@pytest.mark.parametrize("shape", [(3, 1), (1, BLOCK), (7, 2 * BLOCK + 3), (12, 32)])
def test_scores_and_gradients_are_those_of_the_plain_network(shape):
    theta, x = moved(0), clouds(0, *shape)
    assert_close(score_and_gradient(fast)(theta, x), score_and_gradient(plain)(theta, x))


def test_gradients_of_the_clouds():
    theta, x = moved(1), clouds(1, 5, 11)
    found, expected = (jax.grad(lambda x, f=f: jnp.sum(jnp.sin(f(theta, x))))(x) for f in (fast, plain))
    assert_close(found, expected)


def test_gradients_where_points_are_copies():
    draws = np.random.default_rng(2).integers(5, size=(6, 20, 1))
    x = jnp.take_along_axis(clouds(2, 6, 20), jnp.asarray(draws), axis=1)
    assert_close(score_and_gradient(fast)(moved(2), x), score_and_gradient(plain)(moved(2), x))


# 6 networks of 4 clouds of 9 points: one at a time, three at a time (as many as divide 6), or all at once.
@pytest.mark.parametrize(("together", "loops"), [(1, 2), (4 * 36, 2), (1 << 15, 0)])
def test_batched_over_cells_and_agents(together, loops, monkeypatch):
    monkeypatch.setattr(pointnet_cpu, "TOGETHER", together)
    jax.clear_caches()
    theta = jnp.stack([moved(seed) for seed in range(6)]).reshape(3, 2, -1)
    x = clouds(3, 2, 4, 9)
    batched, one = (
        jax.jit(f).trace(*args)
        for f, args in (
            (jax.vmap(jax.vmap(gradient_of(fast)), (0, None)), (theta, x)),
            (gradient_of(fast), (theta[0, 0], x[0])),
        )
    )
    # A loop for the scores, which nobody asks for here, and one for the gradient.
    assert str(batched.jaxpr).count("scan[") == str(one.jaxpr).count("scan[") + loops
    found = batched.lower().compile()(theta, x)
    reference = jax.jit(gradient_of(plain))
    for cell, agent in np.ndindex(3, 2):
        assert_close(found[cell, agent], reference(theta[cell, agent], x[agent]))


def test_tensors_of_theta():
    theta = jnp.stack([moved(0), moved(1)])
    np.testing.assert_array_equal(joined(cut(theta)), theta)
    for found, expected in zip(jax.tree.leaves(cut(theta)), jax.tree.leaves(MODEL.unravel(theta[1])), strict=True):
        np.testing.assert_array_equal(found[1], expected)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (12, 32), (6, 33)])
def test_log_likelihood_and_its_gradient(shape):
    theta, x = jnp.stack([moved(0), moved(1)]), clouds(8, 2, *shape)
    rng = np.random.default_rng(8)
    targets, weights = jnp.asarray(rng.integers(6, size=(2, shape[0]))), jnp.asarray(rng.uniform(size=(2, shape[0])))

    def plain_log_likelihood(theta, x, targets):
        return pick_labels(jax.nn.log_softmax(plain(theta, x)), targets)

    def of(log_likelihood):
        def weighted(theta, x, targets, weights):
            each = log_likelihood(theta, x, targets)
            return jnp.sum(weights * each), each

        return jax.jit(jax.vmap(jax.value_and_grad(weighted, argnums=(0, 1), has_aux=True)))

    args = theta, x, targets, weights
    assert_close(of(log_likelihood_on_cpu)(*args), of(plain_log_likelihood)(*args))


def test_the_classifier_uses_it_and_repeats_itself_exactly():
    x = clouds(4, 2, 6, 17)
    data = LocalData(x, jnp.asarray(np.random.default_rng(4).integers(6, size=(2, 6))), jnp.ones((2, 6)))
    theta = jnp.stack([moved(5), moved(6)])

    def gradient(model):
        step = FullGradient(Posterior(model.log_likelihood, GaussianPrior(), 2))
        return jax.jit(lambda theta, data: step(None, theta, data))

    found = gradient(MODEL)
    np.testing.assert_array_equal(found(theta, data), found(theta, data))
    assert_close(found(theta, data), gradient(pointnet(6, "plain"))(theta, data))
    if jax.default_backend() == "cpu":
        np.testing.assert_array_equal(
            jax.jit(lambda t: MODEL.log_probs(t, x[0]))(theta[0]),
            jax.jit(lambda t: jax.nn.log_softmax(fast(t, x[0])))(theta[0]),
        )


def layer(seed: int, n: int, p: int, f: int = 5):
    """Points of two networks, and a layer for each."""
    rng = np.random.default_rng(seed)
    arrays = rng.normal(size=(2, n, p, f)), rng.normal(size=(2, f, 7)), rng.normal(size=(2, 7))
    x, kernel, bias = (jnp.asarray(each, jnp.float32) for each in arrays)
    return x, Layer(kernel, bias)


def plain_layer(layer, x):
    return jax.nn.relu(x @ layer.kernel[:, None] + layer.bias[:, None, None])


@pytest.mark.parametrize("p", [1, BLOCK - 1, BLOCK, 3 * BLOCK, 3 * BLOCK + 1])
def test_winners(p):
    x, wide = layer(0, 6, p)
    pooled, winner = pool_and_winners(x, *wide)
    np.testing.assert_allclose(pooled, plain_layer(wide, x).max(axis=2), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(winner, jnp.argmax(x @ wide.kernel[:, None], axis=2))


def test_of_equal_points_one_wins():
    x, wide = layer(1, 4, BLOCK)
    copies = jnp.concatenate([x, x, x[:, :, :3]], axis=2)
    expected = pool_and_winners(x, *wide)[1]
    np.testing.assert_array_equal(pool_and_winners(copies, *wide)[1] % BLOCK, expected)
    np.testing.assert_array_equal(pool_and_winners(copies[:, :, : 2 * BLOCK], *wide)[1], expected)  # the first


def test_gradient_at_winners():
    x, wide = layer(2, 6, 19)
    weight = jnp.asarray(np.random.default_rng(3).normal(size=(2, 6, 7)), jnp.float32)
    wide = Layer(wide.kernel, wide.bias - 3.0)  # some channels are dead
    pooled, winner = pool_and_winners(x, *wide)
    assert 0 < int((pooled == 0).sum()) < pooled.size
    found = pull_winners(x, wide, winner, jnp.where(pooled > 0, weight, 0.0))
    expected = jax.grad(lambda x, wide: jnp.sum(weight * plain_layer(wide, x).max(axis=2)), argnums=(0, 1))(x, wide)
    assert_close(found, expected)


@pytest.mark.parametrize("features", [3, 8])
def test_layers_of_points(features):
    x, dense = layer(4, 3, 5, features)
    out = point_layer(dense, x)
    np.testing.assert_allclose(out, plain_layer(dense, x), rtol=1e-5, atol=1e-5)
    expected = jax.grad(lambda x, dense: jnp.sum(jnp.sin(plain_layer(dense, x))), argnums=(0, 1))(x, dense)
    assert_close(pull_point_layer(dense, x, out, jnp.cos(out)), expected)


@pytest.mark.parametrize("points", [1, 7, 16, 11])
def test_kernels_of_clouds(points):
    x, dense = layer(5, 3, points)
    kernels = dense.kernel[:, None] * jnp.asarray([1.0, 2.0, -1.0])[:, None, None]
    out = cloud_layer(kernels, dense.bias, x)
    np.testing.assert_allclose(out, jax.nn.relu(x @ kernels + dense.bias[:, None, None]), rtol=1e-5, atol=1e-5)
    expected = jax.grad(lambda x, k: 0.5 * jnp.sum((x @ k) ** 2), argnums=(0, 1))(x, kernels)
    assert_close(pull_cloud_kernels(x, kernels, x @ kernels), expected)


@pytest.mark.parametrize("count", [1, 8, 11, 30])
def test_sums_in_blocks(count):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, count, 4)), jnp.float32)
    np.testing.assert_allclose(sum_in_blocks(jnp.square, 1, x), (x**2).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("tensor", ["tnet_input.points.0.kernel", "head.wide.kernel", "head.wide.bias"])
def test_a_network_gone_nan_says_so(tensor):
    names = list(MODEL.tensors())
    start = sum(int(np.prod(MODEL.tensors()[name])) for name in names[: names.index(tensor)])
    theta = moved(7).at[start].set(jnp.nan)
    scores, gradient = score_and_gradient(fast)(theta, clouds(7, 3, 10))
    assert np.isnan(scores).all()
    assert np.isnan(gradient).any()
