"""Laws that have no stationary state say so."""

import numpy as np
import pytest

from airbayes.errors import AirbayesError
from airbayes.samplers.exact import dsgld_law

ONE = np.ones((1, 1, 1)), np.zeros((1, 1))  # A and b of one agent and one parameter


def test_too_large_a_step_has_no_stationary_law():
    """θ' = (1 − η)θ + noise: stable up to η = 2."""
    assert dsgld_law(np.eye(1), *ONE, eta=1.9).stationary[1] == pytest.approx(2 * 1.9 / (1 - 0.9**2))
    with pytest.raises(AirbayesError, match=r"no stationary law: ρ\(M\) = 1.5 ≥ 1, .* smaller step size η"):
        _ = dsgld_law(np.eye(1), *ONE, eta=2.5).stationary


def test_multiplicative_noise_names_the_way_round():
    law = dsgld_law(np.eye(1), *ONE, eta=0.1, extra=lambda mean, cov: cov)
    with pytest.raises(AirbayesError, match=r"additive noise only, .*law.at\(steps, mean\)"):
        _ = law.stationary
