"""Likelihoods, priors, local potentials and mini-batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.errors import AirbayesError
from airbayes.models import (
    FullGradient,
    GaussianPrior,
    LaplacePrior,
    LinearRegression,
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
