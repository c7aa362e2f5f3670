"""Running means in float32 against float64 over 10^5 updates, and against numpy's moments."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.metrics import RunningMean, RunningMoments, RunningPredictive, mutual_information

LONG = 100_000


@jax.jit
def feed(state, values):
    return jax.lax.scan(lambda s, value: (s.update(value), None), state, values)[0]


def softmaxes(shape, seed=0):
    logits = np.random.default_rng(seed).normal(size=shape) * 2
    p = np.exp(logits - logits.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True)).astype(np.float32)


def test_long_mean_keeps_float32_accuracy():
    p = softmaxes((LONG, 4, 3))
    state = feed(RunningPredictive.empty((4, 3)), jnp.asarray(p))
    assert int(state.count) == LONG
    np.testing.assert_allclose(state.mean(), p.mean(0, dtype=np.float64), rtol=2e-7)


def test_a_long_mean_still_follows_a_small_drift():
    # Half way the value rises by 0.002: plain m += (x − m)/n loses two thirds of it, an error of 7e-4.
    values = np.where(np.arange(LONG) < LONG // 2, 0.5, 0.502).astype(np.float32)
    state = feed(RunningMean.empty(()), jnp.asarray(values))
    assert float(state.mean()) == pytest.approx(values.mean(dtype=np.float64), rel=2e-7)


@pytest.mark.parametrize("shape", [(50, 6), (5, 50, 6)], ids=["one model", "agents"])
def test_predictive_equals_the_stored_samples(shape):
    p = jnp.asarray(softmaxes((30, *shape)))
    state = feed(RunningPredictive.empty(shape), p)
    np.testing.assert_allclose(state.mean(), p.mean(0), atol=1e-6)
    np.testing.assert_allclose(state.mutual_information(), jax.jit(mutual_information)(p), atol=2e-6)


def test_log_probabilities_give_the_same_and_may_be_minus_infinity():
    p = jnp.asarray(softmaxes((20, 8, 3))).at[:, 0].set(jnp.array([0.0, 1.0, 0.0]))
    state = feed(RunningPredictive.empty((8, 3)), p)
    logged = RunningPredictive.empty((8, 3))
    logged = jax.lax.scan(lambda s, value: (s.update_log(value), None), logged, jnp.log(p))[0]
    np.testing.assert_allclose(logged.mean(), state.mean(), atol=1e-6)
    np.testing.assert_allclose(logged.mutual_information(), state.mutual_information(), atol=1e-6)
    assert float(logged.mutual_information()[0]) == 0.0


def test_no_sample_is_no_prediction():
    empty = RunningPredictive.empty((2, 3))
    assert jnp.isnan(empty.mean()).all()
    assert jnp.isnan(empty.mutual_information()).all()
    assert jnp.isfinite(empty.update(jnp.full((2, 3), 1 / 3)).mean()).all()


def test_moments_agree_with_numpy_far_from_zero():
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(3, 3))
    x = (rng.normal(size=(20_000, 2, 3)) @ mix + np.array([1000.0, 0.0, -50.0])).astype(np.float32)
    state = feed(RunningMoments.empty((2, 3)), jnp.asarray(x))
    np.testing.assert_allclose(state.mean(), x.mean(0, dtype=np.float64), rtol=3e-7, atol=1e-6)
    for stream in range(2):
        expected = np.cov(x[:, stream].astype(np.float64).T)
        covariance = np.asarray(state.covariance()[stream])
        np.testing.assert_allclose(covariance, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(covariance, covariance.T)


@pytest.mark.parametrize("first", [0, 1, 2, 37, 100])
def test_combining_two_parts_equals_the_whole(first):
    x = jnp.asarray(np.random.default_rng(first).normal(size=(100, 4)) + 3, jnp.float32)
    parts = [feed(RunningMoments.empty((4,)), part) for part in (x[:first], x[first:])]
    both = parts[0].combine(parts[1])
    assert int(both.count) == 100
    np.testing.assert_allclose(both.mean(), np.asarray(x, np.float64).mean(0), rtol=1e-6)
    np.testing.assert_allclose(both.covariance(), np.cov(np.asarray(x, np.float64).T), rtol=1e-5, atol=1e-6)


def test_moments_of_nothing_and_of_one_vector_are_finite():
    empty = RunningMoments.empty((2,))
    one = empty.update(jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(one.mean(), [1.0, 2.0])
    for state in (empty, one, empty.combine(empty), empty.combine(one)):
        assert jnp.isfinite(state.mean()).all()
        np.testing.assert_array_equal(state.covariance(), np.zeros((2, 2)))
    two = one.update(jnp.array([3.0, 2.0]))
    np.testing.assert_allclose(two.covariance(), [[2.0, 0.0], [0.0, 0.0]])


def test_vmap_equals_the_loop_and_nan_stays_visible():
    x = jnp.asarray(np.random.default_rng(5).normal(size=(4, 25, 3)), jnp.float32)
    run = lambda values: feed(RunningMoments.empty((3,)), values).covariance()  # noqa: E731
    np.testing.assert_allclose(jax.vmap(run)(x), jnp.stack([run(each) for each in x]), rtol=1e-6)
    assert math.isnan(RunningMean.empty(()).update(jnp.array(jnp.nan)).update(jnp.array(1.0)).mean())
