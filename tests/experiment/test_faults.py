"""Fault settings: scenarios, what is refused, and that no setting means no change."""

import dataclasses
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from airbayes.errors import ConfigError
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import Cell, enumerate_cells, group_by_variant
from airbayes.experiment.config import (
    ChannelConfig,
    DigitalConfig,
    ExperimentConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.presets import preset
from airbayes.experiment.scenario import graph_name, own_settings, scenario_config
from airbayes.experiment.validate import find_problems
from airbayes.report.faults_figure import scenario_columns
from airbayes.samplers import CDDSGLD, Bursts, ClippingReceiver, LinkOutage

BASE = ExperimentConfig(
    methods=("dsgld", "cd_dsgld", "q_dsgd"),
    policies=("common",),
    problem=ProblemConfig(features=3, examples=6),
    network=NetworkConfig(topologies=("ring",)),
    channel=ChannelConfig(snr_db=(10.0,)),
    sampling=SamplingConfig(eta=5e-3, steps=40, burn_in=10, thin=3),
    digital=DigitalConfig(mode="own-value"),
)


def changed(network: dict | None = None, channel: dict | None = None, **fields) -> ExperimentConfig:
    return dataclasses.replace(
        BASE,
        network=dataclasses.replace(BASE.network, **(network or {})),
        channel=dataclasses.replace(BASE.channel, **(channel or {})),
        **fields,
    )


def sampler(config: ExperimentConfig, method: str, topology: str = "ring") -> Any:
    policy = "common" if method == "cd_dsgld" else None
    return Builder(config).sampler(Cell(method, policy, topology, None if method == "dsgld" else 10.0, 0))


def test_without_settings_there_is_nothing_to_simulate():
    for method in BASE.methods:
        made = sampler(BASE, method)
        assert made.outage is None
        assert made.faults is None
    assert sampler(BASE, "cd_dsgld").receiver is None
    assert find_problems(BASE) == []


def test_a_scenario_names_a_graph_and_its_rates():
    topology = "ring@link_outage=0.3,burst_length=20"
    assert graph_name(topology) == "ring"
    assert own_settings(topology) == {"link_outage": 0.3, "burst_length": 20.0}
    assert own_settings("folder@home/net.csv") == {}
    assert scenario_config(BASE, "ring@impulse_rate=0.1").channel.impulse_rate == 0.1
    for wrong in ("ring@", "ring@speed=3", "ring@late=often", "ring@late=0.1,late=0.2", "ring@late"):
        with pytest.raises(ConfigError, match="Example: ring@link_outage"):
            own_settings(wrong)


def test_scenarios_of_a_graph_share_graph_structure_and_noise():
    names = ("ring", "ring@link_outage=0.3,burst_length=20", "ring@away=0.2", "ring@impulse_rate=0.1")
    config = changed({"topologies": names})
    assert find_problems(config) == []
    plain, bursts = sampler(config, "cd_dsgld", names[0]), sampler(config, "cd_dsgld", names[1])
    assert isinstance(bursts.faults.bursts, Bursts)
    assert (float(plain.faults.bursts.probability), float(plain.channel.rate)) == (0.0, 0.0)
    assert float(bursts.faults.bursts.probability) == pytest.approx(0.3)
    assert float(bursts.faults.bursts.mean_length) == 20
    cells = group_by_variant(enumerate_cells(config))["dsgld"]
    assert len({cell.stream for cell in cells}) == 1


def test_settings_reach_the_samplers():
    assert sampler(changed({"link_outage": 0.2, "one_way": True}), "dsgld").outage.one_way
    assert isinstance(sampler(changed({"link_outage": 0.2}), "dsgld").outage, LinkOutage)
    made = sampler(changed({"late": 0.5, "staleness": 7, "attackers": 2, "attack": "flip"}), "q_dsgd")
    assert int(made.faults.late.staleness) == 7
    assert (made.faults.attack.kind, made.faults.attack.attackers) == ("flip", 2)
    doubting = sampler(changed(channel={"receiver": "clip", "receiver_limit": 4.0}), "cd_dsgld")
    assert isinstance(doubting, CDDSGLD)
    assert isinstance(doubting.receiver, ClippingReceiver)
    jammed = changed(channel={"jammed": 2, "jam_rate": 0.25, "jam_power": 9.0})
    channel = sampler(jammed, "cd_dsgld").channel
    assert (float(channel.rate), float(channel.ratio), float(channel.jammed)) == (0.25, 9.0, 2.0)
    assert float(sampler(jammed, "q_dsgd").outage.jammed) == 2.0
    assert sampler(jammed, "dsgld").outage is None  # ideal links have no receiver to jam
    hot = Builder(changed(channel={"impulse_rate": 0.1}))
    assert hot.exact_law(Cell("cd_dsgld", "common", "ring", 10.0, 0)) is None


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (changed({"link_outage": 1.0}), "network.link_outage = 1.0 must be at least 0 and below 1"),
        (changed({"late": 1.5}), "network.late = 1.5"),
        (changed({"away": 0.9, "away_length": 2.0}), "network.away_length = 2.0 must be at least 9 steps"),
        (changed({"link_outage": 0.5, "burst_length": 0.5}), "network.burst_length = 0.5 must be at least 1 steps"),
        (changed({"attackers": 5}), "network.attackers = 5 must be at least 0 and at most 4"),
        (changed({"burst_length": 5.0}), "network.burst_length is set but no link ever fails"),
        (
            changed({"topologies": ("ring@burst_length=20", "ring@link_outage=0.3")}),
            "ring@burst_length=20: network.burst_length = 20 changes nothing while network.link_outage is 0",
        ),
        (changed({"attack_rate": 0.1}), "network.attack_rate = 0.1 changes nothing while network.attackers is 0"),
        (changed({"topologies": ("ring@attack_rate=1",)}), "ring@attack_rate=1: network.attack_rate = 1 changes"),
        (changed(channel={"jam_rate": 0.3}), "channel.jam_rate = 0.3 changes nothing while channel.jammed is 0; set"),
        (changed({"topologies": ("ring@jam_rate=0.3",)}), "ring@jam_rate=0.3: channel.jam_rate = 0.3 changes nothing"),
        (changed(channel={"gain_std": 0.1}, methods=("dsgld",)), "channel.gain_std acts on sums over the air"),
        (changed({"one_way": True}), "network.one_way is set but no link ever fails"),
        (changed({"away": 0.1}, digital=DigitalConfig()), "'memory' assumes that every message arrives"),
        (changed({"topologies": ("ring@away=2",)}), "ring@away=2: network.away = 2.0"),
        (changed({"topologies": ("ring@speed=2",)}), "'speed' is not one of"),
        (changed({"topologies": ("net.csv@away=0.2",)}), "an edge list cannot carry fault rates"),
        (changed(channel={"impulse_rate": 0.1}, methods=("dsgld", "q_dsgd")), "channel.impulse_rate acts on"),
        (changed(channel={"receiver": "test"}, methods=("dsgld",)), "channel.receiver = 'test' acts on sums"),
        (changed({"away": 0.1}, methods=("sgld",)), "no method uses one"),
        (changed(channel={"jammed": 6}), "channel.jammed = 6 must be at least 0 and at most 5"),
        (changed(channel={"jammed": 1}, digital=DigitalConfig()), "'memory' assumes that every message arrives"),
        (changed(channel={"jammed": 1}, methods=("dsgld",)), "channel.jammed names receivers of a radio"),
        (changed(channel={"impulse_rate": float("nan")}), "channel.impulse_rate = nan"),
    ],
)
def test_nonsense_is_refused_with_its_number(config, complaint):
    assert any(complaint in problem for problem in find_problems(config)), find_problems(config)


