"""What a finished run shows and writes beside its results: tables on the terminal, figures and a CSV in the folder."""

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import xarray as xr
from rich.console import Console
from rich.table import Table

from airbayes.errors import AirbayesError
from airbayes.experiment.build import MAX_LAW, build_graph, build_problem
from airbayes.experiment.config import UNCONNECTED_METHODS, ExperimentConfig
from airbayes.experiment.dataset import STATUS_CODES
from airbayes.experiment.scenario import graph_name
from airbayes.files import write_atomically, write_text
from airbayes.network.weights import resolve
from airbayes.power import transition_snr_db
from airbayes.report.accuracy_figure import accuracy_figure
from airbayes.report.faults_figure import faults_figure, has_scenarios
from airbayes.report.gaussian_figure import gaussian_figure
from airbayes.report.iterations_figure import iterations_figure
from airbayes.report.plain import plain_part
from airbayes.report.tables import cells_csv, law_tables, snr_tables
from airbayes.text import percent, plural, printable, true_minus

RHAT_LIMIT = 1.1
LINEAR_TABLES = (
    ("w2_agent", "W2 to the true posterior, one agent (mean over agents)"),
    ("w2_network", "W2 to the true posterior, network average"),
    ("mean_error_agent", "Error of the mean ‖μ − μ*‖, one agent"),
    ("mean_error_network", "Error of the mean ‖μ − μ*‖, network average"),
    ("cov_error_agent", "Relative error of the covariance ‖Σ − Σ*‖/‖Σ*‖, one agent"),
    ("cov_error_network", "Relative error of the covariance ‖Σ − Σ*‖/‖Σ*‖, network average"),
)
CLASS_TABLES = (
    ("accuracy", "Accuracy (samplers: predictive mean; optimisers: last iterate)"),
    ("ece", "ECE, 15 equal-width bins"),
    ("nll", "Negative log-likelihood (nats)"),
)


def show_tables(dataset: xr.Dataset, config: ExperimentConfig, console: Console) -> None:
    """The tables that fit the problem."""
    linear = config.problem.kind == "linear"
    for metric, title in LINEAR_TABLES if linear else CLASS_TABLES:
        for table in snr_tables(dataset, metric, title, console.width):
            _show(table, console)
    if "w2_agent_predicted" in dataset and float("inf") in dataset.snr_db:
        for table in law_tables(dataset, console.width):
            _show(table, console)
    size = config.network.agents * config.problem.features
    if linear and size > MAX_LAW:
        console.print(f"The samplers' exact laws were left out: N·m = {size:,} is above {MAX_LAW}.")
    if dataset.sizes["agent"] < config.network.agents:
        console.print(f"Single agents are {dataset.sizes['agent']:,} of the {config.network.agents:,}, evenly spread.")
    if words := silence_words(dataset, config):
        console.print(f"{words} --dry-run shows t.")
    if dataset.attrs.get("evaluated_on") == "validation":
        console.print("These are scores on validation objects, for tuning; no claim is scored on them.")
    if "repeated_examples" in dataset.attrs:
        seeds = "Seeds share objects, so they are not independent. " if dataset.sizes["seed"] > 1 else ""
        console.print(f"{seeds}Training and scored objects of the first seed:")
        for line in str(dataset.attrs["repeated_examples"]).splitlines():
            console.print(printable(line, 500))
    _warn_about_divergence(dataset, config, console)
    _warn_about_partitions(dataset, console)
    _warn_about_mixing(dataset, console)
    transitions = predicted_transitions(config)
    if transitions:
        found = ", ".join(f"{printable(name)} {true_minus(f'{snr:.1f}')} dB" for name, snr in transitions.items())
        console.print(f"Predicted transition SNR (a typical θ fits the power limit above it): {found}")


def _show(table: Table, console: Console) -> None:
    """Title and caption are lines of their own: inside a narrow table they would be broken to its width."""
    title, caption, table.title, table.caption = table.title, table.caption, None, None
    console.print(title, style="bold")
    console.print(table)  # ends with an empty line
    if caption:
        console.print(caption, style="dim italic")
        console.print()


def _warn_about_partitions(dataset: xr.Dataset, console: Console) -> None:
    """Say how often faults cut the network into parts that could not reach each other."""
    if said := partition_words(dataset):
        console.print(said, markup=False)


def partition_words(dataset: xr.Dataset, show: Callable[[str], str] = printable) -> str:
    """How many networks fell apart, and which most often; empty where none did. `show` gives a topology's name."""
    if "split_mean" not in dataset or not bool((dataset.split_mean > 0).any()):
        return ""
    over = [dim for dim in dataset.split_mean.dims if dim != "topology"]
    share = dataset.split_mean.mean(over)
    worst = show(str(share.topology.values[np.nanargmax(share.values)]))
    cut = plural(int((share > 0).sum()), "network")
    return (
        f"Faults cut {cut} into parts at times: {worst} in {percent(float(share.max()))} of the "
        "steps of its runs, the most. Agents in different parts hear of each other only once a later step joins them."
    )


