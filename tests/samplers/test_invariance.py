"""A result does not depend on how the run is cut, resumed, sharded or batched."""

import dataclasses
import itertools
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.experiment.build import Builder
from airbayes.experiment.cells import enumerate_cells, group_by_variant
from airbayes.experiment.config import ChannelConfig, ExperimentConfig, NetworkConfig, ProblemConfig, SamplingConfig
from airbayes.experiment.ready import make_batch, make_loop

STEPS = 60
CONFIG = ExperimentConfig(
    methods=("sgld", "dsgld", "dsghmc", "dsgd", "cd_dsgld", "q_dsgd"),
    policies=("optimal", "truncated", "common"),
    seeds=2,
    problem=ProblemConfig(features=3, examples=6),
    network=NetworkConfig(topologies=("full", "star", "ring"), link_outage=0.1),
    channel=ChannelConfig(snr_db=(5.0, 25.0)),
    sampling=SamplingConfig(eta=5e-3, steps=STEPS, burn_in=10, thin=3, chains=2, batch_size=4),
)
BUILDER = Builder(CONFIG)
EVERY_LINK = dataclasses.replace(CONFIG, network=dataclasses.replace(CONFIG.network, link_outage=0.0))
ARRIVES = Builder(EVERY_LINK)  # Q-DSGD's memory needs every message
GROUPS = group_by_variant(enumerate_cells(CONFIG))
FIRST = ("cd_dsgld:optimal", "q_dsgd", "dsghmc")  # every kind of state; the others on demand
variants = pytest.mark.parametrize(
    "variant", [name if name in FIRST else pytest.param(name, marks=pytest.mark.long) for name in GROUPS]
)


def run(cells, cuts, through_host: bool = False):
    """The carry after STEPS steps, cut at the given places; optionally saved to numpy and back at each cut."""
    batch, theta = make_batch(ARRIVES if cells[0].method == "q_dsgd" else BUILDER, cells)
    loop = make_loop(CONFIG)
    carry = loop.start(batch, theta)
    edges = [0, *cuts, STEPS]
    for begin, end in itertools.pairwise(edges):
        carry = loop.advance(batch, carry, begin, end)
        if through_host:
            carry = jax.tree.map(lambda leaf: jnp.asarray(np.array(leaf)), carry)
    return carry


def assert_bitwise(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert np.array_equal(np.asarray(x), np.asarray(y), equal_nan=True)


@variants
def test_chunking_and_resuming_change_no_bit(variant):
    cells = GROUPS[variant]
    whole = run(cells, [])
    assert np.isfinite(np.asarray(whole.state.theta)).all()
    assert_bitwise(whole, run(cells, [7, 23]))
    assert_bitwise(whole, run(cells, [1, 30, 31], through_host=True))


@variants
def test_cells_together_equal_cells_alone(variant):
    cells = GROUPS[variant]
    together = run(cells, [])
    for index in (0, len(cells) - 1):
        alone = run([cells[index]], [])
        for x, y in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(np.asarray(x)[index], np.asarray(y)[0], rtol=2e-4, atol=2e-5)


def test_a_cells_noise_does_not_depend_on_the_rest_of_the_grid():
    few = ExperimentConfig(**{**CONFIG.__dict__, "methods": ("cd_dsgld",), "policies": ("common",)})
    cell = enumerate_cells(few)[3]
    assert cell in enumerate_cells(CONFIG)
    assert len({c.stream for c in enumerate_cells(CONFIG) if c.seed == 0}) == len(enumerate_cells(CONFIG)) // 2


def test_a_run_is_compiled_once(monkeypatch):
    """Counted where the sampler is traced: once for the shapes of its report, once for the program of all chunks."""
    from airbayes.samplers import DSGLD

    traces, real = [], DSGLD.step

    def counting(self, key, state, data):
        traces.append(1)
        return real(self, key, state, data)

    monkeypatch.setattr(DSGLD, "step", counting)
    run(GROUPS["dsgld"][:3], [5, 11, 40])  # three cells are a shape no other test compiles
    assert len(traces) == 2


SHARDED = """
import sys
import jax, jax.numpy as jnp, numpy as np, equinox as eqx
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from airbayes import network
from airbayes.channel import AWGN
from airbayes.models import FullGradient, GaussianPrior, LinearRegression, Posterior, stack_agents
from airbayes.network import build_mixing
from airbayes.power import Common, Optimal, Truncated
from airbayes.samplers import CDDSGLD, DSGHMC, DSGLD, LinkOutage

AGENTS, PARAMS = 8, 5
assert jax.device_count() == 8, jax.devices()
rng = np.random.default_rng(0)
inputs = rng.normal(size=(AGENTS, 6, PARAMS)).astype(np.float32)
data = stack_agents(list(inputs), list(rng.normal(size=(AGENTS, 6)).astype(np.float32)))
gradient = FullGradient(Posterior(LinearRegression(PARAMS).log_likelihood, GaussianPrior(), AGENTS))
theta = jax.random.normal(jax.random.key(1), (AGENTS, PARAMS))

def samplers(graph):
    mixing = build_mixing(graph)
    yield "dsgld", DSGLD(gradient, mixing, 1e-2, outage=LinkOutage(0.2))
    yield "dsghmc", DSGHMC(gradient, mixing, 1e-2, 5.0)
    for policy in (Optimal(), Truncated(), Common()) if graph.name == "star" else (Common(),):
        yield type(policy).__name__, CDDSGLD(gradient, mixing, AWGN(8.0), policy, 1e-2)

@eqx.filter_jit
def run(sampler, state, data):
    step = lambda state, _: (sampler.step(jax.random.key(2), state, data)[0], None)
    return jax.lax.scan(step, state, None, length=50)[0]

for graph in (network.ring(AGENTS), network.star(AGENTS)):
    for name, sampler in samplers(graph):
        results = {}
        for devices in (1, 2, 8):
            mesh = jax.make_mesh((devices,), ("agents",), axis_types=(AxisType.Auto,), devices=jax.devices()[:devices])
            rows, whole = NamedSharding(mesh, PartitionSpec("agents")), NamedSharding(mesh, PartitionSpec())
            place = lambda leaf: jax.device_put(leaf, rows if leaf.ndim and leaf.shape[0] == AGENTS else whole)
            state, local, placed = (jax.tree.map(place, t) for t in (sampler.init(theta), data, sampler))
            out = run(placed, state, local)
            assert len(out.theta.sharding.device_set) == devices
            results[devices] = np.asarray(jax.block_until_ready(out.theta))
        for devices in (2, 8):
            same = np.array_equal(results[1], results[devices])
            print(graph.name, name, devices, "equal" if same else np.abs(results[1] - results[devices]).max())
            if not same:
                sys.exit(1)
"""


@pytest.mark.long
def test_sharding_agents_over_devices_changes_no_bit():
    """Eight virtual CPU devices, so in a process of its own; 1, 2 and 8 of them hold the agents."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SHARDED], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("equal") == (3 + 5) * 2
