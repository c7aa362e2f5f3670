"""The GPU kernels, interpreted on whatever machine there is, against the plain form of the same equations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.models import FullGradient, GaussianPrior, LocalData, Posterior, pointnet, pointnet_gpu
from airbayes.models.point_layers_gpu import layer_backward, matrix_gradient, turn
from airbayes.models.wide_pool_gpu import pull_back, winners

AGENTS = 2  # the kernels run below a vmap over agents


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
    g = drawn(6, 4, clouds, points)

    def pulled(function):
        def one_agent(x, matrices, first, second, g):
            h, back = jax.vjp(function, x, matrices, first, second)
            return h, back(g)

        return jax.vmap(one_agent)(x, matrices, first, second, g)

    close(pulled(lambda *args: pointnet_gpu.point_layers(True, True, *args)), pulled(plain_layers))


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


def test_turning_and_its_gradient():
    x, matrices, d_u = drawn(0, 3, 10, 16), drawn(1, 3, 3, 10), drawn(2, 3, 10, 16)
    close(jax.vmap(lambda *a: turn(*a, interpret=True))(x, matrices), jnp.einsum("aicp,aijc->ajcp", x, matrices))
    found = jax.vmap(lambda *a: matrix_gradient(*a, interpret=True))(x, d_u)
    close(found, jnp.einsum("aicp,ajcp->aijc", x, d_u))


def test_a_layer_hands_gradient_only_to_units_that_were_on():
    x, kernel, g = jax.nn.relu(drawn(0, 2, 8, 16)), drawn(1, 2, 4), drawn(2, 4, 8, 16)

    def back(*arrays):
        return layer_backward(*arrays, through_relu=True, interpret=True)

    masked, weights = jax.vmap(back)(x, kernel, g)
    close(masked, jnp.where(x > 0, jnp.einsum("ajcp,aij->aicp", g, kernel), 0.0))
    close(weights, (jnp.einsum("aicp,ajcp->aij", x, g), g.sum(axis=(2, 3))))


def test_numbers_of_points_that_a_block_cannot_have_are_left_to_the_plain_layers():
    assert [points for points in (8, 16, 48, 64, 100, 128, 256) if pointnet_gpu.fits(points)] == [16, 64, 128]


@pytest.mark.long
def test_the_whole_network_and_its_gradient_can_be_made_of_kernels():
    model = pointnet(6, "plain")

    def total(theta, clouds):
        return pointnet_gpu.pointnet_on_gpu(model.unravel(theta), clouds).sum()

    traced = jax.jit(jax.grad(total)).trace(jnp.zeros(model.num_params), jnp.zeros((4, 16, 3)))
    assert traced.lower(lowering_platforms=("cuda",)).as_text().count("triton") >= 15  # a kernel each


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="needs an NVIDIA GPU")
def test_the_compiled_gradient_equals_the_plain_one():
    models = {kind: pointnet(6, kind) for kind in ("plain", "fast")}
    key = jax.random.key(0)
    theta = jax.vmap(models["plain"].init)(jax.random.split(key, 3)) + 0.1 * jax.random.normal(key, (3, 40_855))
    inputs = jax.random.normal(key, (3, 40, 64, 3))
    data = LocalData(inputs, jax.random.randint(key, (3, 40), 0, 6), jnp.ones((3, 40)))
    found = {
        kind: FullGradient(Posterior(model.log_likelihood, GaussianPrior(), 3))(None, theta, data)
        for kind, model in models.items()
    }
    error = jnp.linalg.norm(found["fast"] - found["plain"], axis=1) / jnp.linalg.norm(found["plain"], axis=1)
    assert float(jnp.median(error)) < 1e-5  # a near tie may turn in one agent
