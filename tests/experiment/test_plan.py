"""The plan against numbers worked out by hand, against the functions that a run uses, and against a run."""

import dataclasses
import math

import numpy as np
import pytest

from airbayes.errors import ConfigError, GraphError
from airbayes.experiment.config import (
    ChannelConfig,
    DigitalConfig,
    ExperimentConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.grid import run_grid
from airbayes.experiment.plan import Setting, plan_graph, plan_point
from airbayes.experiment.plan_links import Radio, link_budget, link_distances, read_positions
from airbayes.experiment.reporter import Silent
from airbayes.network import best_constant, by_name, from_edges, full, ring, star

PAPER = Setting()  # η = 1e-4, 40,855 parameters, rms 1, start 0.12


def plan(graph, snr_db, setting=PAPER):
    facts = plan_graph(graph.name, graph, best_constant(graph), setting)
    return facts, plan_point(facts, graph, snr_db, setting)


@pytest.mark.parametrize(
    ("graph", "weight", "self_weight", "second", "transition"),
    [(full(5), 1 / 5, 1 / 5, 0, 23.0), (ring(5), 2 / 5, 1 / 5, 0.447, 29.0), (star(5), 1 / 3, -1 / 3, 0.667, 27.4)],
)
def test_graphs_of_the_paper(graph, weight, self_weight, second, transition):
    facts, _ = plan(graph, 0.0)
    assert facts.edge_weight == pytest.approx(weight)
    assert facts.least_self_weight == pytest.approx(self_weight)
    assert facts.second_eigenvalue == pytest.approx(second, abs=1e-3)
    assert facts.spectral_gap == 1 - facts.second_eigenvalue
    assert facts.transition_db == pytest.approx(transition, abs=0.05)


@pytest.mark.parametrize(
    ("graph", "snr_db", "paper", "common"),
    [
        (full(5), 0.0, "collapse", "slower mixing"),
        (full(5), 10.0, "power-limited", "slower mixing"),
        (full(5), 23.1, "exact", "exact"),
        (ring(5), 10.0, "collapse", "slower mixing"),
        (ring(5), 15.0, "power-limited", "slower mixing"),
        (ring(5), 28.9, "power-limited", "slower mixing"),
        (star(5), 30.0, "exact", "exact"),
    ],
)
def test_regimes_where_pointnets_were_seen_in_them(graph, snr_db, paper, common):
    facts, point = plan(graph, snr_db)
    assert (point.paper, point.common) == (paper, common)
    assert (point.paper == "exact") == (snr_db >= facts.transition_db)


def test_the_common_gain_mixes_like_its_smaller_weight():
    facts, point = plan(ring(5), 19.0)
    assert point.gain == pytest.approx(point.cap)  # rms 1
    eigenvalues = np.linalg.eigvalsh(np.eye(5) - point.gain * facts.edge_weight * ring(5).laplacian())
    assert point.common_second_eigenvalue == pytest.approx(np.sort(np.abs(eigenvalues))[-2])


@pytest.mark.parametrize(
    ("graph", "snr_db", "top_t"),
    [(full(5), 0.0, (614, 614)), (ring(5), 20.0, (1468, 1468)), (star(5), 10.0, (748, 2467))],
)
def test_coordinates_of_the_digital_scheme(graph, snr_db, top_t):
    _, point = plan(graph, snr_db)
    assert point.top_t == top_t
    assert point.consensus_step == pytest.approx(top_t[0] / 40_855)
    # What fits: one more coordinate is about log2(m/t) + 10 bits, at most 17 for each of the five agents.
    room = sum(40_855 * math.log2(1 + 1 / (degree + 10 ** (-snr_db / 10))) for degree in graph.degrees)
    assert room - 5 * 17 < point.q_dsgd_cost.bits <= room


def test_a_small_model_at_low_snr_is_silent():
    _, point = plan(ring(5), -10.0, dataclasses.replace(PAPER, num_params=30))
    assert (point.top_t, point.q_dsgd) == ((0, 0), "silent")
    assert (point.q_dsgd_cost.bits, point.q_dsgd_cost.energy_j) == (0, 0)  # nothing is sent
    assert point.over_the_air.energy_j > 0


def test_costs_by_hand():
    setting = dataclasses.replace(PAPER, num_params=1000, bandwidth_hz=1e5, tx_dbm=30.0)
    facts, low = plan(full(5), 0.0, setting)
    assert (low.over_the_air.uses, low.over_the_air.latency_s) == (1000, pytest.approx(0.01))
    assert low.over_the_air.energy_j == pytest.approx(5 * 1.0 * 0.01)  # at the limit all power is used
    _, high = plan(full(5), facts.transition_db + 10, setting)
    assert high.over_the_air.energy_j == pytest.approx(5 * 0.01 / 10)
    # 5 agents × 1000 parameters × 10 bits at log2(1 + 1) = 1 bit a use
    assert low.one_by_one.uses == pytest.approx(50_000)
    assert low.one_by_one.energy_j == pytest.approx(0.5)
    finer = dataclasses.replace(setting, digital=DigitalConfig(value_bits=20))
    assert plan(full(5), 0.0, finer)[1].one_by_one.uses == pytest.approx(100_000)


def test_the_prediction_of_a_run():
    """Of a linear problem the plan says which gains a run will have: all 1 well above the transition, near ρ below."""
    config = ExperimentConfig(
        methods=("cd_dsgld",),
        policies=("common",),
        evaluations=1,
        problem=ProblemConfig(kind="linear", features=4, examples=20),
        network=NetworkConfig(topologies=("ring",)),
        channel=ChannelConfig(snr_db=(10.0, 30.0)),
        sampling=SamplingConfig(eta=5e-4, steps=600, burn_in=300),
    )
    low, high = (result.metrics for result in run_grid(config, Silent()))
    assert low is not None
    assert high is not None
    setting = Setting(5e-4, 4, high.scalars["rms"])
    _, below = plan(ring(5), 10.0, setting)
    _, above = plan(ring(5), 30.0, setting)
    assert (below.common, above.common) == ("slower mixing", "exact")
    assert high.scalars["rho_mean"] == 1.0
    assert low.scalars["rho_mean"] == pytest.approx(below.gain, rel=0.2)


def test_links_of_a_geometry(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("agent,x,y\n1,300,0\n0,0,0  # here\n2,300,400\n")
    positions = read_positions(path)
    graph = from_edges([(0, 1), (1, 2), (0, 2)])
    distances = link_distances(graph, positions)
    np.testing.assert_allclose(distances, [300, 500, 400])
    budget = link_budget(distances, Radio(path_loss="log-distance", exponent=3.0))
    assert budget.weakest == 1
    assert budget.snr_db[0] - budget.snr_db[1] == pytest.approx(30 * math.log10(500 / 300))
    with pytest.raises(GraphError, match="3 positions and the graph 5 agents, counted from 0; add agents 3 to 4"):
        link_distances(by_name("ring", 5, seed=0), positions)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0,1\n", "line 1: expected agent,x,y"),
        ("0,1,2\n0,3,4\n", "agent 0 has a position already"),
        ("0,1,2\n2,3,4\n", "no position of agent 1"),
        ("0,1,inf\n", "line 1"),
        ("0,1,2\n1,2,3,4\n", "two coordinates"),
        ("", "no position of agent 0"),
    ],
)
def test_bad_geometries_are_named(text, says, tmp_path):
    path = tmp_path / "places.csv"
    path.write_text(text)
    with pytest.raises(GraphError, match=says):
        read_positions(path)


def test_weights_of_each_link_are_not_called_exact():
    facts = plan_graph("ring", ring(5), math.nan, PAPER)
    assert math.isnan(facts.transition_db)
    with pytest.raises(ConfigError, match="ring: links with weights of their own cannot be planned"):
        plan_point(facts, ring(5), 10.0, PAPER)


def test_impossible_settings_are_all_named():
    facts, _ = plan(ring(5), 0.0)
    with pytest.raises(ConfigError) as error:
        plan_point(facts, ring(5), 1e4, dataclasses.replace(PAPER, eta=0.0, rms=-1.0, bandwidth_hz=math.nan))
    assert len(error.value.problems) == 4
