"""Likelihoods, priors, local potentials and mini-batches."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from unchecked import answers

from airbayes.errors import AirbayesError
from airbayes.models import (
    Augmentation,
    AugmentedGradient,
    FullGradient,
    GaussianPrior,
    LaplacePrior,
    LinearRegression,
    LocalData,
    MiniBatchGradient,
    Posterior,
    SoftmaxRegression,
    draw_minibatch,
    gaussian_posterior,
    mlp,
    pool_agents,
    quadratic_potentials,
    stack_agents,
)

RNG = np.random.default_rng(0)
COUNTS = (5, 3, 4)


def regression_data(features: int = 3):
    inputs = [RNG.normal(size=(n, features)).astype(np.float32) for n in COUNTS]
    return stack_agents(inputs, [RNG.normal(size=n).astype(np.float32) for n in COUNTS])


def test_padding_has_no_weight_and_counts_are_kept():
    data = regression_data()
    assert data.weights.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]
    assert data.count.tolist() == [5, 3, 4]
    assert pool_agents(data).inputs.shape == (1, 15, 3)
    assert float(pool_agents(data).count[0]) == 12


def test_padding_repeats_an_example_so_that_no_likelihood_meets_zeros():
    data = stack_agents([np.ones((2, 1), np.float32), np.full((1, 1), 2, np.float32)], [np.ones(2), np.ones(1)])
    power_law = Posterior(lambda theta, x, y: -jnp.log(x[:, 0]) * theta[0], GaussianPrior(), 2)
    np.testing.assert_allclose(FullGradient(power_law)(None, jnp.zeros((2, 1)), data), [[0.0], [np.log(2)]], rtol=1e-6)


def test_bad_agent_data_names_the_agent():
    with pytest.raises(AirbayesError, match="Agent 1 has 2 inputs and 3 targets"):
        stack_agents([np.zeros((2, 1))] * 2, [np.zeros(2), np.zeros(3)])
    with pytest.raises(AirbayesError, match="got 0 and 0"):
        stack_agents([], [])


def test_linear_gradient_is_that_of_the_quadratic():
    data, noise_std, prior_scale = regression_data(), 0.7, 1.3
    posterior = Posterior(LinearRegression(3, noise_std).log_likelihood, GaussianPrior(prior_scale), 3)
    theta = RNG.normal(size=(3, 3)).astype(np.float32)
    precision, linear = quadratic_potentials(data, noise_std, prior_scale)
    expected = np.einsum("kij,kj->ki", precision, theta) - linear
    np.testing.assert_allclose(FullGradient(posterior)(None, jnp.asarray(theta), data), expected, rtol=1e-4, atol=1e-4)


def test_local_potentials_sum_to_the_global_one():
    """Σ_k f_k = −log likelihood − log prior: the prior is counted once."""
    data = regression_data()
    model = LinearRegression(3)
    theta = jnp.asarray(RNG.normal(size=3), jnp.float32)
    local = Posterior(model.log_likelihood, LaplacePrior(0.5), 3)
    whole = Posterior(model.log_likelihood, LaplacePrior(0.5), 1)
    pooled = jax.tree.map(lambda leaf: leaf[0], pool_agents(data))
    np.testing.assert_allclose(jax.vmap(local, (None, 0))(theta, data).sum(), whole(theta, pooled), rtol=1e-5)


def test_gaussian_posterior_solves_ridge_regression():
    data = regression_data()
    mean, cov = gaussian_posterior(*quadratic_potentials(data, 1.0))
    rows = np.concatenate([np.asarray(data.inputs)[k, :n] for k, n in enumerate(COUNTS)]).astype(np.float64)
    targets = np.concatenate([np.asarray(data.targets)[k, :n] for k, n in enumerate(COUNTS)])
    precision = rows.T @ rows + np.eye(3)
    np.testing.assert_allclose(cov, np.linalg.inv(precision), rtol=1e-6)
    np.testing.assert_allclose(mean, np.linalg.solve(precision, rows.T @ targets), rtol=1e-6)


@pytest.mark.parametrize(("prior", "expected"), [(GaussianPrior(2.0), [-0.25, 0.5]), (LaplacePrior(2.0), [-0.5, 0.5])])
def test_prior_gradients(prior, expected):
    np.testing.assert_allclose(jax.grad(prior)(jnp.array([1.0, -2.0])), expected, rtol=1e-6)


def test_prior_with_a_scale_per_parameter():
    grad = jax.grad(GaussianPrior(np.array([1.0, 0.5])))(jnp.array([1.0, 1.0]))
    np.testing.assert_allclose(grad, [-1.0, -4.0])


@pytest.mark.parametrize("model", [SoftmaxRegression(4, 3), mlp(4, 3, width=5, depth=2)])
def test_classifiers_give_normalised_log_probabilities(model):
    theta = model.init(jax.random.key(0))
    inputs = jnp.asarray(RNG.normal(size=(6, 4)), jnp.float32)
    log_probs = model.log_probs(theta, inputs)
    assert theta.shape == (model.num_params,)
    np.testing.assert_allclose(jnp.exp(log_probs).sum(axis=1), 1.0, rtol=1e-5)
    labels = jnp.array([0, 1, 2, 0, 1, 2])
    picked = model.log_likelihood(theta, inputs, labels)
    np.testing.assert_allclose(picked, np.asarray(log_probs)[np.arange(6), labels])


def test_mlp_has_the_parameters_it_should():
    assert mlp(4, 3, width=5, depth=2).num_params == (4 * 5 + 5) + (5 * 5 + 5) + (5 * 3 + 3)


def test_softmax_matches_scipy():
    from scipy.special import log_softmax

    model = SoftmaxRegression(2, 3)
    theta = RNG.normal(size=9).astype(np.float32)
    inputs = RNG.normal(size=(4, 2)).astype(np.float32)
    expected = log_softmax(inputs @ theta[:6].reshape(2, 3) + theta[6:], axis=1)
    np.testing.assert_allclose(model.log_probs(jnp.asarray(theta), jnp.asarray(inputs)), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("replace", "batch"), [(False, 2), (True, 2), (False, 4), (True, 4)])
def test_minibatch_gradients_are_unbiased(replace, batch):
    """z-test over 20,000 draws, largest of 9 entries; false-alarm rate 1e-4. One agent has only 3 examples."""
    from scipy import stats

    data = regression_data()
    posterior = Posterior(LinearRegression(3).log_likelihood, GaussianPrior(), 3)
    theta = jnp.asarray(RNG.normal(size=(3, 3)), jnp.float32)
    estimate = MiniBatchGradient(posterior, batch, replace)
    keys = jax.vmap(lambda key: jax.random.split(key, 3))(jax.random.split(jax.random.key(1), 20_000))
    draws = np.asarray(jax.jit(jax.vmap(lambda key: estimate(key, theta, data)))(keys), np.float64)
    exact = np.asarray(FullGradient(posterior)(None, theta, data), np.float64)
    # An agent that uses all of its examples has no spread but rounding.
    z = (draws.mean(axis=0) - exact) / np.maximum(draws.std(axis=0) / np.sqrt(len(draws)), 1e-5)
    assert np.abs(z).max() < stats.norm.isf(0.5e-4 / 9)


def test_minibatch_without_replacement_never_repeats_or_pads():
    data = jax.tree.map(lambda leaf: leaf[1], regression_data())  # 3 real examples of 5
    marked = jax.tree.map(lambda leaf: leaf, data)
    for seed in range(20):
        batch = draw_minibatch(jax.random.key(seed), marked, 3)
        assert len(np.unique(np.asarray(batch.targets))) == 3
        np.testing.assert_allclose(batch.weights, 1.0)
        assert set(np.asarray(batch.targets).tolist()) == set(np.asarray(data.targets)[:3].tolist())


def test_a_minibatch_larger_than_the_data_is_refused():
    data = jax.tree.map(lambda leaf: leaf[0], regression_data())
    with pytest.raises(AirbayesError, match="mini-batch of 9"):
        draw_minibatch(jax.random.key(0), data, 9)


TEN = np.zeros((10, 2), np.float32)


def own_likelihood(theta, inputs, targets):
    return -((targets - jnp.sum(inputs * theta, axis=-1)) ** 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianPrior(0.0), "scale s of a prior must be positive, got 0. inf is a flat prior"),
        (lambda: GaussianPrior(np.array([1.0, -1.0])), "got -1"),
        (lambda: LaplacePrior(-1.0), "scale s of a prior must be positive, got -1"),
        (lambda: LinearRegression(2, noise_std=-1.0), "deviation σ of the noise must be positive and finite, got -1"),
        (lambda: LinearRegression(2, noise_std=0.0), "got 0"),
        (lambda: Posterior(own_likelihood, GaussianPrior(), 0), "num_agents must be an integer from 1 on, got 0"),
        (lambda: MiniBatchGradient(own_likelihood, 0), "mini-batch B must be .* 1 on, got 0. .*models.FullGradient"),
        (lambda: AugmentedGradient(own_likelihood, Augmentation(), -1), "mini-batch B must be .* from 0 on, got -1"),
    ],
)
def test_impossible_numbers_are_refused(make, message):
    with pytest.raises(AirbayesError, match=message):
        make()


def test_a_flat_prior_is_one_of_infinite_scale():
    assert float(GaussianPrior(np.inf)(jnp.ones(3))) == 0.0


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["plain", "jit"])
def test_the_likelihood_gives_one_number_per_example(jit):
    """A column of targets would be broadcast to [example, example], silently."""
    gradient = FullGradient(Posterior(own_likelihood, GaussianPrior(), 2))
    data = stack_agents([TEN, TEN], [np.zeros((10, 1), np.float32)] * 2)
    with pytest.raises(
        AirbayesError, match=r"gave shape \[10, 10\] for 10 examples .*\[10, 1\]; .* a column\? Give targ"
    ):
        jit(lambda theta: gradient(None, theta, data))(jnp.zeros((2, 2)))


LABELS = [np.array([0, 1, 2]), np.array([2, 1])]
CLOUD = [np.zeros((3, 2), np.float32), np.zeros((2, 2), np.float32)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: y + 1, "Example 2 of agent 0 has the label 3: 3 classes have labels 0 to 2. Subtract 1 from all"),
        (lambda y: y - 1, "Example 0 of agent 0 has the label -1: .* Renumber the classes from 0, or leave the"),
        (lambda y: np.eye(3)[y], r"must be integers 0 to 2, .* of shape \[2, 3, 3\] .*rows.argmax"),
        (lambda y: y.astype(np.float32), "must be integers 0 to 2, one per example, got float32"),
    ],
)
def test_labels_are_0_to_c_minus_1(change, message):
    """Else those of C have no gradient, and -1 is the last class: the run would look healthy."""
    targets, theta = [change(labels) for labels in LABELS], jnp.zeros((2, 9))
    with pytest.raises(AirbayesError, match=message):
        stack_agents(CLOUD, targets, num_classes=3)
    posterior = Posterior(SoftmaxRegression(2, 3).log_likelihood, GaussianPrior(), 2)
    data, keys = stack_agents(CLOUD, targets), jax.random.split(jax.random.key(0), 2)
    for gradient in (FullGradient(posterior), MiniBatchGradient(posterior, 2)):
        for run in (gradient, lambda keys, theta, data, g=gradient: jax.jit(lambda t: g(keys, t, data))(theta)):
            with pytest.raises(AirbayesError, match=message):
                run(keys, theta, data)


def test_labels_of_padding_and_traced_ones_are_not_looked_at():
    gradient = FullGradient(Posterior(SoftmaxRegression(2, 3).log_likelihood, GaussianPrior(), 2))
    data = stack_agents(CLOUD, LABELS, num_classes=3)
    padded = LocalData(data.inputs, data.targets.at[1, 2].set(-1), data.weights)
    expected = gradient(None, jnp.zeros((2, 9)), data)
    np.testing.assert_array_equal(gradient(None, jnp.zeros((2, 9)), padded), expected)
    wrong = LocalData(data.inputs, data.targets + 1, data.weights)
    assert jax.jit(lambda data: gradient(None, jnp.zeros((2, 9)), data))(wrong).shape == (2, 9)


def test_data_and_theta_fit_each_other():
    data = stack_agents([TEN, TEN], [TEN[:, 0]] * 2)
    gradient = FullGradient(Posterior(LinearRegression(2).log_likelihood, GaussianPrior(), 2))
    with pytest.raises(AirbayesError, match=r"θ has 3 rows, one per agent, but data.inputs has shape \[2, 10, 2\]"):
        gradient(None, jnp.zeros((3, 2)), data)
    with pytest.raises(AirbayesError, match=r"θ has 4 parameters an agent, but the LinearRegression has 2 \(model.num"):
        gradient(None, jnp.zeros((2, 4)), data)
    with pytest.raises(AirbayesError, match=r"A Posterior needs models.stack_agents\(inputs, targets\), got a tuple"):
        gradient(None, jnp.zeros((2, 2)), (data.inputs, data.targets))


USERS = """
import jax, jax.numpy as jnp, numpy as np
import equinox as eqx
from airbayes import models
line, prior, x = models.LinearRegression(2), models.GaussianPrior(), np.zeros((2, 10, 2), np.float32)
data = models.stack_agents(list(x), list(x[..., :1]))
keys, theta = jax.random.split(jax.random.key(0), 2), jnp.zeros((2, 2))
def gradient(potential): return models.FullGradient(potential)(None, theta, data)
def network(build, classes):
    model = models.NetworkClassifier(build, classes)
    return model.log_probs(model.init(keys[0]), x[0])
