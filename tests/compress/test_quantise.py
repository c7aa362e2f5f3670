import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.compress import dequantise, levels_of, quantise
from airbayes.errors import AirbayesError


def roundtrip(key, values, levels=511):
    return dequantise(*quantise(key, values, levels), levels)


def test_levels_of_value_bits():
    assert [levels_of(bits) for bits in (2, 10, 16)] == [1, 511, 32_767]
    for bits in (1, 17):
        with pytest.raises(AirbayesError, match=str(bits)):
            levels_of(bits)


@pytest.mark.parametrize("levels", [1, 7, 511])
def test_the_mean_is_the_value(levels):
    """32 z-tests of 20,000 draws; false-alarm rate of the whole test < 32·6e-7 = 2e-5 (|z| ≤ 5)."""
    values = jax.random.normal(jax.random.key(1), (32,))
    keys = jax.random.split(jax.random.key(2), 20_000)
    draws = np.asarray(jax.vmap(roundtrip, (0, None, None))(keys, values, levels), np.float64)
    exact = np.asarray(values, np.float64)
    step = np.abs(exact).max() / levels
    fraction = np.abs(exact) / step % 1.0
    error = step * np.sqrt(fraction * (1 - fraction) / len(keys))  # Bernoulli, in closed form
    assert (np.abs(draws.mean(0) - exact) <= 5 * error + 1e-6 * np.abs(exact)).all()


def test_entries_are_rounded_independently():
    """Correlation of two entries' errors over 20,000 draws; |z| ≤ 5, false-alarm rate 6e-7."""
    values = jnp.array([1.0, 0.3, 0.3])
    keys = jax.random.split(jax.random.key(3), 20_000)
    draws = np.asarray(jax.vmap(roundtrip, (0, None, None))(keys, values, 7))
    assert abs(np.corrcoef(draws[:, 1], draws[:, 2])[0, 1]) < 5 / np.sqrt(20_000)


@pytest.mark.parametrize("levels", [1, 511, 32_767])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e38])
def test_the_error_is_at_most_one_step(levels, size):
    values = size * jnp.clip(jax.random.normal(jax.random.key(4), (5000,)), -3, 3)
    signed_levels, scale = quantise(jax.random.key(5), values, levels)
    assert signed_levels.dtype == jnp.int32
    assert int(jnp.abs(signed_levels).max()) == levels
    assert float(scale) == float(jnp.abs(values).max())
    error = np.abs(np.asarray(dequantise(signed_levels, scale, levels), np.float64) - np.asarray(values))
    assert error.max() <= float(scale) / levels * (1 + 1e-6) + 1e-6 * float(scale)


def test_zeros_stay_zero_and_signs_are_kept():
    values = jnp.array([0.0, -0.0, 2.0, -2.0, 0.0])
    for seed in range(20):
        signed_levels, scale = quantise(jax.random.key(seed), values)
        np.testing.assert_array_equal(signed_levels, [0, 0, 511, -511, 0])
        assert scale == 2.0


@pytest.mark.parametrize("largest", [0.0, 1e-42, 1e-36])
def test_a_vector_of_zeros_or_of_next_to_nothing_gives_zeros_and_scale_zero(largest):
    with jax.debug_nans(True):  # not even on the way
        signed_levels, scale = quantise(jax.random.key(0), jnp.full(9, largest))
    assert scale == 0
    assert not signed_levels.any()
    assert not dequantise(signed_levels, scale).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_divergence_is_not_hidden(bad):
    signed_levels, scale = quantise(jax.random.key(0), jnp.array([1.0, bad, 0.0]))
    assert not np.isfinite(float(scale))
    assert np.abs(signed_levels).max() <= 511
    assert jnp.isnan(dequantise(signed_levels, scale)).all()


def test_jit_and_no_jit_agree():
    values = jax.random.normal(jax.random.key(6), (1000,))
    plain, compiled = quantise(jax.random.key(7), values), jax.jit(quantise)(jax.random.key(7), values)
    np.testing.assert_array_equal(plain[0], compiled[0])
    np.testing.assert_array_equal(dequantise(*plain), jax.jit(dequantise)(*compiled))
