"""Agents split over four virtual devices, in a process of its own: what travels, and that nothing changes."""

import os
import subprocess
import sys

import pytest

SPLIT = """
import dataclasses, re
import jax, jax.numpy as jnp, numpy as np
from airbayes.experiment import loop as loops
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import enumerate_cells, group_by_variant
from airbayes.experiment.config import *
from airbayes.experiment.ready import prepare
from airbayes.experiment.sharding import collect, make_mesh

mesh = make_mesh(jax.devices())
plain = ExperimentConfig(
    methods=("cd_dsgld",), policies=("common",), evaluations=1,
    problem=ProblemConfig(examples=2), network=NetworkConfig(agents=64, topologies=("ring",)),
    channel=ChannelConfig(snr_db=(10.0,)), sampling=SamplingConfig(steps=20, burn_in=10, start="independent"),
)
faulty = dataclasses.replace(
    plain, methods=("q_dsgd",), digital=DigitalConfig(mode="own-value"),
    network=dataclasses.replace(plain.network, link_outage=0.2, burst_length=3.0, away=0.1, late=0.2, attackers=1),
)
for name, config in (("plain", plain), ("faulty", faulty)):
    [cells] = group_by_variant(enumerate_cells(config)).values()
    thetas = []
    for where in (None, mesh):
        ready = prepare(Builder(config, where), cells)
        if where is not None and name == "plain":
            text = loops._advance_donating.lower(
                (ready.loop, ready.batch, jnp.int32(0), jnp.int32(20)), ready.carry
            ).compile().compiled.as_text()
            shapes = re.findall(r"= f32\\[([0-9,]*)\\]\\S* (all-gather|collective-permute|all-to-all)", text)
            sizes = {(kind, int(np.prod([int(n) for n in shape.split(",")]))) for shape, kind in shapes}
            print("travels", sorted(sizes))
        carry = ready.loop.advance(ready.batch, ready.carry, 0, 20)
        assert where is None or len(carry.state.theta.sharding.device_set) == 4
        assert where is None or not carry.state.theta.is_fully_replicated
        thetas.append(collect(carry).state.theta)
    print(name, "equal" if np.array_equal(*thetas) else np.abs(thetas[0] - thetas[1]).max())
"""


@pytest.mark.long
def test_four_devices_exchange_the_rim_alone_and_change_no_bit():
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, "-c", SPLIT]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # A row is four parameters and the gain; of 64 rows, one goes either way.
    assert done.stdout.splitlines() == ["travels [('collective-permute', 5)]", "plain equal", "faulty equal"]
