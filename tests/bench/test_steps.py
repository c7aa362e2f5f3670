"""The parts are those of the step: put together they give the sampler's next state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from airbayes.bench.pointnet_case import make_case
from airbayes.bench.step_parts import ETA, make_samplers, parts_of
from airbayes.bench.steps import SNR_DB, GivenGradient, inputs_of, with_given_gradient
from airbayes.network import ring
from airbayes.power import receiver_scale
from airbayes.samplers import CDDSGLD, Tamed
from airbayes.samplers.cd_dsgld import cd_dsgld_update, over_the_air_mix
from airbayes.samplers.dsgld import dsgld_update

KEY = jax.random.key(3)
PARTS = {
    "sgld": {"gradient", "noise"},
    "dsgld": {"gradient", "mixing", "noise"},
    "cd_dsgld optimal": {"gradient", "mixing", "power control", "noise"},
    "cd_dsgld common": {"gradient", "mixing", "power control", "noise"},
    "cd_dsgld truncated": {"gradient", "mixing", "power control", "noise"},
    "dsghmc": {"gradient", "mixing", "noise"},
    "dsgd": {"gradient", "mixing"},
    "q_dsgd": {"gradient", "mixing", "compression"},
}


@pytest.fixture(scope="module")
def case():
    return make_case(5, 2, 16)


@pytest.fixture(scope="module")
def samplers(case):
    return make_samplers(case, ring(5), SNR_DB)


def given(sampler, case, value):
    """The sampler with a known gradient, which spares compiling PointNet."""
    return eqx.tree_at(lambda tree: tree.gradient, with_given_gradient(sampler, case), GivenGradient(value))


def test_every_method_has_its_parts(samplers):
    assert {name: set(parts_of(sampler)) for name, sampler in samplers.items()} == PARTS


def test_parts_of_dsgld_give_its_step(samplers, case):
    sampler, theta = samplers["dsgld"], case.theta[0]
    grad = jax.random.normal(KEY, theta.shape)
    parts = parts_of(sampler)
    mixed, xi = (parts[name](KEY, 0, sampler, theta, None) for name in ("mixing", "noise"))
    expected = dsgld_update(mixed, Tamed()(grad, jnp.float32(ETA)), xi, jnp.float32(ETA))
    state, _ = given(sampler, case, grad).step(KEY, sampler.init(theta), None)
    assert jnp.allclose(state.theta, expected, atol=1e-6)


@pytest.mark.parametrize("policy", ["optimal", "common", "truncated"])
def test_parts_of_cd_dsgld_give_its_step(samplers, case, policy):
    sampler, theta = samplers[f"cd_dsgld {policy}"], case.theta[0]
    assert isinstance(sampler, CDDSGLD)
    grad, eta = jax.random.normal(KEY, theta.shape), jnp.float32(ETA)
    parts = parts_of(sampler)
    gains, z = (parts[name](KEY, jnp.int32(0), sampler, theta, None) for name in ("power control", "noise"))
    beta = receiver_scale(sampler.channel.noise_power, eta)
    mixed = over_the_air_mix(theta, gains, sampler.mixing)
    expected = cd_dsgld_update(mixed, Tamed()(grad, eta), z, beta, eta)
    state, _ = given(sampler, case, grad).step(KEY, sampler.init(theta), None)
    assert jnp.allclose(state.theta, expected, atol=1e-6)


def test_centralised_sampler_has_all_clouds(samplers, case):
    theta, data = inputs_of(samplers["sgld"], case)
    assert theta.shape[:2] == (1, 1)
    assert data.inputs.shape == (1, 1, 10, 16, 3)
