"""What `airbayes plan` computes: every graph, its links, every SNR, and all of it as JSON."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from airbayes.errors import AirbayesError, ConfigError, GraphError

if TYPE_CHECKING:
    from airbayes.cli.plan import PlanOptions
    from airbayes.experiment.plan import GraphPlan, PointPlan
    from airbayes.experiment.plan_links import LinkBudget
    from airbayes.network import Graph


def make_plan(
    names: tuple[str, ...], options: "PlanOptions"
) -> "tuple[list[GraphPlan], list[PointPlan], dict[str, LinkBudget], dict]":
    from airbayes.experiment.build import build_graph
    from airbayes.experiment.config import DigitalConfig, ExperimentConfig, NetworkConfig
    from airbayes.experiment.plan import Setting, check_setting, plan_graph, plan_point
    from airbayes.experiment.scenario import graph_name
    from airbayes.network import check_connected
    from airbayes.network.weights import resolve

    setting = Setting(
        options.eta,
        options.params,
        options.rms,
        options.start_rms,
        options.bandwidth_hz,
        options.tx_dbm,
        DigitalConfig(value_bits=options.value_bits),
    )
    check_setting(setting, 0.0)
    config = ExperimentConfig(network=NetworkConfig(agents=options.agents, graph_seed=options.graph_seed))
    graphs, points, budgets = [], [], {}
    for name in dict.fromkeys(names):
        if graph_name(name) != name:
            raise ConfigError(
                f"{name!r}: a plan knows no faults. Plan {graph_name(name)}; docs/faults.md has what faults do to it."
            )
        graph = build_graph(config, name)
        if not graph.num_edges:
            raise GraphError(
                f"{name} has {graph.num_agents} agent and no links: there is nothing to plan. Use --agents."
            )
        check_connected(graph)
        weight = resolve(graph, options.weights)
        plan = plan_graph(name, graph, float(weight), setting)
        graphs.append(plan)
        budget = _budget(name, graph, options)
        if budget is None:
            snrs = options.snr_db or (0.0, 10.0, 20.0, 30.0)
        else:
            budgets[name] = budget
            snrs = (float(budget.snr_db[budget.weakest]),)
        points += [plan_point(plan, graph, snr, setting) for snr in snrs]
    return graphs, points, budgets, _facts(options, graphs, points, budgets)


def _budget(name: str, graph: "Graph", options: "PlanOptions") -> "LinkBudget | None":
    import numpy as np

    from airbayes.experiment.plan_links import Radio, link_budget, link_distances, read_positions

    if options.geometry is not None:
        distances = link_distances(graph, read_positions(options.geometry), name, str(options.geometry))
    elif options.side_m is not None:
        if graph.positions is None:
            raise AirbayesError(f"{name} has no positions for --side-m; use random_geometric, or --geometry FILE.csv.")
        distances = link_distances(graph, options.side_m * graph.positions, name)
    elif options.distance_m is not None:
        distances = np.full(graph.num_edges, options.distance_m)
    else:
        return None
    radio = Radio(
        options.tx_dbm,
        options.bandwidth_hz,
        options.noise_figure_db,
        options.carrier_hz,
        options.antenna_gain_db,
        options.path_loss,
        options.exponent,
    )
    return link_budget(distances, radio)


def _facts(
    options: "PlanOptions",
    graphs: "list[GraphPlan]",
    points: "list[PointPlan]",
    budgets: "dict[str, LinkBudget]",
) -> dict:
    """The plan as strict JSON: what is not known or not finite is null."""
    links = {
        name: {
            "noise_dbm": budget.noise_dbm,
            "distance_m": budget.distance_m.tolist(),
            "loss_db": budget.loss_db.tolist(),
            "snr_db": budget.snr_db.tolist(),
        }
        for name, budget in budgets.items()
    }
    asked = {name: value for name, value in dataclasses.asdict(options).items() if name not in ("json", "debug", "out")}
    return _finite(
        {
            "options": asked
            | {
                "snr_db": list(options.snr_db or ()),
                "geometry": None if options.geometry is None else str(options.geometry),
            },
            "graphs": [dataclasses.asdict(plan) | {"spectral_gap": plan.spectral_gap} for plan in graphs],
            "points": [dataclasses.asdict(point) for point in points],
            "links": links,
        }
    )


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
