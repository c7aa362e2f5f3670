"""The policies: their formulas, their knowledge, and what they do to the row sums of the mixing step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.errors import AirbayesError
from airbayes.power import (
    Common,
    Fixed,
    Optimal,
    PowerPolicy,
    Truncated,
    interference_gram,
    policy_by_name,
    solve_box_qp,
)

RING = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
RING2 = jnp.asarray(RING @ RING, jnp.float32)
CAPS = jnp.asarray([0.4, 3.0, 1.0, jnp.inf, 0.8])
THETA = jnp.asarray(1.0 + 0.3 * np.random.default_rng(0).standard_normal((5, 20)), jnp.float32)


def interference(rho: jax.Array) -> float:
    d = np.asarray(rho, float) - 1.0
    return float(np.sum((RING @ (d[:, None] * np.asarray(THETA, float))) ** 2))


def test_truncated_sends_what_it_can():
    gains = Truncated()(THETA, CAPS)
    np.testing.assert_array_equal(gains.rho, np.array([0.4, 1.0, 1.0, 1.0, 0.8], np.float32))
    np.testing.assert_array_equal(gains.self_gain, np.ones(5))


def test_common_agrees_on_the_weakest():
    gains = Common()(THETA, CAPS)
    np.testing.assert_array_equal(gains.rho, np.full(5, np.float32(0.4)))
    np.testing.assert_array_equal(gains.self_gain, gains.rho)
    spare = Common()(THETA, CAPS + 1.0)
    np.testing.assert_array_equal(spare.rho, np.ones(5))


def test_common_is_gossip_with_a_smaller_weight():
    """θ + w Σ A (ρθ_j − σθ_k) is a step with edge weight ρw: consensus stays put. Truncation shrinks it."""
    w, consensus = 0.4, np.ones((5, 3))

    def step(gains, theta):
        rho, sigma = np.asarray(gains.rho)[:, None], np.asarray(gains.self_gain)[:, None]
        return theta + w * (RING @ (rho * theta) - RING.sum(1, keepdims=True) * sigma * theta)

    theta = np.asarray(THETA, float)
    expected = theta + 0.4 * w * (RING @ theta - 2.0 * theta)
    np.testing.assert_allclose(step(Common()(THETA, CAPS), theta), expected, atol=1e-6)
    np.testing.assert_allclose(step(Common()(THETA, CAPS), consensus), consensus, atol=1e-6)
    assert np.all(step(Truncated()(THETA, CAPS), consensus).min(axis=0) < 0.8)


def test_optimal_solves_the_quadratic_programme():
    gains = Optimal()(THETA, CAPS, RING2)
    expected = solve_box_qp(interference_gram(THETA, RING2), CAPS).gains
    np.testing.assert_allclose(gains.rho, expected, rtol=1e-5)
    np.testing.assert_array_equal(gains.self_gain, np.ones(5))
    assert np.all(np.asarray(gains.rho) <= np.asarray(CAPS))
    assert np.max(gains.rho) > 1.1  # spare power makes up for capped neighbours
    assert interference(gains.rho) < 0.9 * interference(Truncated()(THETA, CAPS).rho)
    np.testing.assert_array_equal(Optimal()(THETA, CAPS + 1.0, RING2).rho, np.ones(5))


def test_optimal_follows_the_links_that_are_up():
    """With all links of agent 3 down nobody hears it: it is left at min(1, u)."""
    masked = RING.copy()
    masked[3] = masked[:, 3] = 0.0
    up = Optimal()(THETA, CAPS, RING2).rho
    down = Optimal()(THETA, CAPS, jnp.asarray(masked @ masked, jnp.float32)).rho
    assert up[3] > 1.01
    assert down[3] == 1.0


def test_optimal_says_what_it_needs():
    with pytest.raises(AirbayesError, match="common_neighbours"):
        Optimal()(THETA, CAPS)
    n = 513
    with pytest.raises(AirbayesError, match="at most 512 agents, got 513"):
        jax.eval_shape(Optimal(), jnp.ones((n, 2)), jnp.ones(n), jnp.ones((n, n)))


def test_fixed_ignores_the_caps_unless_told():
    rho = [0.9, 1.0, 2.0, 0.5, 1.0]
    free, capped = Fixed(rho)(THETA, CAPS), Fixed(rho, respect_caps=True)(THETA, CAPS)
    np.testing.assert_array_equal(free.rho, np.array(rho, np.float32))
    np.testing.assert_array_equal(capped.rho, np.array([0.4, 1.0, 1.0, 0.5, 0.8], np.float32))
    np.testing.assert_array_equal(free.self_gain, np.ones(5))
    with pytest.raises(AirbayesError, match=r"\(2,\) for 5 agents"):
        Fixed([1.0, 1.0])(THETA, CAPS)


def test_who_needs_the_common_neighbours():
    assert [p.needs_common_neighbours for p in (Optimal, Truncated, Common, Fixed)] == [True, False, False, False]


@pytest.mark.parametrize(("name", "kind"), [("optimal", Optimal), ("truncated", Truncated), ("common", Common)])
def test_policies_by_name(name, kind):
    assert type(policy_by_name(name)) is kind


def test_a_misspelt_policy_is_corrected():
    with pytest.raises(AirbayesError, match=r"'trunkated'.*Did you mean 'truncated'\?"):
        policy_by_name("trunkated")
    with pytest.raises(AirbayesError, match="Choose from optimal, truncated, common"):
        policy_by_name("xyz")


def test_the_base_class_is_abstract():
    with pytest.raises(TypeError):
        PowerPolicy()  # pyright: ignore[reportAbstractUsage]


@pytest.mark.parametrize(
    "policy", [Optimal(), Truncated(), Common(), Fixed(np.ones(5))], ids=lambda p: type(p).__name__
)
def test_jit_and_vmap_change_nothing(policy):
    rng = np.random.default_rng(5)
    theta = jnp.asarray(1.0 + rng.standard_normal((8, 5, 20)), jnp.float32)
    caps = jnp.asarray(rng.uniform(0.3, 2.0, (8, 5)), jnp.float32)
    batched = jax.jit(jax.vmap(policy, (0, 0, None)))(theta, caps, RING2)
    compiled = jax.jit(lambda theta, caps: policy(theta, caps, RING2))
    for i in range(8):
        gains = policy(theta[i], caps[i], RING2) if i < 2 else compiled(theta[i], caps[i])
        np.testing.assert_allclose(gains.rho, batched.rho[i], rtol=1e-4)
        np.testing.assert_allclose(gains.self_gain, batched.self_gain[i], rtol=1e-6)
        assert gains.rho.dtype == gains.self_gain.dtype == jnp.float32