def batches(data): return models.MiniBatchGradient(lambda theta, data: theta.sum(), 5)(keys, theta, data)
"""
MISTAKES = {
    "gradient(models.Posterior(line.log_likelihood, prior, 2))": r"shape \[10, 1\] do not fit .*give targets\[:, 0\]",
    "models.Posterior(line, prior, 2)": "log_likelihood must be a function such as model.log_likelihood, got a Linear",
    "models.Posterior(line.log_likelihood, models.GaussianPrior, 2)": "log_prior must be .*got the class GaussianPrior",
    "models.Posterior(line.log_likelihood, prior, 2.0)": "num_agents must be an integer from 1 on, got 2.0",
    "gradient(models.Posterior(lambda t, x, y: x[:, 0], lambda t: -(t**2), 2))": r"log_prior gave shape \[2\].*jnp.sum",
    "gradient(lambda theta, data: data.inputs @ theta)": r"The potential gave shape \[10\].*one number. Give jnp.sum",
    "models.GaussianPrior(jnp.ones((2, 1)))(theta[0])": r"one per parameter, \[2\]; got shape \[2, 1\]",
    "models.LaplacePrior(jnp.ones(2))(theta[0, :1])": r"one per parameter, \[1\]; got shape \[2\]",
    "gradient(models.Posterior(lambda t, x, y: jnp.sum(x @ t), prior, 2))": "Leave out the sum over the examples",
    "gradient(models.Posterior(lambda t, x, y: x, prior, 2))": r"shape \[10, 2\] .*targets \[10, 1\]; it must .*column",
    "network(lambda key: eqx.nn.Linear(2, 3, key=key), 4)": r"maps an input to shape \[3\]; a classifier of 4 classes",
    "network(lambda key: eqx.nn.Linear(2, 'scalar', key=key), 2)": r"maps an input to shape \[\]; a classifier of 2",
    "network(eqx.nn.Linear(2, 3, key=keys[0]), 3)": "build must be a function from a key .*got a Linear.*lambda key: ",
    "line.log_likelihood(theta[0], x[0, :, :1], x[0, :, 0])": r"takes inputs \[example, 2\], got shape \[10, 1\].*ones",
    "models.LinearRegression(1).log_likelihood(theta[0, :1], x[0, :, 0], x[0, :, 0])": r"shape \[10\].*x\[:, None\]",
    "line.log_likelihood(theta[0, :1], x[0], x[0, :, 0])": r"LinearRegression has 2 entries, got shape \[1\]",
    "models.SoftmaxRegression(3, 2).log_probs(jnp.zeros(8), x[0])": r"takes inputs \[example, 3\], got shape \[10, 2\]",
    "models.LinearRegression(2, np.ones(10))": "standard deviation σ of the noise must be one number",
    "models.quadratic_potentials(data, 1.0)": r"targets \[agent, example\], got shapes \[2, 10, 2\] and \[2, 10, 1\]",
    "models.pooled_quadratic((x, x), 1.0)": "must come from models.stack_agents.*got a tuple",
    "models.quadratic_potentials(models.stack_agents(x, x[..., 0]), 0.0)": "noise must be positive and finite, got 0",
    "models.quadratic_potentials(models.stack_agents(x, x[..., 0]), 1.0, 0.0)": "scale s of a prior must be positive",
    "models.pooled_quadratic(models.stack_agents(x, x[..., 0]), 1.0, -1.0)": "scale s of a prior must be positive",
    "models.gaussian_posterior(np.eye(2), np.ones(2))": r"\[2, 2\] and \[2\]. Of a pooled A and b give A\[None\]",
    "models.stack_agents([x[0], x[1, :, :1]], [x[0, :, 0]] * 2)": r"inputs of agent 1 have shape \[10, 1\], those of",
    "models.stack_agents(x[0], x[0, :, 0])": r"targets of agent 0 must be an array of numbers.*one array per agent",
    "models.stack_agents([x[0]], [['cat'] * 10])": "targets of agent 0 must be an array of numbers, .*got <U3",
    "models.Augmentation(dropout=30)": "share of lost points must be from 0 to 1, got 30",
    "batches((x, x))": "Mini-batches are drawn from models.stack_agents.*not from a tuple. .*models.FullGradient",
}


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    return answers(USERS, list(MISTAKES))


@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_a_mistake_is_named_with_its_fix(said, mistake):
    assert re.search("^AirbayesError: .*" + MISTAKES[mistake], said[mistake]), said[mistake]


def test_agents_of_equal_size_may_come_as_one_array():
    inputs = RNG.normal(size=(3, 4, 2)).astype(np.float32)
    one, several = stack_agents(inputs, inputs[..., 0]), stack_agents(list(inputs), list(inputs[..., 0]))
    np.testing.assert_array_equal(one.inputs, several.inputs)
    np.testing.assert_array_equal(one.targets, several.targets)
