"""The GPU kernels, interpreted on the CPU, against the plain form of the same equations."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.models import FullGradient, GaussianPrior, LocalData, Posterior, pointnet, pointnet_gpu
from airbayes.models.point_layers_gpu import layer_backward
from airbayes.models.point_products_gpu import sixteen_channels_backward, turn_backward
from airbayes.models.wide_pool_gpu import pull_back, winners

AGENTS = 2  # the kernels run below a vmap over agents


@pytest.fixture(autouse=True)
def on_the_cpu():
    """Interpreted kernels are for the CPU, also where there is a GPU: there they run in seconds, without TF32."""
    with jax.default_device(jax.devices("cpu")[0]):
        yield


def drawn(seed: int, *shape: int):
    return jax.random.normal(jax.random.key(seed), (AGENTS, *shape))


def close(mine, plain):
    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5 * float(jnp.abs(b).max()))


def plain_layers(x, matrices, first, second):
    u = x if matrices is None else jnp.einsum("icp,ijc->jcp", x, matrices)
    for kernel, bias in (first, second):
        u = jax.nn.relu(jnp.einsum("icp,ij->jcp", u, kernel) + bias[:, None, None])
    return u


def plain_pool(h, kernel, bias):
    return jnp.max(jax.nn.relu(jnp.einsum("icp,ij->cpj", h, kernel) + bias), axis=1)


@pytest.mark.parametrize(("width", "clouds", "points", "turned"), [(3, 10, 16, True), (4, 7, 32, False)])
def test_layers_and_their_gradients(width, clouds, points, turned):
    x, matrices = drawn(0, width, clouds, points), drawn(1, width, width, clouds) if turned else None
    first, second = (drawn(2, width, 2), drawn(3, 2)), (drawn(4, 2, 4), drawn(5, 4))
    gradients = drawn(6, 4, clouds, points), drawn(7, 4, clouds, points)  # of the two uses of the result

    def pulled(function):
        def one_agent(x, matrices, first, second, gradients):
            h, back = jax.vjp(function, x, matrices, first, second)
            return h, back(gradients)

        return jax.vmap(one_agent)(x, matrices, first, second, gradients)

    def twice(*args):
        return (plain_layers(*args),) * 2

    kernels = functools.partial(pointnet_gpu.point_layers, True, True)
    close(pulled(kernels), pulled(twice))
    close(jax.vmap(kernels)(x, matrices, first, second), jax.vmap(twice)(x, matrices, first, second))


def test_pooled_layers_and_their_gradients():
    x, g = drawn(0, 3, 6, 16), drawn(1, 6, 16)
    layers = (drawn(2, 3, 2), drawn(3, 2)), (drawn(4, 2, 16), drawn(5, 16)), (drawn(6, 16, 16), drawn(7, 16))

    def plain(x, first, second, wide):
        return plain_pool(plain_layers(x, None, first, second), *wide)

    def pulled(function):
        def one_agent(x, first, second, wide, g):
            out, back = jax.vjp(function, x, first, second, wide)
            return out, back(g)

        return jax.vmap(one_agent)(x, *layers, g)

    def kernels(x, *layers):
        return pointnet_gpu.pooled_layers(True, True, x, None, *layers)

    close(pulled(kernels), pulled(plain))
    close(jax.vmap(kernels)(x, *layers), jax.vmap(plain)(x, *layers))


@pytest.mark.parametrize("size", [1e-30, 1e-3, 1.0, 1e20])
def test_scores_are_those_of_full_precision_whatever_their_size(size):
    """Two float16 parts of scaled numbers: off by 2⁻²² of Σ|h W|, where float32 itself is off by 2⁻²³ a term."""
    spread = jnp.exp(3 * drawn(3, 16, 1, 1))
    h, kernel = jax.nn.relu(drawn(0, 16, 5, 32)) * spread * size, drawn(1, 16, 32) * jnp.exp(3 * drawn(2, 1, 32))
    best, winner = jax.vmap(lambda *a: winners(*a, interpret=True))(h, kernel)
    exact_h, exact_kernel = np.asarray(h, np.float64), np.asarray(kernel, np.float64)
    scores = np.einsum("aicp,aij->acpj", exact_h, exact_kernel)
    terms = np.einsum("aicp,aij->acpj", exact_h, np.abs(exact_kernel)).max(axis=2)
    assert np.abs((best - scores.max(axis=2)) / terms).max() < 1e-6
    won = np.take_along_axis(scores, np.asarray(winner)[:, :, None, :], axis=2)[:, :, 0]
    assert np.abs((won - scores.max(axis=2)) / terms).max() < 1e-6


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e20])
def test_the_gradient_through_winners_is_that_of_full_precision_whatever_its_size(size):
    h, kernel = jax.nn.relu(drawn(0, 16, 5, 32)), drawn(1, 16, 32) * jnp.exp(2 * drawn(2, 16, 1))
    winner = jax.random.randint(jax.random.key(3), (AGENTS, 5, 32), 0, 32)
    g = drawn(4, 5, 32) * jnp.exp(3 * drawn(5, 5, 1)) * size
    d_h, d_kernel = jax.vmap(lambda *a: pull_back(*a, interpret=True))(h, kernel, winner, g)
    wide = [np.asarray(array, np.float64) for array in (h, kernel, g)]
    spread = np.where(np.asarray(winner)[:, :, None] == np.arange(32)[:, None], wide[2][:, :, None], 0.0)
    exact = np.einsum("acpj,aij->aicp", spread, wide[1])
    terms = np.einsum("acpj,aij->aicp", np.abs(spread), np.abs(wide[1])).max(axis=(1, 3), keepdims=True)  # of a cloud
    assert np.abs((d_h - np.where(np.asarray(h) > 0, exact, 0.0)) / terms).max() < 5e-7
    exact = np.einsum("acpj,aicp->aij", spread, wide[0])
    np.testing.assert_allclose(d_kernel, exact, atol=1e-6 * np.abs(exact).max())


def test_a_network_gone_nan_does_not_pass_for_a_finite_one():
    h = jax.nn.relu(drawn(0, 16, 5, 32)).at[0, 3, 1, 7].set(jnp.nan)
    best, _ = jax.vmap(lambda *a: winners(*a, interpret=True))(h, drawn(1, 16, 32))
    assert bool(jnp.isnan(best[0, 1]).all())
    assert bool(jnp.isfinite(best[1]).all())


def test_of_two_equal_points_the_first_wins_and_takes_the_gradient():
    h = jax.nn.relu(drawn(0, 16, 5, 32))
    h = h.at[..., 16:].set(h[..., :16])  # copies, as in clouds resampled with replacement
    kernel, g = drawn(1, 16, 32), drawn(2, 5, 32)
    best, winner = jax.vmap(lambda *a: winners(*a, interpret=True))(h, kernel)
    close(best, jnp.einsum("aicp,aij->acpj", h, kernel).max(axis=2))
    assert int(winner.max()) < 16
    d_h, _ = jax.vmap(lambda *a: pull_back(*a, interpret=True))(h, kernel, winner, g)
    assert not d_h[..., 16:].any()
    assert bool(((h > 0) | (d_h == 0)).all())  # h comes out of a ReLU


@pytest.mark.parametrize(("width", "clouds"), [(3, 10), (3, 7), (8, 6), (8, 5)])
def test_the_gradient_through_turning(width, clouds):
    x, matrices, d_u = drawn(0, width, clouds, 16), drawn(1, width, width, clouds), drawn(2, width, clouds, 16)
    back = functools.partial(turn_backward, interpret=True)
    d_x, d_matrices = jax.vmap(lambda *a: back(*a, input_gradient=True))(x, matrices, d_u)
    close(d_x, jnp.einsum("ajcp,aijc->aicp", d_u, matrices))
    close(d_matrices, jnp.einsum("aicp,ajcp->aijc", x, d_u))
    nothing, alone = jax.vmap(lambda *a: back(*a, input_gradient=False))(x, matrices, d_u)
    assert nothing is None
    close(alone, d_matrices)


def plain_layer_backward(x, kernel, g):
    d_x = jnp.where(x > 0, jnp.einsum("ajcp,aij->aicp", g, kernel), 0.0)
    return d_x, (jnp.einsum("aicp,ajcp->aij", x, g), g.sum(axis=(2, 3)))


def test_a_layer_hands_gradient_only_to_units_that_were_on():
    x, kernel, on = jax.nn.relu(drawn(0, 2, 8, 16)), drawn(1, 2, 4), jax.nn.relu(drawn(4, 4, 8, 16))
    first, second = drawn(2, 4, 8, 16), drawn(3, 4, 8, 16)

    def back(x, kernel, on, *gradients):
        return layer_backward(x, kernel, gradients, on=on, through_relu=True, interpret=True)

    close(jax.vmap(back)(x, kernel, on, first, second), plain_layer_backward(x, kernel, (first + second) * (on > 0)))


@pytest.mark.parametrize(("features", "channels", "clouds"), [(8, 16, 6), (8, 16, 5), (3, 12, 4), (15, 16, 3)])
def test_a_layer_of_sixteen_channels(features, channels, clouds):
    x, kernel, g = (
        jax.nn.relu(drawn(0, features, clouds, 16)),
        drawn(1, features, channels),
        drawn(2, channels, clouds, 16),
    )
    found = jax.vmap(lambda *a: sixteen_channels_backward(*a, interpret=True))(x, kernel, g)
    close(found, plain_layer_backward(x, kernel, g))


def test_numbers_of_points_that_a_block_cannot_have_are_left_to_the_plain_layers():
    assert [points for points in (8, 16, 48, 64, 100, 128, 256) if pointnet_gpu.fits(points)] == [16, 64, 128]


@pytest.mark.long
def test_the_whole_network_and_its_gradient_can_be_made_of_kernels():
    model = pointnet(6, "plain")

    def total(theta, clouds):
        return pointnet_gpu.pointnet_on_gpu(model.unravel(theta), clouds).sum()

    with jax.default_device(None):
        traced = jax.jit(jax.grad(total)).trace(jnp.zeros(model.num_params), jnp.zeros((4, 16, 3)))
        assert traced.lower(lowering_platforms=("cuda",)).as_text().count("triton") >= 15  # a kernel each


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="needs an NVIDIA GPU")
def test_the_compiled_gradient_equals_the_plain_one():
    models = {kind: pointnet(6, kind) for kind in ("plain", "fast")}
    key = jax.random.key(0)
    theta = jax.vmap(models["plain"].init)(jax.random.split(key, 3)) + 0.1 * jax.random.normal(key, (3, 40_855))
    inputs = jax.random.normal(key, (3, 40, 64, 3))
    data = LocalData(inputs, jax.random.randint(key, (3, 40), 0, 6), jnp.ones((3, 40)))
    with jax.default_device(None):
        found = {
            kind: FullGradient(Posterior(model.log_likelihood, GaussianPrior(), 3))(None, theta, data)
            for kind, model in models.items()
        }
    error = jnp.linalg.norm(found["fast"] - found["plain"], axis=1) / jnp.linalg.norm(found["plain"], axis=1)
    assert float(jnp.median(error)) < 1e-5  # a near tie may turn in one agent
