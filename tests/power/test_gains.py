"""Caps keep the power limit on the signal really sent; the Gram is the paper's error; predictions match the design."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.power import (
    Common,
    Optimal,
    Truncated,
    gain_caps,
    interference_gram,
    norm_cap,
    receiver_scale,
    transition_snr_db,
)

ETA = 1e-4
WEIGHTS = {"full": 1 / 5, "star": 1 / 3, "ring": 2 / 5}  # best constant weights at N = 5
FULL = np.ones((5, 5)) - np.eye(5)


def test_receiver_scale_turns_noise_into_langevin_noise():
    beta = receiver_scale(0.01, ETA)
    assert beta.dtype == jnp.float32
    np.testing.assert_allclose(0.01 / float(beta) ** 2, 2 * ETA, rtol=1e-6)


@pytest.mark.parametrize("policy", [Optimal(), Truncated(), Common()], ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize("num_params", [1, 7, 1000, 40855])
def test_power_limit_holds_on_the_signal_sent(policy, num_params):
    """‖x_j‖² ≤ mP in float64 on the float32 signal x = wβρθ, whichever way it is multiplied out."""
    send = {
        "gain first": jax.jit(lambda w, beta, rho, theta: (w * beta * rho)[:, None] * theta),
        "model first": jax.jit(lambda w, beta, rho, theta: w * (beta * (rho[:, None] * theta))),
    }
    choose = jax.jit(lambda theta, caps: policy(theta, caps, jnp.asarray(FULL @ FULL, jnp.float32)).rho)
    rng = np.random.default_rng(num_params)
    closest = 0.0
    for snr_db in (-10.0, 3.0, 17.0, 31.0):
        theta = rng.standard_normal((5, num_params)) * 10 ** rng.uniform(-3, 3, (5, 1))
        theta[1, 0] *= 1e3  # one parameter carries nearly all the power
        theta = jnp.asarray(theta, jnp.float32)
        power, w = float(rng.uniform(0.1, 10)), float(rng.uniform(0.1, 0.5))
        beta = receiver_scale(power / 10 ** (snr_db / 10), ETA)
        rho = choose(theta, gain_caps(theta, w, power, beta))
        for signal in send.values():
            x = np.asarray(signal(w, beta, rho, theta), float)
            used = np.sum(x**2, axis=1) / (num_params * np.float64(np.float32(power)))
            assert np.all(used <= 1.0)
            closest = max(closest, used.max())
    assert closest > 1.0 - 1e-5  # the limit is used, not just kept


@pytest.mark.parametrize("scale", [1e-25, 1e-10, 1.0, 1e10, 1e25])
def test_caps_survive_norms_whose_squares_do_not(scale):
    rng = np.random.default_rng(0)
    theta = jnp.asarray(rng.standard_normal((4, 50)) * scale, jnp.float32)
    expected = math.sqrt(50 * 2.0) / (0.25 * 3.0 * np.linalg.norm(np.asarray(theta, float), axis=1))
    np.testing.assert_allclose(gain_caps(theta, 0.25, 2.0, 3.0), expected, rtol=2e-6)


def test_nothing_sent_needs_no_power():
    theta = jnp.asarray([[0.0, 0.0], [3.0, 4.0]])
    caps = gain_caps(theta, 0.5, 1.0, 2.0)
    assert caps[0] == jnp.inf
    np.testing.assert_allclose(caps[1], math.sqrt(2.0) / 5.0, rtol=2e-6)
    assert np.all(np.isinf(gain_caps(theta, 0.0, 1.0, 2.0)))
    np.testing.assert_array_equal(gain_caps(theta, 0.5, 0.0, 2.0), [np.inf, 0.0])


def test_gram_is_the_error_summed_over_receivers():
    """(ρ − 1)ᵀ H (ρ − 1) = Σ_k ‖Σ_j A_kj (ρ_j − 1) θ_j‖²."""
    rng = np.random.default_rng(1)
    a = np.triu(rng.random((6, 6)) < 0.5, 1).astype(float)
    a = a + a.T
    theta, d = rng.standard_normal((6, 300)), rng.uniform(-1, 1, 6)
    gram = interference_gram(jnp.asarray(theta, jnp.float32), jnp.asarray(a @ a, jnp.float32))
    np.testing.assert_allclose(d @ np.asarray(gram, float) @ d, np.sum((a @ (d[:, None] * theta)) ** 2), rtol=1e-5)


def test_gram_of_models_near_consensus_keeps_their_difference():
    """Entries agree with float64 to a few roundings, so that errors of 1e-3 between models are still seen."""
    rng = np.random.default_rng(2)
    theta = (rng.standard_normal(40855) + 1e-3 * rng.standard_normal((5, 40855))).astype(np.float32)
    exact = theta.astype(float) @ theta.T.astype(float)
    gram = np.asarray(interference_gram(jnp.asarray(theta), jnp.ones((5, 5))), float)
    assert np.max(np.abs(gram / exact - 1.0)) < 2e-6


def test_transitions_of_the_design():
    found = {name: round(transition_snr_db(w, ETA), 1) for name, w in WEIGHTS.items()}
    assert found == {"full": 23.0, "star": 27.4, "ring": 29.0}
    assert transition_snr_db(0.2, ETA, rms=0.1) == pytest.approx(3.0103, abs=1e-4)
    assert transition_snr_db(0.0, ETA) == -math.inf


def test_norm_caps_of_the_design():
    found = [norm_cap(WEIGHTS[name], ETA, db) for name, db in (("full", 5), ("star", 10), ("ring", 10))]
    assert [round(cap, 3) for cap in found] == [0.126, 0.134, 0.112]
    assert norm_cap(0.0, ETA, 10.0) == math.inf


@pytest.mark.parametrize("name", WEIGHTS)
def test_predictions_agree_with_the_caps(name):
    """At the transition SNR a model of that rms has a cap of just one, and norm_cap gives the rms back."""
    w, rms, power = WEIGHTS[name], 0.37, 2.0
    snr_db = transition_snr_db(w, ETA, rms)
    assert norm_cap(w, ETA, snr_db) == pytest.approx(rms)
    beta = receiver_scale(power / 10 ** (snr_db / 10), ETA)
    np.testing.assert_allclose(gain_caps(jnp.full((3, 11), rms), w, power, beta), 1.0, rtol=3e-6)
