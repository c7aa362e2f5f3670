"""Entropy against scipy and closed forms; mutual information between its two extremes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from airbayes import metrics

mutual_information = jax.jit(metrics.mutual_information)
predictive_entropy = jax.jit(metrics.predictive_entropy)


def samples(shape, classes, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.4), shape).astype(np.float32)


def test_entropy_agrees_with_scipy():
    p = samples((200,), 6)
    np.testing.assert_allclose(
        predictive_entropy(jnp.asarray(p)), stats.entropy(p.astype(np.float64), axis=1), atol=1e-6
    )


def test_entropy_of_certainty_is_zero_and_of_ignorance_log_c():
    assert float(predictive_entropy(jnp.array([0.0, 1.0, 0.0]))) == 0.0
    assert float(predictive_entropy(jnp.full(6, 1 / 6))) == pytest.approx(math.log(6))


def test_mutual_information_agrees_with_the_mean_kullback_leibler_distance():
    p = samples((30, 50), 5).astype(np.float64)  # I = mean_s KL(p_s ‖ mean p), another formula for the same
    expected = stats.entropy(p, p.mean(0, keepdims=True), axis=-1).mean(0)
    p32 = jnp.asarray(p, jnp.float32)
    np.testing.assert_allclose(mutual_information(p32), expected, atol=2e-6)
    means = (p32.mean(0), predictive_entropy(p32).mean(0))
    np.testing.assert_allclose(metrics.mutual_information_from_means(*means), expected, atol=2e-6)


def test_mutual_information_of_equal_samples_is_zero_and_of_certain_disagreement_log_s():
    same = jnp.broadcast_to(jnp.asarray(samples((40,), 6)), (8, 40, 6))
    information = mutual_information(same)
    assert float(information.min()) >= 0.0
    assert float(information.max()) < 1e-6
    disagree = jnp.eye(4)[:, None, :]  # sample s is sure of class s
    assert float(mutual_information(disagree)[0]) == pytest.approx(math.log(4))


def test_vmap_equals_the_loop():
    p = jnp.asarray(samples((3, 7, 10), 4))
    mapped = jax.jit(jax.vmap(mutual_information))(p)
    np.testing.assert_allclose(mapped, jnp.stack([mutual_information(each) for each in p]), atol=1e-6)
