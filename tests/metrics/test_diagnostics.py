"""R-hat and ESS where theory says what they must be. Of 400 other seeds none failed."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import lfilter

from airbayes.errors import AirbayesError
from airbayes.metrics import ess, rhat

CHAINS, DRAWS = 4, 2000


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape or (CHAINS, DRAWS))


def autoregressive(seed, phi):
    """Stationary AR(1) chains of unit variance; ESS of the mean is n(1 − φ)/(1 + φ)."""
    noise = normal(seed) * np.sqrt(1 - phi**2)
    noise[:, 0] /= np.sqrt(1 - phi**2)
    return np.asarray(lfilter([1.0], [1.0, -phi], noise, axis=1))


@pytest.mark.parametrize("kind", ["bulk", "tail"])
def test_independent_draws_count_in_full(kind):
    assert float(ess(normal(0), kind)) == pytest.approx(CHAINS * DRAWS, rel=0.2)
    assert float(ess(normal(0, 1, 4 * DRAWS), kind)) == pytest.approx(4 * DRAWS, rel=0.2)  # one chain


@pytest.mark.parametrize("phi", [-0.4, 0.5, 0.8])
def test_autoregressive_chains_have_their_known_effective_size(phi):
    expected = CHAINS * DRAWS * (1 - phi) / (1 + phi)
    assert float(ess(autoregressive(1, phi))) == pytest.approx(expected, rel=0.4)


def test_rhat_of_mixed_chains_is_one():
    assert 0.999 < float(rhat(normal(2))) < 1.01
    assert float(rhat(autoregressive(2, 0.5))) < 1.02


def test_rhat_sees_shift_scale_and_drift():
    shifted, scaled, drifting = normal(3), normal(4), normal(5)
    shifted[0] += 1.5
    scaled[0] *= 4
    drifting += np.linspace(0, 3, DRAWS)  # equal chains that all move: only splitting sees it
    for draws in (shifted, scaled, drifting):
        assert float(rhat(draws)) > 1.1
    assert float(ess(shifted)) < 0.02 * CHAINS * DRAWS


def test_one_chain_is_judged_by_its_own_parts():
    assert float(rhat(normal(6, 1, DRAWS))) < 1.02
    assert float(rhat(normal(6, 1, DRAWS) + np.linspace(0, 3, DRAWS))) > 1.1


def test_rank_normalisation_makes_monotone_maps_irrelevant_and_heavy_tails_harmless():
    draws = normal(7)
    assert float(ess(np.exp(3 * draws))) == pytest.approx(float(ess(draws)), rel=1e-12)
    assert float(rhat(np.random.default_rng(8).standard_cauchy((CHAINS, DRAWS)))) < 1.01


def test_quantities_are_independent_and_a_constant_one_is_nan():
    draws = normal(9, CHAINS, 300, 2, 2)
    draws[:, :, 1, 0] = 3.0
    for diagnostic in (rhat, ess, lambda d: ess(d, "tail")):
        together = diagnostic(draws)
        assert together.shape == (2, 2)
        assert np.isnan(together[1, 0])
        for i, j in ((0, 0), (0, 1), (1, 1)):
            assert together[i, j] == pytest.approx(float(diagnostic(draws[:, :, i, j])))


def test_chains_stuck_at_different_values_have_not_mixed():
    assert float(rhat(np.repeat([[0.0], [1.0]], 50, axis=1))) > 100


def test_float32_draws_give_float64_answers():
    draws = normal(10).astype(np.float32)
    assert rhat(draws).dtype == ess(draws).dtype == np.float64
    device = jnp.asarray(draws)  # counted in float64, too
    np.testing.assert_array_equal(rhat(device), rhat(draws))
    np.testing.assert_array_equal(ess(device), ess(draws))


def test_unusable_draws_are_refused():
    with pytest.raises(AirbayesError, match=r"at least 4 draws in 2 chain.*got 3"):
        rhat(normal(0, 2, 3))
    with pytest.raises(AirbayesError, match=r"at least 8 draws in 1 chain.*got 7"):
        rhat(normal(0, 1, 7))
    with pytest.raises(AirbayesError, match="got 20 in 0"):
        rhat(normal(0, 0, 20))
    with pytest.raises(AirbayesError, match="at least 4 draws"):
        ess(normal(0, 2, 3))
    diverged = normal(0, 3, 20)
    diverged[2, 11] = np.nan
    with pytest.raises(AirbayesError, match="Draw 11 of chain 2"):
        ess(diverged)
    with pytest.raises(AirbayesError, match=r"'mean'.*bulk or tail"):
        ess(normal(0, 2, 20), kind="mean")


def test_the_fewest_draws_allowed_give_a_number():
    assert np.isfinite(rhat(normal(0, 2, 4)))
    assert np.isfinite(rhat(normal(0, 1, 8)))
    assert np.isfinite(ess(normal(0, 1, 4), "tail"))
