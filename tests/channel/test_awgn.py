"""The AWGN channel: units, noise law, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from airbayes.channel import AWGN, ImpulsiveNoise, Jammed, NoisyGainAWGN, db_to_linear, linear_to_db
from airbayes.errors import AirbayesError


def test_decibels_round_trip():
    assert db_to_linear(20.0) == pytest.approx(100.0)
    assert linear_to_db(db_to_linear(-7.3)) == pytest.approx(-7.3)
    assert linear_to_db(0.0) == -np.inf


def test_snr_is_power_over_noise_power():
    channel = AWGN(13.0, power=4.0)
    assert float(channel.power) == 4.0
    assert linear_to_db(float(channel.power / channel.noise_power)) == pytest.approx(13.0, abs=1e-5)


def test_noise_is_gaussian_of_variance_n0_and_independent_between_agents():
    """KS on the marginal and a z-test on the correlation; false-alarm rate 1e-4 each."""
    channel = AWGN(3.0, power=2.0)
    z = np.asarray(channel.noise(jax.random.split(jax.random.key(0), 2), 50_000), np.float64)
    z /= np.sqrt(2.0 / db_to_linear(3.0))
    for row in z:
        assert stats.kstest(row, "norm").pvalue > 1e-4
    assert abs(np.mean(z[0] * z[1])) < stats.norm.isf(5e-5) / np.sqrt(50_000)


def test_cells_of_other_snr_run_in_one_vmap():
    made = jax.vmap(lambda snr: NoisyGainAWGN(snr, snr / 100))(jnp.array([0.0, 10.0]))
    np.testing.assert_allclose(made.noise_power, [1.0, 0.1], rtol=1e-6)
    np.testing.assert_allclose(made.gain_std, [0.0, 0.1], rtol=1e-6)
    assert jax.vmap(lambda rate: Jammed(AWGN(10.0), rate, rate, 1))(jnp.array([0.0, 0.1])).rate.shape == (2,)
    assert jax.vmap(lambda rate: ImpulsiveNoise(AWGN(10.0), rate, rate))(jnp.array([0.0, 0.1])).rate.shape == (2,)


def test_gain_errors_have_their_standard_deviation():
    errors = np.asarray(NoisyGainAWGN(10.0, 0.3).gain_error(jax.random.split(jax.random.key(1), 200), 100)).ravel()
    assert stats.kstest(errors / 0.3, "norm").pvalue > 1e-4
    assert AWGN(10.0).gain_error(jax.random.split(jax.random.key(1), 2), 3) is None


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AWGN(float("nan")), "NaN dB"),
        (lambda: AWGN(float("inf")), "inf dB"),
        (lambda: AWGN(10.0, power=0.0), "Transmit power P must be positive and finite, got 0"),
        (lambda: NoisyGainAWGN(10.0, -0.1), "got -0.1"),
        (lambda: linear_to_db(-1.0), "got -1.0"),
    ],
)
def test_nonsense_is_named(make, says):
    with pytest.raises(AirbayesError, match=says):
        make()
