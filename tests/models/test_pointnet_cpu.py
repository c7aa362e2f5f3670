"""The PointNet in C++ against the plain one: values, gradients, ties, sizes, batching, NaN, threads, no compiler."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from models.pointnet_case import MODEL, clouds, moved

from airbayes import native
from airbayes.models import FullGradient, GaussianPrior, LocalData, Posterior, pointnet
from airbayes.models.base import pick_labels
from airbayes.models.max_pool import dense_max_pool_plain

pytestmark = pytest.mark.skipif(jax.default_backend() != "cpu", reason="this is the code for CPUs")
needs_native = pytest.mark.skipif(not native.available(), reason=f"no C++ code: {native.why_not()}")


def fast(theta, x):
    return MODEL.log_probs(theta, x)


def plain(theta, x):
    return jax.nn.log_softmax(MODEL.unravel(theta)(dense_max_pool_plain, x))


def gradient_of(network, argnums: int | tuple[int, int] = 0):
    """The gradient of a fixed random combination of the scores."""

    def gradient(theta, x):
        weight = jnp.asarray(np.random.default_rng(9).normal(size=(x.shape[0], 6)), jnp.float32)
        return jax.grad(lambda *args: jnp.sum(weight * network(*args)), argnums=argnums)(theta, x)

    return gradient


def quickly(f):
    """Compiled in a hurry, for what is used once."""
    return jax.jit(f, compiler_options={"xla_backend_optimization_level": 0})


def score_and_gradient(network):
    return quickly(lambda theta, x: (network(theta, x), gradient_of(network)(theta, x)))


expected_gradient = quickly(gradient_of(plain))  # once for every size


def assert_close(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 * float(jnp.abs(b).max()))


@needs_native
def test_the_machine_code_is_what_is_tested():
    for f in (MODEL.log_probs, gradient_of(fast)):
        assert "airbayes_pointnet" in jax.jit(f).lower(moved(0), clouds(0, 2, 5)).as_text()


# One point, fewer than a tile; less than a block of clouds, a block and a rest, one share and a rest; many points, for
# which blocks have 4, 2 and 1 clouds.
@pytest.mark.parametrize("shape", [(3, 1), (1, 16), (7, 35), (12, 32), (70, 9), (5, 129), (3, 257), (2, 513)])
def test_scores_and_gradients_are_those_of_the_plain_network(shape):
    theta, x = moved(0), clouds(0, *shape)
    assert_close(score_and_gradient(fast)(theta, x), score_and_gradient(plain)(theta, x))


@pytest.mark.parametrize("classes", [2, 8, 9, 17])
def test_any_number_of_classes(classes):
    model = pointnet(classes)
    theta = model.init(jax.random.key(classes)) + 0.1
    x, targets = clouds(5, 4, 10), jnp.arange(4) % classes

    def gradient(model):
        return quickly(jax.grad(lambda t: jnp.sum(model.log_likelihood(t, x, targets))))(theta)

    assert_close(gradient(model), gradient(pointnet(classes, "plain")))
    assert_close(quickly(model.log_probs)(theta, x), quickly(pointnet(classes, "plain").log_probs)(theta, x))


def test_gradients_of_the_clouds():
    theta, x = moved(1), clouds(1, 5, 11)
    for argnums in (1, (0, 1)):
        assert_close(quickly(gradient_of(fast, argnums))(theta, x), quickly(gradient_of(plain, argnums))(theta, x))


def test_gradients_where_points_are_copies():
    draws = np.random.default_rng(2).integers(5, size=(6, 20, 1))
    x = jnp.take_along_axis(clouds(2, 6, 20), jnp.asarray(draws), axis=1)
    assert_close(score_and_gradient(fast)(moved(2), x), score_and_gradient(plain)(moved(2), x))


def test_one_score_that_nobody_asks_for():
    """A gradient that is zero throughout."""
    theta, x = moved(1), clouds(1, 2, 5)
    np.testing.assert_array_equal(jax.grad(lambda t: jnp.sum(fast(t, x) * 0))(theta), jnp.zeros_like(theta))


# Cells and agents: clouds of their own, of the agent alone (as in a grid), of the cell alone, of all; θ of all.
@pytest.mark.parametrize("cell_axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("agent_axes", [(0, 0), (0, None), (None, 0)])
def test_batched_over_cells_and_agents(cell_axes, agent_axes):
    cells, agents = 3, 2

    def sizes(argument):
        axes = cell_axes[argument], agent_axes[argument]
        return [size for size, axis in zip((cells, agents), axes, strict=True) if axis == 0]

    count = int(np.prod(sizes(0)))
    theta = jnp.stack([moved(seed) for seed in range(count)]).reshape(*sizes(0), -1)
    x = clouds(3, *sizes(1), 4, 9)
    found = quickly(jax.vmap(jax.vmap(gradient_of(fast), agent_axes), cell_axes))(theta, x)
    for cell, agent in np.ndindex(cells, agents):
        args = []
        for argument, each in enumerate((theta, x)):
            each = each[cell] if cell_axes[argument] == 0 else each
            args.append(each[agent] if agent_axes[argument] == 0 else each)
        assert_close(found[cell, agent], expected_gradient(*args))


@needs_native
def test_cells_share_the_clouds_of_an_agent():
    """A grid has the same objects in every cell; they are there once."""
    theta, x = jnp.zeros((7, 2, MODEL.num_params)), clouds(3, 2, 4, 9)
    text = jax.jit(jax.vmap(jax.vmap(gradient_of(fast)), (0, None))).lower(theta, x).as_text()
    (line,) = [line for line in text.splitlines() if "airbayes_pointnet_pull_scores" in line]
    assert "tensor<14x40855xf32>, tensor<2x4x9x3xf32>" in line


def test_more_networks_than_have_their_gradients_in_memory_at_once():
    """65 clouds are two shares, so that 32 networks go together."""
    theta = jnp.stack([moved(seed) for seed in range(3)])[jnp.arange(35) % 3]
    x = clouds(4, 35, 65, 2)
    found = quickly(jax.vmap(gradient_of(fast)))(theta, x)
    for network in (0, 31, 32, 34):
        assert_close(found[network], expected_gradient(theta[network], x[network]))


@needs_native
def test_other_networks_of_a_call_do_not_matter():
    """To the last bit; 70 clouds are two shares."""
    theta, x = jnp.stack([moved(seed) for seed in range(3)]), clouds(6, 3, 70, 5)
    together, alone = quickly(jax.vmap(gradient_of(fast)))(theta, x), quickly(gradient_of(fast))
    for network in range(3):
        np.testing.assert_array_equal(together[network], alone(theta[network], x[network]))


def plain_log_likelihood(theta, x, targets):
    return pick_labels(plain(theta, x), targets)


def weighted(log_likelihood):
    def sum_of(theta, x, targets, weights):
        each = log_likelihood(theta, x, targets)
        return jnp.sum(weights * each), each

    return quickly(jax.vmap(jax.value_and_grad(sum_of, has_aux=True)))


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (12, 32), (66, 33)])
def test_log_likelihood_and_its_gradient(shape):
    theta, x = jnp.stack([moved(0), moved(1)]), clouds(8, 2, *shape)
    rng = np.random.default_rng(8)
    targets, weights = jnp.asarray(rng.integers(6, size=(2, shape[0]))), jnp.asarray(rng.uniform(size=(2, shape[0])))
    args = theta, x, targets, weights
    assert_close(weighted(MODEL.log_likelihood)(*args), weighted(plain_log_likelihood)(*args))


def test_scores_that_are_far_apart():
    """Softmax of scores in the thousands."""
    args = 20.0 * moved(0)[None], clouds(8, 1, 5, 7), jnp.arange(5)[None], jnp.ones((1, 5))
    assert_close(weighted(MODEL.log_likelihood)(*args), weighted(plain_log_likelihood)(*args))


def test_the_classifier_repeats_itself_exactly():
    x = clouds(4, 2, 6, 17)
    data = LocalData(x, jnp.asarray(np.random.default_rng(4).integers(6, size=(2, 6))), jnp.ones((2, 6)))
    theta = jnp.stack([moved(5), moved(6)])

    def gradient(model):
        step = FullGradient(Posterior(model.log_likelihood, GaussianPrior(), 2))
        return quickly(lambda theta, data: step(None, theta, data))

    found = gradient(MODEL)
    np.testing.assert_array_equal(found(theta, data), found(theta, data))
    assert_close(found(theta, data), gradient(pointnet(6, "plain"))(theta, data))


@pytest.mark.parametrize("tensor", ["tnet_input.points.0.kernel", "head.wide.kernel", "head.wide.bias"])
@pytest.mark.parametrize("value", [jnp.nan, jnp.inf])
def test_a_network_that_is_lost_says_so(tensor, value):
    names = list(MODEL.tensors())
    start = sum(int(np.prod(MODEL.tensors()[name])) for name in names[: names.index(tensor)])
    theta = moved(7).at[start].set(value)
    scores, gradient = score_and_gradient(fast)(theta, clouds(7, 3, 10))
    assert np.isnan(scores).all()
    assert np.isnan(gradient).any()


def test_so_does_one_that_overflows_at_one_point():
    x = clouds(7, 3, 10).at[1, 4].set(3e38)
    scores, gradient = score_and_gradient(fast)(moved(7), x)
    assert np.isfinite(scores[0]).all()
    assert np.isnan(scores[1]).all()
    assert np.isnan(gradient).any()


@pytest.mark.parametrize("shape", [(5, 7), (0, 4)])
def test_without_machine_code(shape, monkeypatch):
    expected = score_and_gradient(plain)(moved(3), clouds(3, *shape)) if shape[0] else None
    monkeypatch.setenv(native.SWITCH, "off")
    jax.clear_caches()
    assert "airbayes_pointnet" not in jax.jit(fast).lower(moved(3), clouds(3, *shape)).as_text()
    found = score_and_gradient(fast)(moved(3), clouds(3, *shape))
    if expected is None:
        assert found[0].shape == (0, 6)
        assert not found[1].any()
    else:
        assert_close(found, expected)
        batched = quickly(jax.vmap(gradient_of(fast), (0, None)))(moved(3)[None], clouds(3, *shape))
        assert_close(batched[0], expected[1])
    jax.clear_caches()


def test_double_precision_is_not_for_it():
    with jax.enable_x64(True):
        theta, x = moved(3).astype(jnp.float64), clouds(3, 2, 5).astype(jnp.float64)
        assert quickly(fast)(theta, x).dtype == jnp.float64


PRINT_BITS = """
import os, sys
os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[: int(sys.argv[1])]))
import jax, jax.numpy as jnp, numpy as np
from models.pointnet_case import MODEL, clouds, moved
x, targets = clouds(0, 3, 200, 8), jnp.zeros((3, 200), int)
theta = jnp.stack([moved(seed) for seed in range(3)])
gradient = jax.jit(jax.vmap(jax.grad(lambda t, x, y: jnp.sum(MODEL.log_likelihood(t, x, y)))))(theta, x, targets)
sys.stdout.buffer.write(np.asarray(gradient).tobytes())
"""


@needs_native
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors cannot be chosen here")
def test_the_number_of_threads_does_not_matter():
    def bits(threads):
        path = os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-c", PRINT_BITS, str(threads)],
            capture_output=True,
            env={**os.environ, "PYTHONPATH": path},
            check=True,
        )
        return done.stdout

    one, two = bits(1), bits(2)
    assert len(one) == 4 * 3 * MODEL.num_params
    assert one == two
