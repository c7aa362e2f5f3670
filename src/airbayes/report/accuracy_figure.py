"""Accuracy and calibration against SNR, one column per topology: the form of the paper's Fig. 2."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from airbayes.experiment.config import UNCONNECTED_METHODS
from airbayes.report.chance import collapsed_runs
from airbayes.report.style import (
    MARKERS,
    around_one_snr,
    colour,
    column_title,
    is_radio,
    label,
    lost_words,
    study_name,
    width,
)

ROWS = (("accuracy", "(a) accuracy"), ("ece", "(b) ECE"), ("nll", "NLL (nats)"))


def accuracy_figure(dataset: xr.Dataset, transitions: dict[str, float]) -> Figure:
    """Means over seeds, with the spread over seeds and agents as a band; ideal links as horizontal lines."""
    topologies = [str(name) for name in dataset.topology.values if name != "none"]
    figure = Figure(figsize=(max(8.4, 4.2 * len(topologies)), 8.2), layout="constrained")
    grid = figure.subplots(len(ROWS), len(topologies), squeeze=False, sharex="col", sharey="row")
    snrs = dataset.snr_db.values[np.isfinite(dataset.snr_db.values)]
    guessing = collapsed_runs(dataset).any("seed")
    radios = [name for name in map(str, dataset.method.values) if is_radio(name)]
    for column, topology in enumerate(topologies):
        for row, (metric, title) in enumerate(ROWS):
            axes = grid[row, column]
            for variant in map(str, dataset.method.values):
                place = "none" if variant in UNCONNECTED_METHODS else topology
                cells = dataset.sel({"method": variant, "topology": place})
                if not (cells.status > 0).any():
                    continue
                per_agent = cells[f"{metric}_per_agent"]
                mean, spread = per_agent.mean(["seed", "agent"]), per_agent.std(["seed", "agent"])
                if is_radio(variant):
                    middle, band = mean.sel(snr_db=snrs), spread.sel(snr_db=snrs)
                    at = snrs
                    if len(snrs) == 1:  # a band has no width there: bars, beside each other
                        at = snrs + 0.3 * (radios.index(variant) - (len(radios) - 1) / 2)
                        axes.errorbar(at, middle, band, color=colour(variant), capsize=3, lw=1, ls="")
                    else:
                        axes.fill_between(at, middle - band, middle + band, color=colour(variant), alpha=0.15, lw=0)
                    shown = {"marker": MARKERS.get(variant, "."), "lw": width(variant), "label": label(variant)}
                    axes.plot(at, middle, color=colour(variant), **shown)
                    collapsed = guessing.sel({"method": variant, "topology": place, "snr_db": snrs}).values
                    if metric == "ece" and bool(collapsed.any()):
                        hollow = {"mfc": "white", "marker": MARKERS.get(variant, "."), "ls": "", "zorder": 5}
                        axes.plot(at[collapsed], middle[collapsed], color=colour(variant), **hollow)
                else:
                    axes.axhline(float(mean.sel(snr_db=np.inf)), color=colour(variant), ls="--", label=label(variant))
            if topology in transitions:
                axes.axvline(transitions[topology], color="0.55", lw=1, ls=":")
            if len(snrs) == 1:
                around_one_snr(axes, float(snrs[0]), transitions.get(topology))
            axes.set_ylabel(title if column == 0 else "")
            axes.grid(alpha=0.25, lw=0.5)
            axes.spines[["top", "right"]].set_visible(False)
        grid[0, column].set_title(column_title(f"{topology} graph"), fontweight="bold")
        grid[-1, column].set_xlabel("SNR (dB)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    lost = lost_words(dataset)
    figure.suptitle(
        f"{study_name(dataset.attrs)}: accuracy and calibration against SNR\n"
        f"{'bars' if len(snrs) == 1 else 'bands'}: ± standard deviation over agents and seeds; "
        "dotted: predicted transition; hollow: a seed is near chance, where ECE means nothing"
        + (f"; {lost}" if lost else ""),
        wrap=True,
    )
    return figure
