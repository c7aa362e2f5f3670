"""Link budgets against numbers from textbooks."""

import numpy as np
import pytest

from airbayes.channel.link_budget import (
    dbm_to_watt,
    free_space_loss_db,
    log_distance_loss_db,
    noise_dbm,
    received_snr_db,
)
from airbayes.errors import AirbayesError


def test_thermal_noise():
    assert noise_dbm(1.0) == pytest.approx(-174, abs=0.03)  # the −174 dBm/Hz of every textbook
    assert noise_dbm(20e6) == pytest.approx(-101, abs=0.05)
    assert noise_dbm(1e6, 7.0) == pytest.approx(-174 + 60 + 7, abs=0.03)
    assert noise_dbm(1.0, 0.0, 580.0) - noise_dbm(1.0) == pytest.approx(3.01, abs=0.01)


@pytest.mark.parametrize(
    ("distance_m", "carrier_hz", "loss_db"),
    [
        (1.0, 2.4e9, 40.05),  # WLAN at a metre
        (1000.0, 2.4e9, 100.05),
        (1000.0, 1e9, 92.45),  # 92.45 + 20 log10(d/km) + 20 log10(f/GHz)
        (35_786e3, 12e9, 205.1),  # a geostationary satellite in Ku band
    ],
)
def test_free_space(distance_m, carrier_hz, loss_db):
    assert free_space_loss_db(distance_m, carrier_hz) == pytest.approx(loss_db, abs=0.05)


def test_friis_in_linear_units():
    wavelength = 299_792_458.0 / 5.9e9
    ratio = (wavelength / (4 * np.pi * 150.0)) ** 2
    assert free_space_loss_db(150.0, 5.9e9) == pytest.approx(-10 * np.log10(ratio))


def test_log_distance():
    distances = np.array([0.5, 1.0, 10.0, 250.0])
    np.testing.assert_allclose(
        log_distance_loss_db(distances, 2.4e9, 2.0), free_space_loss_db(distances, 2.4e9), atol=1e-9
    )
    steep = log_distance_loss_db(distances, 2.4e9, 3.5)
    assert steep[2] - steep[1] == pytest.approx(35.0)  # 10 n a decade
    assert steep[0] == pytest.approx(free_space_loss_db(0.5, 2.4e9))  # within the reference distance
    assert np.all(np.diff(steep) > 0)
    far = log_distance_loss_db(100.0, 2.4e9, 4.0, reference_m=10.0)
    assert far == pytest.approx(free_space_loss_db(10.0, 2.4e9) + 40)


def test_snr_of_a_link():
    """20 dBm over 1 km at 2.4 GHz, 1 MHz, noise figure 7 dB, antennas of 2 dB each: 20 + 4 − 100.05 + 107 = 31 dB."""
    loss, noise = free_space_loss_db(1000.0, 2.4e9), noise_dbm(1e6, 7.0)
    assert received_snr_db(20.0, loss, noise, 4.0) == pytest.approx(30.9, abs=0.1)
    assert dbm_to_watt(30.0) == pytest.approx(1.0)
    assert dbm_to_watt(20.0) == pytest.approx(0.1)


@pytest.mark.parametrize("distance", [0.0, -3.0, np.nan, np.inf])
def test_impossible_distances_are_named(distance):
    with pytest.raises(AirbayesError, match="distance_m must be positive"):
        free_space_loss_db(distance, 2.4e9)