def test_a_rate_of_zero_and_lengths_of_bursts_for_some_scenarios_are_fine():
    idle = changed({"topologies": ("ring@jam_rate=0,attack_rate=0",), "attack_rate": 0.0}, channel={"jam_rate": 0.0})
    bursts = changed({"topologies": ("ring", "ring@link_outage=0.3"), "burst_length": 20.0})
    assert find_problems(idle) == find_problems(bursts) == []


def test_the_memory_mode_may_have_late_and_lying_agents():
    config = changed({"late": 0.5, "attackers": 1}, digital=DigitalConfig())
    assert find_problems(config) == []


def test_the_preset_is_valid_and_its_figure_has_a_column_per_fault():
    import xarray as xr

    config = preset("faults")
    assert find_problems(config) == []
    columns = scenario_columns(xr.Dataset(coords={"topology": list(config.network.topologies)}))
    assert [column[1:] for column in columns] == [
        ("link_outage", ""),
        ("link_outage", "burst_length 200"),
        ("away", ""),
        ("late", ""),
        ("attack_rate", ""),
        ("impulse_rate", ""),
        ("jam_rate", ""),
    ]
    assert all(next(iter(rates.items())) == (0.0, "ring") for rates in columns.values())


SHARDED = """
import sys
import jax, jax.numpy as jnp, numpy as np, equinox as eqx
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from airbayes import network
from airbayes.channel import AWGN, ImpulsiveNoise
from airbayes.network import build_mixing
from airbayes.power import Common
from airbayes.samplers import CDDSGLD, Attack, Bursts, Churn, ClippingReceiver, Faults, Late

AGENTS = 4
gradient = lambda keys, theta, data: theta - data
data = jax.random.normal(jax.random.key(0), (AGENTS, 5))
faults = Faults(Bursts(0.3, 4.0, True), Churn(0.2, 6.0), Late(0.5, 3), Attack(0.2, 1.0, "random"))
channel = ImpulsiveNoise(AWGN(8.0), 0.1, 50.0)
sampler = CDDSGLD(gradient, build_mixing(network.ring(AGENTS)), channel, Common(), 1e-2, faults=faults,
                  receiver=ClippingReceiver(4.0))

@eqx.filter_jit
def run(sampler, state, data):
    step = lambda state, _: (sampler.step(jax.random.key(2), state, data)[0], None)
    return jax.lax.scan(step, state, None, length=40)[0]

results = []
for devices in (1, 4):
    mesh = jax.make_mesh((devices,), ("agents",), axis_types=(AxisType.Auto,), devices=jax.devices()[:devices])
    rows, whole = NamedSharding(mesh, PartitionSpec("agents")), NamedSharding(mesh, PartitionSpec())
    place = lambda leaf: jax.device_put(leaf, rows if leaf.ndim and leaf.shape[0] == AGENTS else whole)
    state = jax.tree.map(place, sampler.init(data))
    out = run(jax.tree.map(lambda x: place(x) if eqx.is_array(x) else x, sampler), state, place(data))
    assert len(out.theta.sharding.device_set) == devices
    results.append([np.asarray(leaf) for leaf in jax.tree.leaves(out)])
sys.exit(0 if all(np.array_equal(a, b) for a, b in zip(*results)) else 1)
"""


def test_sharding_the_agents_changes_no_fault():
    """Four virtual CPU devices, so in a process of its own."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SHARDED], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_study_of_scenarios_runs_and_reports_partitions():
    from airbayes.experiment.grid import run_grid
    from airbayes.experiment.reporter import Silent

    names = ("ring", "ring@link_outage=0.6,burst_length=10", "ring@away=0.3")
    results = run_grid(changed({"topologies": names}, methods=("dsgld",)), Silent())
    scalars = {result.cell.topology: result.metrics.scalars for result in results if result.metrics is not None}
    assert scalars["ring"]["split_mean"] == 0
    assert 0.5 < scalars[names[1]]["split_mean"] <= 1
    assert all(np.isfinite(scalars[name]["w2_agent"]) for name in names)
