"""What a finished run shows and writes beside its results: tables on the terminal, figures and a CSV in the folder."""

from pathlib import Path

import xarray as xr
from rich.console import Console

from airbayes.experiment.build import Builder
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.store import write_atomically, write_text
from airbayes.experiment.toml_io import parse_config
from airbayes.power import transition_snr_db
from airbayes.report.accuracy_figure import accuracy_figure
from airbayes.report.gaussian_figure import gaussian_figure
from airbayes.report.tables import cells_csv, law_table, snr_table

RHAT_LIMIT = 1.1
EXACT_NOTE = "= every gain was 1 in every block: channel-driven sampling was exactly DSGLD"


def show_tables(dataset: xr.Dataset, console: Console) -> None:
    """The tables that fit the problem."""
    config = parse_config(dataset.attrs["config_toml"])
    if config.problem.kind == "linear":
        console.print(
            snr_table(dataset, "w2_agent", "W2 to the true posterior, one agent (mean over agents)", EXACT_NOTE)
        )
        console.print(snr_table(dataset, "w2_network", "W2 to the true posterior, network average", EXACT_NOTE))
        if "w2_agent_predicted" in dataset and float("inf") in dataset.snr_db:
            console.print(law_table(dataset))
    else:
        console.print(snr_table(dataset, "accuracy", "Test accuracy of the predictive mean"))
        console.print(snr_table(dataset, "ece", "ECE, 15 equal-width bins"))
        console.print(snr_table(dataset, "nll", "Negative log-likelihood (nats)"))
    _warn_about_mixing(dataset, console)
    transitions = predicted_transitions(config)
    if transitions:
        found = ", ".join(f"{name} {snr:.1f} dB" for name, snr in transitions.items())
        console.print(f"Predicted transition SNR (all gains can be 1 above it): {found}")


def _warn_about_mixing(dataset: xr.Dataset, console: Console) -> None:
    """Say so when the chains of a cell disagree: then its metrics describe the run, not the sampler's law."""
    if "rhat" not in dataset:
        return
    poor = int((dataset.rhat > RHAT_LIMIT).sum())
    if poor:
        worst = float(dataset.rhat.max())
        console.print(
            f"R-hat is above {RHAT_LIMIT} in {poor} cells (worst {worst:.2f}): their chains have not mixed. "
            "Take more steps or a larger step size before reading them as samples of the posterior."
        )


def write_report_files(dataset: xr.Dataset, folder: Path) -> list[str]:
    """Figures as PNG and SVG, and every cell as CSV; returns the names."""
    config = parse_config(dataset.attrs["config_toml"])
    draw = gaussian_figure if config.problem.kind == "linear" else accuracy_figure
    figure = draw(dataset, predicted_transitions(config))
    stem = "gaussian" if config.problem.kind == "linear" else "fig2"
    for suffix in ("png", "svg"):
        write_atomically(folder / f"{stem}.{suffix}", lambda path: figure.savefig(path, dpi=150))
    write_text(folder / "cells.csv", cells_csv(dataset))
    return [f"{stem}.png", f"{stem}.svg", "cells.csv"]


def predicted_transitions(config: ExperimentConfig) -> dict[str, float]:
    """The SNR in dB above which α = β is feasible, for the rms(θ) the problem expects; only for channel-driven runs."""
    if "cd_dsgld" not in config.methods:
        return {}
    builder = Builder(config)
    rms, _ = builder.problem.typical_rms(config.first_seed)
    return {
        name: transition_snr_db(builder.edge_weight(name), config.sampling.eta, rms)
        for name in config.network.topologies
    }
