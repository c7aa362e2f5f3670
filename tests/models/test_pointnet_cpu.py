"""The PointNet for CPUs against the plain one: values, gradients, ties, sizes, batching, NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from models.pointnet_case import MODEL, clouds, moved

from airbayes.models import FullGradient, GaussianPrior, LocalData, Posterior, pointnet, pointnet_cpu
from airbayes.models.max_pool import dense_max_pool_plain
from airbayes.models.pointnet_cpu import multiplied, pointnet_on_cpu, written_out
from airbayes.models.winners_cpu import BLOCK, pool_and_winners, pool_at_winners


def fast(theta, x):
    return pointnet_on_cpu(MODEL.unravel(theta), x)


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


@pytest.mark.parametrize(("together", "turns"), [(1, 2), (100, 1), (1 << 15, 0)])
def test_batched_over_cells_and_agents(together, turns, monkeypatch):
    """In turn, agents at once and cells in turn (2 agents of 4 clouds of 9 points are 72), or all at once."""
    monkeypatch.setattr(pointnet_cpu, "TOGETHER", together)
    theta = jnp.stack([moved(seed) for seed in range(6)]).reshape(3, 2, -1)
    x = clouds(3, 2, 4, 9)
    traced = jax.jit(jax.vmap(jax.vmap(gradient_of(fast)), (0, None))).trace(theta, x)
    forward_loops, winner_loops = turns, 3  # and as many turns backwards
    assert str(traced.jaxpr).count("scan[") == 2 * forward_loops + winner_loops
    found = traced.lower().compile()(theta, x)
    reference = jax.jit(gradient_of(plain))
    for cell, agent in np.ndindex(3, 2):
        assert_close(found[cell, agent], reference(theta[cell, agent], x[agent]))


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


def layer(seed: int, n: int, p: int):
    rng = np.random.default_rng(seed)
    x, kernel = rng.normal(size=(n, p, 5)), rng.normal(size=(5, 7))
    return jnp.asarray(x, jnp.float32), jnp.asarray(kernel, jnp.float32), jnp.asarray(rng.normal(size=7), jnp.float32)


@pytest.mark.parametrize("p", [1, BLOCK - 1, BLOCK, 3 * BLOCK, 3 * BLOCK + 1])
def test_winners(p):
    x, kernel, bias = layer(0, 6, p)
    pooled, winner = pool_and_winners(x, kernel, bias)
    np.testing.assert_allclose(pooled, dense_max_pool_plain(x, kernel, bias), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(winner, jnp.argmax(x @ kernel, axis=1))


def test_of_equal_points_one_wins():
    x, kernel, bias = layer(1, 4, BLOCK)
    copies = jnp.concatenate([x, x, x[:, :3]], axis=1)
    expected = pool_and_winners(x, kernel, bias)[1]
    np.testing.assert_array_equal(pool_and_winners(copies, kernel, bias)[1] % BLOCK, expected)
    np.testing.assert_array_equal(pool_and_winners(copies[:, : 2 * BLOCK], kernel, bias)[1], expected)  # the first


def test_gradient_at_winners():
    x, kernel, bias = layer(2, 6, 19)
    weight = jnp.asarray(np.random.default_rng(3).normal(size=(6, 7)), jnp.float32)
    bias = bias - 3.0  # some channels are dead
    found = pool_and_winners(x, kernel, bias)
    assert 0 < int((found[0] == 0).sum()) < found[0].size
    known = jax.grad(lambda *a: jnp.sum(weight * pool_at_winners(*a, *found)), argnums=(0, 1, 2))
    reference = jax.grad(lambda *a: jnp.sum(weight * dense_max_pool_plain(*a)), argnums=(0, 1, 2))
    assert_close(known(x, kernel, bias), reference(x, kernel, bias))


def test_products():
    x, kernel, _ = layer(4, 3, 4)
    kernels = jnp.stack([kernel, 2 * kernel, -kernel])
    for k in (kernel, kernels):
        for product in (written_out, multiplied):
            np.testing.assert_allclose(product(x, k), x @ k, rtol=1e-5, atol=1e-5)
    found, expected = (
        jax.grad(lambda x, k, f=f: jnp.sum(jnp.sin(f(x, k))), argnums=(0, 1))(x, kernels)
        for f in (multiplied, jnp.matmul)
    )
    assert_close(found, expected)


@pytest.mark.parametrize("tensor", ["tnet_input.points.0.kernel", "head.wide.kernel", "head.wide.bias"])
def test_a_network_gone_nan_says_so(tensor):
    names = list(MODEL.tensors())
    start = sum(int(np.prod(MODEL.tensors()[name])) for name in names[: names.index(tensor)])
    theta = moved(7).at[start].set(jnp.nan)
    scores, gradient = score_and_gradient(fast)(theta, clouds(7, 3, 10))
    assert np.isnan(scores).all()
    assert np.isnan(gradient).any()
