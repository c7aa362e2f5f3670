"""PointNet: its size, its start, its symmetries, and fast against plain pooling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from models.pointnet_case import MODEL, clouds, moved

from airbayes.errors import AirbayesError
from airbayes.models import FullGradient, GaussianPrior, LocalData, Posterior, pointnet
from airbayes.models.max_pool import dense_max_pool_plain
from airbayes.models.pointnet import PointNet, Pooling, relu_chain, transform


def test_the_paper_s_count():
    assert MODEL.num_params == 40_855
    assert len(MODEL.tensors()) == 40
    assert sum(int(np.prod(shape)) for shape in MODEL.tensors().values()) == 40_855
    assert pointnet(10).num_params == 40_855 + 4 * 33
    parts = {"tnet_input": 12_985, "shared": 104, "tnet_feature": 14_840, "head": 12_926}
    for part, count in parts.items():
        assert sum(int(np.prod(s)) for name, s in MODEL.tensors().items() if name.split(".")[0] == part) == count


def test_theta_holds_the_tensors_in_the_order_of_their_names():
    theta = jnp.arange(MODEL.num_params, dtype=jnp.float32)
    network = MODEL.unravel(theta)
    names = list(MODEL.tensors())
    sizes = [int(np.prod(shape)) for shape in MODEL.tensors().values()]
    starts = dict(zip(names, np.cumsum([0, *sizes[:-1]]), strict=True))
    assert names[:2] == ["tnet_input.points.0.kernel", "tnet_input.points.0.bias"]
    assert float(network.head.last.kernel[0, 0]) == starts["head.last.kernel"]
    assert float(network.shared[1].bias[0]) == starts["shared.1.bias"]


def test_kernels_start_glorot_and_biases_at_zero():
    network = PointNet(jax.random.key(3), 6)
    kernel = np.asarray(network.head.cloud[0].kernel)  # 128→64
    bound = np.sqrt(6 / (128 + 64))
    assert np.abs(kernel).max() <= bound
    np.testing.assert_allclose(kernel.std(), bound / np.sqrt(3), rtol=0.03)
    for bias in (network.head.cloud[0].bias, network.shared[0].bias, network.tnet_input.wide.bias):
        np.testing.assert_array_equal(bias, 0.0)
    assert not np.array_equal(MODEL.init(jax.random.key(0)), MODEL.init(jax.random.key(1)))


def test_the_t_nets_start_at_the_identity():
    network, x = PointNet(jax.random.key(0), 6), clouds(0, 4, 10)
    np.testing.assert_allclose(transform(network.tnet_input, dense_max_pool_plain, x), x, atol=1e-6)
    features = relu_chain(network.shared, x)
    np.testing.assert_allclose(transform(network.tnet_feature, dense_max_pool_plain, features), features, atol=1e-6)


def test_fan_in_scale():
    scale, network = MODEL.fan_in_scale(), MODEL.unravel(jnp.asarray(MODEL.fan_in_scale()))
    assert scale.shape == (MODEL.num_params,)
    for layer in jax.tree.leaves(network, is_leaf=lambda node: hasattr(node, "kernel")):
        np.testing.assert_allclose(layer.kernel, layer.kernel.shape[0] ** -0.5, rtol=1e-6)
        np.testing.assert_allclose(layer.bias, layer.kernel.shape[0] ** -0.5, rtol=1e-6)
    assert np.isfinite(GaussianPrior(scale)(moved(0)))


@pytest.mark.parametrize("pooling", ["fast", "plain"])
def test_log_probs_are_normalised_and_ignore_the_order_of_points(pooling):
    model, theta, x = pointnet(6, pooling), moved(1), clouds(1, 5, 12)
    log_probs = jax.jit(lambda x: model.log_probs(theta, x))(x)
    np.testing.assert_allclose(jnp.exp(log_probs).sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(model.log_probs(theta, x[:, ::-1]), log_probs, atol=1e-5)
    assert float(log_probs.std(axis=0).min()) > 1e-4  # the clouds are told apart
    labels = jnp.array([0, 5, 2, 1, 3])
    np.testing.assert_allclose(
        model.log_likelihood(theta, x, labels), np.asarray(log_probs)[np.arange(5), labels], rtol=1e-5
    )


def agent_gradients(pooling: Pooling):
    step = FullGradient(Posterior(pointnet(6, pooling).log_likelihood, GaussianPrior(), 2))
    return jax.jit(lambda theta, data: step(None, theta, data))


def labelled(x):
    labels = np.random.default_rng(6).integers(6, size=x.shape[:2])
    return LocalData(x, jnp.asarray(labels), jnp.ones(x.shape[:2]))


def test_parameter_gradients_agree_with_the_plain_network():
    """Also where points are copies of each other, as in clouds resampled with replacement."""
    distinct = clouds(2, 2, 28, 12)  # agent, cloud, point
    draws = np.random.default_rng(5).integers(4, size=(2, 28, 12, 1))
    copies = jnp.take_along_axis(distinct, jnp.asarray(draws), axis=2)
    theta = jnp.stack([moved(seed) for seed in range(2)])
    fast, plain = agent_gradients("fast"), agent_gradients("plain")
    for x in (distinct, copies):
        found, expected = (np.asarray(f(theta, labelled(x))) for f in (fast, plain))
        for agent in range(2):
            assert np.abs(found[agent] - expected[agent]).max() < 1e-5 * np.abs(expected[agent]).max()


@pytest.mark.long
def test_batched_over_cells():
    """vmap over cells of vmap over agents equals a loop over cells."""
    theta = jnp.stack([moved(seed) for seed in range(4)]).reshape(2, 2, -1)
    data = labelled(clouds(3, 2, 6, 9))
    gradient = agent_gradients("fast")
    found = jax.jit(jax.vmap(gradient, (0, None)))(theta, data)
    for cell in range(2):
        expected = gradient(theta[cell], data)
        np.testing.assert_allclose(found[cell], expected, rtol=0, atol=1e-5 * float(jnp.abs(expected).max()))


def test_it_learns():
    """Gradient descent on the potential tells flat clouds from tall ones."""
    x = clouds(4, 40, 16) * jnp.where(jnp.arange(40)[:, None, None] % 2, jnp.array([1.0, 1.0, 0.1]), 1.0)
    labels, model = jnp.arange(40) % 2, pointnet(2)
    loss = jax.jit(jax.value_and_grad(lambda theta: -model.log_likelihood(theta, x, labels).mean()))
    theta = model.init(jax.random.key(0))
    before = float(loss(theta)[0])
    for _ in range(150):
        theta = theta - 0.05 * loss(theta)[1]
    assert float(loss(theta)[0]) < 0.5 * before


def test_bad_options_are_named():
    with pytest.raises(AirbayesError, match="at least 2 classes, got 1"):
        pointnet(1)