def silence_words(dataset: xr.Dataset, config: ExperimentConfig, show: Callable[[str], str] = printable) -> str:
    """Where Q-DSGD's agents heard nothing of each other; empty where they did. `show` gives a topology's name."""
    if "kept_max" not in dataset:
        return ""
    digital = config.digital
    one_stops_all = digital.mode == "memory" and digital.consensus_step == 0  # γ = min_k t_k/m
    alone = (dataset.kept_min if one_stops_all else dataset.kept_max) == 0
    if not bool(alone.any()):
        return ""
    graphs = alone.any([dim for dim in alone.dims if dim != "topology"])
    names = ", ".join(show(str(name)) for name in graphs.topology.values[graphs.values])
    cells = f"{int(alone.sum()):,} of {plural(int(dataset.kept_max.notnull().sum()), 'cell')}"
    why = "some agent, and so the consensus step min t/m is 0" if one_stops_all else "any agent"
    return f"Q-DSGD's agents learned alone in {cells} ({names}): not one coordinate fits into a block of {why}."


def _warn_about_divergence(dataset: xr.Dataset, config: ExperimentConfig, console: Console) -> None:
    """What to do about it; where and when it happened was said during the run."""
    lost = dataset.status == STATUS_CODES["diverged"]
    if not lost.any():
        return
    present = int((dataset.status > STATUS_CODES["absent"]).sum())
    own = dataset.method == "dsghmc"  # has a step of its own
    steps = [f"--{name}.eta" for name, who in (("sampling", ~own), ("momentum", own)) if (lost & who).any()]
    tamed = "" if config.sampling.drift == "tamed" else ", or --sampling.drift tamed"
    console.print(
        f"{int(lost.sum()):,} of {plural(present, 'cell')} diverged and count in no mean: usually the step is too "
        f"large. Take a smaller one ({', '.join(steps)}){tamed}.",
        markup=False,
    )


def _warn_about_mixing(dataset: xr.Dataset, console: Console) -> None:
    """Say so when the chains of a cell disagree: then its metrics describe the run, not the sampler's law."""
    if "rhat" not in dataset:
        return
    poor = int((dataset.rhat > RHAT_LIMIT).sum())
    if poor:
        worst = float(dataset.rhat.max())
        known = plural(int(dataset.rhat.notnull().sum()), "sampled cell")
        lost = (dataset.status == STATUS_CODES["diverged"]).any()  # then it is too large already
        larger = "" if lost else " or a larger step size"
        console.print(
            f"R-hat is above {RHAT_LIMIT} in {poor:,} of {known} (worst {worst:.2f}): the chains there have not "
            f"mixed. Take more steps{larger} before reading them as samples of the posterior."
        )


def write_report_files(dataset: xr.Dataset, config: ExperimentConfig, folder: Path) -> list[str]:
    """Figures as PNG and SVG, and every cell as CSV; returns the names."""
    written = ["cells.csv"]
    linear = config.problem.kind == "linear"
    # Nothing to draw without a network, or where every cell diverged.
    if not set(config.methods) <= set(UNCONNECTED_METHODS) and bool((dataset.status == STATUS_CODES["ok"]).any()):
        transitions = predicted_transitions(config)
        if linear:
            drawn = {"gaussian": gaussian_figure(dataset, transitions)}
        else:
            drawn = {"faults": faults_figure(dataset)} if has_scenarios(dataset) else {}
            plain = plain_part(dataset)
            if plain is not None and bool((plain.status == STATUS_CODES["ok"]).any()):
                drawn |= {"fig2": accuracy_figure(plain, transitions), "iterations": iterations_figure(plain)}
        for stem, figure in drawn.items():
            for suffix in ("png", "svg"):
                write_atomically(folder / f"{stem}.{suffix}", lambda path, figure=figure: figure.savefig(path, dpi=150))
                written.append(f"{stem}.{suffix}")
    write_text(folder / "cells.csv", cells_csv(dataset))
    return written


def predicted_transitions(config: ExperimentConfig) -> dict[str, float]:
    """Graph → the SNR in dB above which α = β is feasible, for the rms(θ) the problem expects.

    Only for channel-driven runs; empty where it cannot be known here (the object set is elsewhere).
    """
    try:
        return dict(_predicted(config))
    except (AirbayesError, OSError):
        return {}


@lru_cache(maxsize=4)
def _predicted(config: ExperimentConfig) -> dict[str, float]:
    """Asked for by tables, figures and the page; making a network to see its size takes a second."""
    if "cd_dsgld" not in config.methods:
        return {}
    rms, _ = build_problem(config).typical_rms(config.first_seed)
    graphs = dict.fromkeys(map(graph_name, config.network.topologies))  # scenarios of one graph have one transition
    weights = {name: resolve(build_graph(config, name), config.network.weights) for name in graphs}
    found = {
        name: transition_snr_db(weight, config.sampling.eta, rms)
        for name, weight in weights.items()
        if isinstance(weight, float)
    }
    return {name: snr for name, snr in found.items() if math.isfinite(snr)}
