"""`--dry-run`: what an experiment would do, predicted from its configuration alone."""

import math

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from airbayes.cli.fitted_table import print_fitted
from airbayes.cli.plan_tables import decibels, eigenvalue_text, from_to, weight_text
from airbayes.cli.progress import can_draw
from airbayes.experiment.build import MAX_LAW, Builder, top_t_of
from airbayes.experiment.cells import Cell, enumerate_cells, group_by_variant
from airbayes.experiment.config import RADIO_METHODS, ExperimentConfig
from airbayes.experiment.engines.options import EngineOptions, parse_shard
from airbayes.experiment.engines.units import share_of, too_few_units, units_of
from airbayes.experiment.kept import kept_samples, storage_note
from airbayes.experiment.memory import BatchMemory, memory_of_batches, memory_of_builder, peak
from airbayes.experiment.plan import Setting, plan_graph
from airbayes.experiment.scenario import graph_name
from airbayes.experiment.shown import shown_agents
from airbayes.network import Graph
from airbayes.power import norm_cap
from airbayes.text import plural, printable, true_minus


def print_plan(config: ExperimentConfig, engine: EngineOptions, console: Console, progress: Console) -> None:
    """What takes seconds comes first. No object is simulated: how many there are is known from the configuration."""
    builder = Builder(config, only_shapes=True)
    _print_transitions(builder, console)
    if "q_dsgd" in config.methods:
        _print_top_t(builder, console)
    groups = group_by_variant(_cells_of(config, engine, console))
    if not groups:
        return
    together = [cells[: config.cells_per_batch or len(cells)] for cells in groups.values()]
    with progress.status(Text("")) as status:
        batches = memory_of_batches(
            builder, together, lambda text: _say(status, progress, f"{config.name}: {text} ...")
        )
    _print_cells(builder, engine, groups, batches, console)


def _cells_of(config: ExperimentConfig, engine: EngineOptions, console: Console) -> list[Cell]:
    """All, or those of the shard, with a line that says which part of the predictions is whose."""
    cells = enumerate_cells(config)
    if engine.shard is None:
        return cells
    index, count = parse_shard(engine.shard)
    units = units_of(config)
    mine = [cells[place] for unit in share_of(units, index, count) for place in unit.cells]
    if warning := too_few_units(config, len(units), count):
        console.print(warning, markup=False)
    text = f"Shard {engine.shard} computes {len(mine):,} of {plural(len(cells), 'cell')}"
    console.print(f"{text}; the tables above are of the whole experiment.\n", markup=False)
    return mine


def _say(status: Status, progress: Console, text: str) -> None:
    """On a terminal each text takes the place of the one before."""
    if can_draw(progress):
        status.update(Text(printable(text, 200)))
    else:
        progress.print(printable(text, 200))


def _print_cells(
    builder: Builder,
    engine: EngineOptions,
    groups: dict[str, list[Cell]],
    batches: list[BatchMemory],
    console: Console,
) -> None:
    config = builder.config
    title = f"{config.name}{'' if engine.shard is None else f', shard {engine.shard}'}: cells"
    table = Table("method", "cells", "chains", "steps", "samples kept", "held", "workspace", title=title)
    sampling = config.sampling
    kept = kept_samples(config)
    for (variant, cells), memory in zip(groups.items(), batches, strict=True):
        table.add_row(
            variant,
            str(len(cells)),
            str(sampling.chains),
            f"{sampling.steps:,}",
            f"{kept:,} a chain",
            f"{memory.held / 1e6:,.1f} MB",
            f"{memory.workspace / 1e6:,.1f} MB",
        )
    print_fitted(table, console)
    if note := storage_note(config):
        console.print(note, markup=False)
    ahead = not config.cells_per_batch and engine.shard is None and not engine.on_cluster  # else one unit at a time
    beside = ", each method beside the next one, which is compiled meanwhile" if ahead and len(batches) > 1 else ""
    most = peak(batches, memory_of_builder(builder), ahead)
    console.print(
        f"Memory{' of a worker' if engine.on_cluster else ''} at most {most / 1e6:,.1f} MB{beside}; "
        "Python, JAX and its compiler take about 500 MB more."
    )
    agents, params, shown = config.network.agents, builder.problem.model.num_params, len(shown_agents(config))
    console.print(f"m = {params:,} parameters, N = {plural(agents, 'agent')}.")
    if shown < agents:
        console.print(f"{shown:,} of the agents, evenly spread, are stored one by one.")
    if config.problem.kind == "linear" and agents * params > MAX_LAW:
        console.print(f"No exact laws of the samplers: N·m = {agents * params:,} is above {MAX_LAW}.")


