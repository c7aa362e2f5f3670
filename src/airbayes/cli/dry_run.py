"""`--dry-run`: what an experiment would do, predicted from its configuration alone."""

import math

from rich.console import Console
from rich.table import Table

from airbayes.cli.fitted_table import print_fitted
from airbayes.experiment.build import MAX_LAW, Builder, top_t_of
from airbayes.experiment.cells import enumerate_cells, group_by_variant
from airbayes.experiment.config import RADIO_METHODS, ExperimentConfig
from airbayes.experiment.kept import kept_samples, storage_note
from airbayes.experiment.memory import memory_of_batch, memory_of_builder, peak
from airbayes.experiment.plan import Setting, plan_graph
from airbayes.experiment.shown import shown_agents
from airbayes.power import norm_cap
from airbayes.text import plural


def print_plan(config: ExperimentConfig, console: Console) -> None:
    builder = Builder(config)
    _print_cells(builder, console)
    _print_transitions(builder, console)
    if "q_dsgd" in config.methods:
        _print_top_t(builder, console)


def _print_cells(builder: Builder, console: Console) -> None:
    config = builder.config
    table = Table(
        "method", "cells", "chains", "steps", "samples kept", "held", "workspace", title=f"{config.name}: cells"
    )
    sampling = config.sampling
    kept = kept_samples(config)
    batches = []
    for variant, cells in group_by_variant(enumerate_cells(config)).items():
        together = cells[: config.cells_per_batch or len(cells)]
        batches.append(memory_of_batch(builder, together))
        table.add_row(
            variant,
            str(len(cells)),
            str(sampling.chains),
            f"{sampling.steps:,}",
            f"{kept:,} a chain",
            f"{batches[-1].held / 1e6:,.1f} MB",
            f"{batches[-1].workspace / 1e6:,.1f} MB",
        )
    print_fitted(table, console)
    if note := storage_note(config):
        console.print(note, markup=False)
    ahead = not config.cells_per_batch
    beside = ", each method beside the next one, which is compiled meanwhile" if ahead and len(batches) > 1 else ""
    console.print(
        f"Memory at most {peak(batches, memory_of_builder(builder), ahead) / 1e6:,.1f} MB{beside}; "
        "Python, JAX and its compiler take about 500 MB more."
    )
    agents, params, shown = config.network.agents, builder.problem.model.num_params, len(shown_agents(config))
    console.print(f"m = {params:,} parameters, N = {plural(agents, 'agent')}.")
    if shown < agents:
        console.print(f"{shown:,} of the agents, evenly spread, are stored one by one.")
    if config.problem.kind == "linear" and agents * params > MAX_LAW:
        console.print(f"No exact laws of the samplers: N·m = {agents * params:,} is above {MAX_LAW}.")
    console.print()


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
        *(f"{snr:g} dB" for snr in config.channel.snr_db),
        title="Norm cap, the largest rms(θ) sent at full gain",
    )
    for topology, graph in builder.graphs.items():
        plan = plan_graph(topology, graph, builder.edge_weight(topology), setting)
        w = plan.edge_weight
        if math.isnan(w):
            table.add_row(topology, "per link", "", *("needs one weight" for _ in sizes))
            continue
        transitions = (plan.transition_unit_db, plan.transition_db)[: len(sizes)]
        table.add_row(topology, f"{w:.4f}", f"{plan.second_eigenvalue:.3f}", *(f"{snr:.1f} dB" for snr in transitions))
        caps.add_row(topology, *(f"{norm_cap(w, config.sampling.eta, snr):.2g}" for snr in config.channel.snr_db))
    print_fitted(table, console)
    console.print(f"rms(θ) = {sizes[-1]} is that of {source}.\n")
    if set(config.methods) & set(RADIO_METHODS) and caps.row_count:
        print_fitted(caps, console)
        console.print()


def _print_top_t(builder: Builder, console: Console) -> None:
    config, params = builder.config, builder.problem.model.num_params
    table = Table(
        "topology", *(f"{snr:g} dB" for snr in config.channel.snr_db), title="Q-DSGD: t, coordinates per block"
    )
    for topology, graph in builder.graphs.items():
        row = []
        for snr in config.channel.snr_db:
            values = top_t_of(config, graph, params, snr)
            low, high = int(values.min()), int(values.max())
            row.append(f"{low}" if low == high else f"{low} to {high}")
        table.add_row(topology, *row)
    print_fitted(table, console)
    console.print("t = 0 means that not one coordinate fits into a block: the agents learn alone.")
