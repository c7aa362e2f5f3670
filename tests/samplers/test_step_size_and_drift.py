"""Step-size schedules and drifts."""

import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.samplers import Clipped, Constant, CosineCycles, Plain, PolynomialDecay, Tamed

GRADIENT = jnp.array([[3.0, 4.0], [0.0, 0.0], [0.3, 0.4]])


def test_schedules():
    assert float(Constant(0.1)(jnp.int32(7))) == pytest.approx(0.1)
    decay = PolynomialDecay(0.1, 10, 0.5)
    assert float(decay(jnp.int32(0))) == pytest.approx(0.1)
    assert float(decay(jnp.int32(30))) == pytest.approx(0.05)
    cycle = CosineCycles(0.1, 8)
    assert float(cycle(jnp.int32(0))) == pytest.approx(0.1)
    assert float(cycle(jnp.int32(4))) == pytest.approx(0.05)
    assert float(cycle(jnp.int32(8))) == pytest.approx(0.1)
    assert all(float(cycle(jnp.int32(s))) > 0 for s in range(20))


def test_drifts_act_on_each_agents_whole_gradient():
    eta = jnp.float32(0.2)
    np.testing.assert_array_equal(Plain()(GRADIENT, eta), GRADIENT)
    np.testing.assert_allclose(Tamed()(GRADIENT, eta), GRADIENT / np.array([[2.0], [1.0], [1.1]]), rtol=1e-6)
    np.testing.assert_allclose(Clipped(1.0)(GRADIENT, eta), GRADIENT * np.array([[0.2], [1.0], [1.0]]), rtol=1e-6)


def test_tamed_drift_is_bounded_by_one_over_eta():
    huge = jnp.full((1, 4), 1e8)
    assert float(jnp.linalg.norm(Tamed()(huge, jnp.float32(0.01)))) <= 100.0 * (1 + 1e-6)