def _print_transitions(builder: Builder, console: Console) -> None:
    """Where the power limit begins to bite: SNR ≥ w² rms(θ)²/(2η)."""
    config = builder.config
    if config.sampling.schedule != "constant":
        console.print("Predictions below are for the first step size; it changes during the run.")
    rms, source = builder.problem.typical_rms(config.first_seed)
    setting = Setting(config.sampling.eta, builder.problem.model.num_params, rms, digital=config.digital)
    sizes = ("1",) if f"{rms:.2f}" == "1.00" else ("1", f"{rms:.2f}")
    table = Table(
        "topology",
        "weight w",
        "2nd |eigenvalue|",
        *(f"transition, rms(θ) = {size}" for size in sizes),
        title="Power limit: above the transition SNR a typical θ is sent at full gain",
    )
    caps = Table(
        "topology",
        *(true_minus(f"{snr:g} dB") for snr in config.channel.snr_db),
        title="Norm cap, the largest rms(θ) sent at full gain",
    )
    for name, (topology, graph) in _distinct(builder).items():
        plan = plan_graph(name, graph, builder.edge_weight(topology), setting)
        w = plan.edge_weight
        if math.isnan(w):
            table.add_row(name, "per link", "", *("needs one weight" for _ in sizes))
            continue
        transitions = (plan.transition_unit_db, plan.transition_db)[: len(sizes)]
        table.add_row(name, weight_text(w), eigenvalue_text(plan.second_eigenvalue), *map(decibels, transitions))
        caps.add_row(name, *(f"{norm_cap(w, config.sampling.eta, snr):.2g}" for snr in config.channel.snr_db))
    print_fitted(table, console)
    if builder.simulated.any_fault:
        console.print("Faults are not in this table nor in those below: they are of networks in which all goes well.")
    console.print(f"rms(θ) = {sizes[-1]} is that of {source}.\n")
    if set(config.methods) & set(RADIO_METHODS) and caps.row_count:
        print_fitted(caps, console)
        console.print()


def _distinct(builder: Builder) -> dict[str, tuple[str, Graph]]:
    """Every graph once, with one of its topologies: scenarios of one graph differ in their faults alone."""
    found: dict[str, tuple[str, Graph]] = {}
    for topology, graph in builder.graphs.items():
        found.setdefault(graph_name(topology), (topology, graph))
    return found


def _print_top_t(builder: Builder, console: Console) -> None:
    config, params = builder.config, builder.problem.model.num_params
    table = Table(
        "topology",
        *(true_minus(f"{snr:g} dB") for snr in config.channel.snr_db),
        title="Q-DSGD: t, coordinates per block",
    )
    for name, (_, graph) in _distinct(builder).items():
        row = []
        for snr in config.channel.snr_db:
            values = top_t_of(config, graph, params, snr)
            row.append(from_to(int(values.min()), int(values.max())))
        table.add_row(name, *row)
    print_fitted(table, console)
    one_stops_all = config.digital.mode == "memory" and config.digital.consensus_step == 0
    then = (
        "with the consensus step min t/m one such agent leaves all alone" if one_stops_all else "the agent is not heard"
    )
    console.print(f"t = 0 means that not one coordinate fits into a block: {then}.\n")
