"""W2 against closed forms and scipy's matrix square root; consensus and rms against their definitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import sqrtm

from airbayes.errors import AirbayesError
from airbayes.metrics import consensus_distance, rms, w2_gaussians


def covariance(rng, dim, rank=None):
    factor = rng.normal(size=(dim, rank or dim + 2))
    return factor @ factor.T


def test_one_dimension_is_the_distance_of_means_and_deviations():
    rng = np.random.default_rng(0)
    m1, m2 = rng.normal(size=(2, 20, 1))
    s1, s2 = rng.random((2, 20, 1, 1)) * 3
    expected = np.sqrt((m1 - m2)[:, 0] ** 2 + (s1 - s2)[:, 0, 0] ** 2)
    np.testing.assert_allclose(w2_gaussians(m1, s1**2, m2, s2**2), expected, rtol=1e-12)


def test_commuting_covariances_have_a_closed_form():
    rng = np.random.default_rng(1)
    basis, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    values1, values2 = rng.random((2, 5))
    values2[0] = 0.0  # singular is fine
    cov1, cov2 = ((basis * values) @ basis.T for values in (values1, values2))
    shift = rng.normal(size=5)
    expected = np.sqrt(np.sum(shift**2) + np.sum((np.sqrt(values1) - np.sqrt(values2)) ** 2))
    assert float(w2_gaussians(shift, cov1, np.zeros(5), cov2)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_scipy_matrix_square_roots(seed):
    rng = np.random.default_rng(seed)
    dim = 2 + 2 * seed
    (m1, m2), c1, c2 = rng.normal(size=(2, dim)), covariance(rng, dim), covariance(rng, dim)
    root = sqrtm(c2)
    expected = np.sqrt(np.sum((m1 - m2) ** 2) + np.trace(c1 + c2 - 2 * np.real(sqrtm(root @ c1 @ root))))
    assert float(w2_gaussians(m1, c1, m2, c2)) == pytest.approx(expected, rel=1e-9)
    assert float(w2_gaussians(m2, c2, m1, c1)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_equal_laws_are_at_distance_zero_even_when_singular(rank):
    rng = np.random.default_rng(rank)
    mean, cov = rng.normal(size=6), covariance(rng, 6, rank)
    assert float(w2_gaussians(mean, cov, mean, cov)) < 1e-12  # the formula with traces gives 1e-7


def test_slightly_indefinite_counts_as_singular_and_float32_is_accepted():
    exact, rounded = np.diag([1.0, 0.0]), np.diag([1.0, -1e-7]).astype(np.float32)
    mean = np.zeros(2, np.float32)
    assert float(w2_gaussians(mean, rounded, mean, exact)) == 0.0
    assert w2_gaussians(mean, rounded, mean, exact).dtype == np.float64


def test_leading_dimensions_broadcast_as_a_loop():
    rng = np.random.default_rng(7)
    means, covs = rng.normal(size=(3, 4)), np.stack([covariance(rng, 4) for _ in range(3)])
    mean, cov = rng.normal(size=4), covariance(rng, 4)
    looped = [float(w2_gaussians(m, c, mean, cov)) for m, c in zip(means, covs, strict=True)]
    np.testing.assert_allclose(w2_gaussians(means, covs, mean, cov), looped, rtol=1e-12)
    np.testing.assert_allclose(w2_gaussians(mean, cov, means, covs), looped, rtol=1e-9)


def test_a_diverged_cell_is_not_finite_and_spares_the_others():
    means, covs = np.zeros((4, 2)), np.stack([np.eye(2)] * 4)
    covs[0, 0, 1], means[1, 0], means[2, 0] = np.nan, np.inf, np.nan
    distance = w2_gaussians(means, covs, np.zeros(2), 4 * np.eye(2))
    assert not np.isfinite(distance[:3]).any()
    assert distance[3] == pytest.approx(np.sqrt(2))


def test_what_is_no_covariance_is_refused():
    good, mean = np.eye(2), np.zeros(2)
    with pytest.raises(AirbayesError, match=r"second covariance has the eigenvalue -0\.5"):
        w2_gaussians(mean, good, mean, np.diag([1.0, -0.5]))
    with pytest.raises(AirbayesError, match=r"first covariance is not symmetric.*0\.3"):
        w2_gaussians(mean, np.array([[1.0, 0.3], [0.0, 1.0]]), mean, good)


def test_consensus_distance_and_rms_by_definition():
    theta = np.random.default_rng(3).normal(size=(5, 40)) + 10
    centred = theta - theta.mean(0)
    expected = np.sqrt(np.mean(np.sum(centred**2, axis=1)) / 40)
    device = jnp.asarray(theta, jnp.float32)
    assert float(consensus_distance(device)) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(rms(device), np.sqrt(np.sum(theta**2, axis=1) / 40), rtol=1e-6)
    assert float(rms(device[0])) == pytest.approx(float(rms(device)[0]), rel=1e-6)


def test_equal_agents_are_at_distance_exactly_zero():
    theta = jnp.asarray(np.random.default_rng(4).normal(size=1000), jnp.float32)
    assert float(jax.jit(consensus_distance)(jnp.stack([theta] * 7))) == 0.0


def test_distance_of_arrays_on_the_device_is_computed_in_float64():
    mean, cov = jnp.zeros(2), jnp.eye(2)
    assert w2_gaussians(mean, cov, mean, cov * 3) == pytest.approx(np.sqrt(2) * (np.sqrt(3) - 1), rel=1e-14)


def test_consensus_distance_vmaps():
    theta = jnp.asarray(np.random.default_rng(5).normal(size=(3, 4, 10)), jnp.float32)
    looped = jnp.stack([consensus_distance(each) for each in theta])
    np.testing.assert_allclose(jax.vmap(consensus_distance)(theta), looped, rtol=1e-6)
