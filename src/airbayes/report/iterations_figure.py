"""Accuracy, calibration and rms(θ) over iterations: is the end of the run a good moment to stop?"""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from airbayes.experiment.config import SAMPLING_METHODS, UNCONNECTED_METHODS
from airbayes.experiment.dataset import STATUS_CODES
from airbayes.report.style import colour, column_title, is_radio, label, lost_words, study_name

ROWS = (("accuracy", "accuracy"), ("ece", "ECE"), ("rms", "rms(θ)"))


def iterations_figure(dataset: xr.Dataset) -> Figure:
    """At the highest SNR: thin, the model of the moment; thick, the mean prediction over the samples kept so far."""
    topologies = [str(name) for name in dataset.topology.values if name != "none"]
    figure = Figure(figsize=(max(8.4, 4.2 * len(topologies)), 7.6), layout="constrained")
    grid = figure.subplots(len(ROWS), len(topologies), squeeze=False, sharex=True, sharey="row")
    finite = dataset.snr_db.values[np.isfinite(dataset.snr_db.values)]
    for column, topology in enumerate(topologies):
        for variant in map(str, dataset.method.values):
            place = "none" if variant in UNCONNECTED_METHODS else topology
            snr = finite.max() if is_radio(variant) else np.inf
            if place not in dataset.topology.values or snr not in dataset.snr_db.values:
                continue
            cells = dataset.sel({"method": variant, "topology": place, "snr_db": snr})
            kept = cells.status == STATUS_CODES["ok"]  # what is stored of a chain after it diverged is no model
            if not kept.any():
                continue
            style = {"color": colour(variant), "ls": "-" if np.isfinite(snr) else "--"}
            for row, (metric, _) in enumerate(ROWS):
                axes = grid[row, column]
                now = cells[f"{metric}_over_steps" if metric == "rms" else f"sample_{metric}_over_steps"]
                axes.plot(dataset.step, now.where(kept).mean(["seed", "agent"]), lw=0.9, alpha=0.7, **style)
                if metric != "rms" and variant.partition(":")[0] in SAMPLING_METHODS:
                    mean = cells[f"mean_{metric}_over_steps"].where(kept).mean(["seed", "agent"])
                    axes.plot(dataset.step, mean, lw=2.4, **style)
            grid[0, column].plot([], [], lw=2.0, label=label(variant), **style)
        grid[0, column].set_title(column_title(f"{topology} graph"), fontweight="bold")
        grid[-1, column].set_xlabel("iteration")
    for row, (_, title) in enumerate(ROWS):
        grid[row, 0].set_ylabel(title)
        for axes in grid[row]:
            axes.grid(alpha=0.25, lw=0.5)
            axes.spines[["top", "right"]].set_visible(False)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    ideal = any(line.get_linestyle() == "--" for axes in grid[0] for line in axes.lines)
    top = f" at {finite.max():g} dB" if len(finite) else ""
    lost = lost_words(dataset)
    figure.suptitle(
        f"{study_name(dataset.attrs)}: over iterations{top}\n"
        "thin: one sample or iterate; thick: mean prediction over the samples kept so far"
        + ("; dashed: ideal links" if ideal else "")
        + (f"; {lost}" if lost else ""),
        wrap=True,
    )
    return figure
