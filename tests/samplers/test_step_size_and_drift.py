"""Step-size schedules and drifts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.errors import AirbayesError
from airbayes.samplers import Clipped, Constant, CosineCycles, Plain, PolynomialDecay, Tamed
from airbayes.samplers.step_size import as_step_size

MINUS = -1e-3
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: as_step_size(MINUS), "step size η must be positive and finite, got -0.001. Give a number such as"),
        (lambda: as_step_size(np.float32(MINUS)), "got -0.001"),
        (lambda: as_step_size(jnp.float32(MINUS)), "got -0.001"),
        (lambda: Constant(MINUS), "got -0.001"),
        (lambda: Constant(0), "got 0"),
        (lambda: Constant(np.inf), "got inf"),
        (lambda: Constant(np.nan), "got nan"),
        (lambda: Constant(1e-60), "got 1e-60"),  # 0 in float32
        (lambda: PolynomialDecay(MINUS, 10, 0.6), "step size η"),
        (lambda: PolynomialDecay(1e-3, -10, 0.6), "offset b of the decay must be positive, got -10"),
        (lambda: PolynomialDecay(1e-3, 10, -0.6), "power γ of the decay must be zero or more, got -0.6"),
        (lambda: CosineCycles(1e-3, 0), "period c of the cycles must be a whole number, at least 1, got 0"),
        (lambda: CosineCycles(MINUS, 8), "step size η"),
        (lambda: Clipped(-1.0), "largest norm c must be positive, got -1"),
    ],
)
def test_impossible_numbers_are_refused(make, message):
    with pytest.raises(AirbayesError, match=message):
        make()


def test_traced_step_sizes_are_not_looked_at():
    """Cells of several step sizes are made and run in one program."""
    found = jax.jit(jax.vmap(lambda eta: as_step_size(eta)(jnp.int32(0))))(jnp.array([1e-3, 2e-3]))
    np.testing.assert_array_equal(found, np.array([1e-3, 2e-3], np.float32))
