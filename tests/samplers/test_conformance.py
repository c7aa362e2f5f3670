"""What every sampler must satisfy: shapes, dtypes, jit = no jit, vmap = loop, traced once."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes import network
from airbayes.channel import AWGN
from airbayes.models import FullGradient, GaussianPrior, MiniBatchGradient, Posterior, SoftmaxRegression, stack_agents
from airbayes.network import build_mixing
from airbayes.power import Common, Optimal, Truncated
from airbayes.samplers import (
    CDDSGLD,
    DSGD,
    DSGHMC,
    DSGLD,
    QDSGD,
    SGD,
    SGLD,
    Churn,
    Clipped,
    CosineCycles,
    Faults,
    Late,
    LinkOutage,
    NodeOutage,
    PolynomialDecay,
    Tamed,
)

AGENTS, ETA = 4, 1e-2
MODEL = SoftmaxRegression(3, 2)
PARAMS = MODEL.num_params


def local_data():
    rng = np.random.default_rng(0)
    counts = (6, 4, 5, 6)  # agents hold different numbers of examples
    inputs = [rng.normal(size=(n, 3)).astype(np.float32) for n in counts]
    return stack_agents(inputs, [rng.integers(2, size=n).astype(np.int32) for n in counts])


POSTERIOR = Posterior(MODEL.log_likelihood, GaussianPrior(), AGENTS)
FULL = FullGradient(POSTERIOR)
MIXING = build_mixing(network.ring(AGENTS))
T = jnp.array([1, 2, 3, PARAMS], jnp.int32)

SAMPLERS = {
    "sgld": SGLD(FULL, ETA),
    "sgd": SGD(FULL, ETA),
    "sgld-tamed-polynomial": SGLD(FULL, PolynomialDecay(ETA, 10, 0.55), Tamed()),
    "dsgld": DSGLD(FULL, MIXING, ETA),
    "dsgld-minibatch-outage": DSGLD(MiniBatchGradient(POSTERIOR, 3), MIXING, ETA, outage=LinkOutage(0.4)),
    "cd-optimal": CDDSGLD(FULL, MIXING, AWGN(3.0), Optimal(), ETA),
    "cd-optimal-outage": CDDSGLD(FULL, MIXING, AWGN(3.0), Optimal(), ETA, outage=NodeOutage(0.4)),
    "cd-truncated": CDDSGLD(FULL, MIXING, AWGN(3.0), Truncated(), CosineCycles(ETA, 4)),
    "cd-common": CDDSGLD(FULL, MIXING, AWGN(3.0), Common(), ETA, Clipped(1.0)),
    "dsghmc": DSGHMC(FULL, MIXING, ETA, 5.0),
    "dsgd": DSGD(FULL, MIXING, ETA),
    "q-memory": QDSGD(FULL, MIXING, T, ETA, 0.3),
    "q-own-value": QDSGD(FULL, MIXING, T, ETA, 1.0, "own-value"),
    "q-zero-fill": QDSGD(FULL, MIXING, T, ETA, 1.0, "zero-fill"),
}
every = pytest.mark.parametrize("name", list(SAMPLERS))
ON_DEMAND = ("sgd", "sgld-tamed-polynomial", "cd-optimal-outage", "q-own-value", "q-zero-fill")
most = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in ON_DEMAND else name for name in SAMPLERS]
)


def start(seed: int = 0):
    return jax.random.normal(jax.random.key(seed), (AGENTS, PARAMS))


DATA = local_data()


def run(sampler, key, theta, steps: int = 3):
    state, info = sampler.init(theta), {}
    for _ in range(steps):
        state, info = sampler.step(key, state, DATA)
    return state, info


fast_run = eqx.filter_jit(run)


@most
def test_shapes_dtypes_and_step_count(name):
    sampler = SAMPLERS[name]
    before = sampler.init(start())
    after, info = fast_run(sampler, jax.random.key(1), start())
    assert jax.tree.map(lambda x: (x.shape, x.dtype), before) == jax.tree.map(lambda x: (x.shape, x.dtype), after)
    assert int(after.step) == 3
    assert all(value.shape == (AGENTS,) and bool(jnp.isfinite(value).all()) for value in info.values())
    assert bool(jnp.isfinite(after.theta).all())
    assert not bool(jnp.array_equal(after.theta, before.theta))


@every
def test_a_first_state_can_be_donated(name):
    """No two of its arrays share memory, which jax.jit(..., donate_argnums) refuses."""
    sampler = SAMPLERS[name]
    if hasattr(sampler, "faults"):
        faults = Faults(late=Late(0.1, 3), churn=None if name == "q-memory" else Churn(0.1, 5.0))
        sampler = dataclasses.replace(sampler, faults=faults)
    places = [leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(sampler.init(start()))]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("name", ["dsgld", "cd-common", "dsghmc", "q-memory"])
def test_theta_has_the_float_type_of_jax(name):
    sampler = SAMPLERS[name]
    assert sampler.init(start()).theta.dtype == jnp.float32
    with jax.enable_x64(True):
        before = sampler.init(start().astype(jnp.float32))
        after, _ = jax.eval_shape(sampler.step, jax.random.key(0), before, DATA)
    assert after.theta.dtype == before.theta.dtype == jnp.float64


@most
def test_jit_equals_no_jit(name):
    sampler, key = SAMPLERS[name], jax.random.key(1)
    plain, _ = run(sampler, key, start(), steps=1)
    jitted, _ = fast_run(sampler, key, start(), steps=1)
    np.testing.assert_allclose(plain.theta, jitted.theta, rtol=1e-5, atol=1e-6)
    assert compilations(lambda: sampler.step(key, plain, DATA)) == 0  # its inner loops are kept


def compilations(work: Callable[[], object]) -> int:
    found = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        found.append(event.endswith("backend_compile_duration"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        work()
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    return sum(found)


@most
def test_vmap_over_keys_and_starts_equals_a_loop(name):
    sampler = SAMPLERS[name]
    keys = jax.random.split(jax.random.key(3), 3)
    thetas = jnp.stack([start(i) for i in range(3)])
    together = eqx.filter_jit(jax.vmap(lambda key, theta: run(sampler, key, theta)[0].theta))(keys, thetas)
    for i in range(3):
        alone, _ = fast_run(sampler, keys[i], thetas[i])
        np.testing.assert_allclose(together[i], alone.theta, rtol=1e-5, atol=1e-6)


@most
def test_traced_once_for_all_steps(name):
    traces = 0

    @eqx.filter_jit
    def step(sampler, key, state, data):
        nonlocal traces
        traces += 1
        return sampler.step(key, state, data)

    state = SAMPLERS[name].init(start())
    for _ in range(3):
        state, _ = step(SAMPLERS[name], jax.random.key(0), state, DATA)
    assert traces == 1


@pytest.mark.parametrize("name", [name for name in SAMPLERS if name not in ("dsgd", "sgd")])  # they have no noise
def test_noise_depends_on_the_key_alone(name):
    sampler = SAMPLERS[name]
    first, _ = fast_run(sampler, jax.random.key(4), start())
    again, _ = fast_run(sampler, jax.random.key(4), start())
    other, _ = fast_run(sampler, jax.random.key(5), start())
    assert jnp.array_equal(first.theta, again.theta)
    assert not jnp.array_equal(first.theta, other.theta)
