"""From transmit power and distance to SNR: the link budget.

    noise          N = 10 log10(k T B / 1 mW) + NF                         dBm;  −173.98 dBm/Hz at T = 290 K
    free space     L = 20 log10(4π d f / c)                                dB
    log-distance   L = L_free(d₀) + 10 n log10(d / d₀)                     dB;  n = 2 is free space again
    SNR            P_tx + G − L − N                                        dB

k Boltzmann's constant, B bandwidth, NF noise figure of the receiver, d distance, f carrier frequency, c speed of light,
n path-loss exponent (2 free space, about 3 to 4 in towns), G gain of both antennas together. Large-scale loss only:
neither shadowing nor fading.
"""

import numpy as np
from jaxtyping import Float

from airbayes.errors import AirbayesError

BOLTZMANN = 1.380649e-23  # J/K, exact
LIGHT = 299_792_458.0  # m/s, exact
ROOM_K = 290.0  # the temperature to which noise figures refer

Number = float | int
Metres = Float[np.ndarray, "*link"] | float | int


def noise_dbm(bandwidth_hz: Number, noise_figure_db: Number = 0.0, temperature_k: Number = ROOM_K) -> float:
    """N, thermal noise power of a receiver over its bandwidth."""
    _positive("bandwidth_hz", bandwidth_hz)
    _positive("temperature_k", temperature_k)
    return float(10 * np.log10(BOLTZMANN * temperature_k * bandwidth_hz / 1e-3) + noise_figure_db)


def free_space_loss_db(distance_m: Metres, carrier_hz: Number) -> Float[np.ndarray, "*link"]:
    """L = 20 log10(4π d f / c), between isotropic antennas in each other's far field."""
    _positive("distance_m", distance_m)
    _positive("carrier_hz", carrier_hz)
    return np.asarray(20 * np.log10(4 * np.pi * np.asarray(distance_m, float) * carrier_hz / LIGHT))


def log_distance_loss_db(
    distance_m: Metres, carrier_hz: Number, exponent: Number, reference_m: Number = 1.0
) -> Float[np.ndarray, "*link"]:
    """L = L_free(d₀) + 10 n log10(d / d₀); within the reference distance d₀ as in free space."""
    _positive("distance_m", distance_m)
    _positive("exponent", exponent)
    near = free_space_loss_db(np.minimum(distance_m, reference_m), carrier_hz)
    beyond = np.maximum(np.asarray(distance_m, float) / reference_m, 1.0)
    return np.asarray(near + 10 * exponent * np.log10(beyond))


def received_snr_db(
    tx_dbm: Number, loss_db: Float[np.ndarray, "*link"] | Number, noise: Number, gain_db: Number = 0.0
) -> Float[np.ndarray, "*link"]:
    """SNR = P_tx + G − L − N of every link."""
    return np.asarray(tx_dbm + gain_db - np.asarray(loss_db, float) - noise)


def dbm_to_watt(dbm: Number) -> float:
    """Power in watts from dBm."""
    return 1e-3 * 10.0 ** (dbm / 10.0)


def _positive(name: str, value: Metres) -> None:
    values = np.asarray(value, float)
    if not (np.isfinite(values).all() and (values > 0).all()):
        bad = values[~(np.isfinite(values) & (values > 0))].flat[0]
        raise AirbayesError(f"{name} must be positive and finite, got {bad}.")
