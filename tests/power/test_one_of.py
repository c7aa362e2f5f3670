"""Several policies in one program give the gains of each alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.errors import AirbayesError
from airbayes.power import Common, OneOf, Optimal, Truncated, policy_by_name

NAMES = ("optimal", "truncated", "common")
POLICIES = tuple(map(policy_by_name, NAMES))
RING = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
RING2 = jnp.asarray(RING @ RING, jnp.float32)
RNG = np.random.default_rng(0)
THETA = jnp.asarray(1.0 + RNG.standard_normal((6, 5, 20)), jnp.float32)  # [cell, agent, param]
CAPS = jnp.asarray(RNG.uniform(0.3, 2.0, (6, 5)), jnp.float32)


def over_cells(policy, theta, caps):
    return jax.vmap(policy, (0, 0, None))(theta, caps, RING2)


@pytest.mark.parametrize("name", NAMES)
def test_the_gains_are_those_of_the_chosen_policy_and_nothing_is_traced_again(name):
    traces = []

    @jax.jit
    def shared(policy, theta, caps):
        traces.append(policy)
        return over_cells(policy, theta, caps)

    index = NAMES.index(name)
    shared(OneOf(POLICIES, (index + 1) % 3), THETA, CAPS)
    found = shared(OneOf(POLICIES, index), THETA, CAPS)
    assert len(traces) == 1
    alone = jax.jit(lambda theta, caps: over_cells(POLICIES[index], theta, caps))(THETA, CAPS)
    np.testing.assert_array_equal(found.rho, alone.rho)
    np.testing.assert_array_equal(found.self_gain, alone.self_gain)


def test_every_cell_may_choose_for_itself():
    mixed = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(OneOf(POLICIES, index % 3) for index in range(6)))
    found = jax.jit(jax.vmap(lambda policy, theta, caps: policy(theta, caps, RING2)))(mixed, THETA, CAPS)
    for cell in range(6):
        alone = POLICIES[cell % 3](THETA[cell], CAPS[cell], RING2)
        np.testing.assert_allclose(found.rho[cell], alone.rho, rtol=1e-4)
        np.testing.assert_array_equal(found.self_gain[cell] == 1, alone.self_gain == 1)


def test_it_asks_for_what_any_of_them_needs():
    assert OneOf(POLICIES, 2).needs_common_neighbours
    local = OneOf((Truncated(), Common()), 1)
    assert not local.needs_common_neighbours
    np.testing.assert_array_equal(local(THETA[0], CAPS[0]).rho, Common()(THETA[0], CAPS[0]).rho)


@pytest.mark.parametrize("chosen", [-1, 2])
def test_a_policy_that_is_not_there_is_refused(chosen):
    with pytest.raises(AirbayesError, match=f"number {chosen} among 2"):
        OneOf((Optimal(), Common()), chosen)
