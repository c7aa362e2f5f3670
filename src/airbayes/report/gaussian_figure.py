"""The figure of the Gaussian preset: where channel-driven sampling is exact, and where the power limit breaks it."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from airbayes.experiment.dataset import STATUS_CODES
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

ROWS = (
    ("w2", "W2 to the posterior"),
    ("mean_error", "error of the mean"),
    ("cov_error", "relative error of\nthe covariance"),
)


def gaussian_figure(dataset: xr.Dataset, transitions: dict[str, float]) -> Figure:
    """Errors against SNR for every topology (one agent: lines; network average: dotted), with predicted transitions."""
    topologies = [str(name) for name in dataset.topology.values if name != "none"]
    figure = Figure(figsize=(max(8.4, 4.2 * len(topologies)), 9.6), layout="constrained")
    grid = figure.subplots(len(ROWS) + 1, len(topologies), squeeze=False)
    snrs = dataset.snr_db.values[np.isfinite(dataset.snr_db.values)]
    for column, topology in enumerate(topologies):
        for row, (metric, title) in enumerate(ROWS):
            _errors(grid[row, column], dataset, topology, metric)
            grid[row, column].set_ylabel(title if column == 0 else "")
            if topology in transitions:
                grid[row, column].axvline(transitions[topology], color="0.55", lw=1, ls="--")
            if len(snrs) == 1:
                around_one_snr(grid[row, column], float(snrs[0]), transitions.get(topology))
        grid[0, column].set_title(column_title(f"{topology} graph"), fontsize=12, fontweight="bold")
        if topology in transitions:
            grid[0, column].annotate(
                f"power limit acts\nbelow {round(transitions[topology])} dB",
                (transitions[topology], 0.97),
                xycoords=("data", "axes fraction"),
                xytext=(4, 0),
                textcoords="offset points",
                va="top",
                fontsize=8,
                color="0.35",
            )
        grid[len(ROWS) - 1, column].set_xlabel("SNR (dB)")
        _ellipses(grid[len(ROWS), column], dataset, topology)
        grid[len(ROWS), column].set_ylabel("parameter 2" if column == 0 else "")
    for row in range(len(ROWS)):
        low = min(axes.get_ylim()[0] for axes in grid[row])
        high = max(axes.get_ylim()[1] for axes in grid[row])
        for axes in grid[row]:
            axes.set_ylim(low, high)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    lost = lost_words(dataset)
    figure.suptitle(
        f"{study_name(dataset.attrs)}: sampled against exact, Bayesian linear regression over the air\n"
        "solid: one agent (mean over agents); dotted: network average; dashed: predicted transition"
        + (f"\n{lost}" if lost else ""),
        fontsize=12,
        wrap=True,
    )
    return figure


def _errors(axes: Axes, dataset: xr.Dataset, topology: str, metric: str) -> None:
    snrs = dataset.snr_db.values[np.isfinite(dataset.snr_db.values)]
    for variant in map(str, dataset.method.values):
        place = "none" if variant == "sgld" else topology
        cells = dataset.sel({"method": variant, "topology": place})
        if not (cells.status > 0).any():
            continue
        for kind, style in (("agent", "-"), ("network", ":")):
            values = cells[f"{metric}_{kind}"].mean("seed")
            name = label(variant) if kind == "agent" else "_"  # an underscore keeps it out of the legend
            if is_radio(variant):
                marker = MARKERS.get(variant, ".") if kind == "agent" else ""
                axes.plot(
                    snrs,
                    values.sel(snr_db=snrs),
                    style,
                    marker=marker,
                    ms=4,
                    lw=width(variant),
                    color=colour(variant),
                    label=name,
                )
            else:
                axes.axhline(float(values.sel(snr_db=np.inf)), ls=style, lw=1.3, color=colour(variant), label=name)
    axes.set_yscale("log")
    axes.grid(alpha=0.25, which="both", lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _ellipses(axes: Axes, dataset: xr.Dataset, topology: str) -> None:
    """Two parameters of one agent: the 95 % ellipse that was sampled, at a low SNR, against the exact one."""
    noisy = dataset.snr_db.values[np.isfinite(dataset.snr_db.values)]
    snr = float(noisy[len(noisy) // 4]) if len(noisy) else np.inf
    shown = dataset.status.sel(topology=topology, snr_db=snr) == STATUS_CODES["ok"]
    seed = dataset.seed.values[shown.any("method").values.argmax()]  # the first of which there is something to show
    first = dataset.sel(seed=seed)
    exact = first.sel(topology=topology)[["posterior_mean", "posterior_cov"]].stack(cell=("method", "snr_db"))
    exact = exact.dropna("cell")
    if not exact.sizes["cell"]:  # every cell of this graph diverged
        axes.set_axis_off()
        axes.text(0.5, 0.5, "the chains diverged", ha="center", transform=axes.transAxes)
        return
    truth, truth_cov = exact.posterior_mean.isel(cell=0), exact.posterior_cov.isel(cell=0)
    _ellipse(axes, truth.values, truth_cov.values, facecolor="0.85", edgecolor="0.4", lw=1, label="exact posterior")
    for variant in map(str, dataset.method.values):
        if len(noisy) and not variant.startswith("cd_"):
            continue
        cell = first.sel({"method": variant, "topology": topology, "snr_db": snr})
        if int(cell.status) != STATUS_CODES["ok"]:
            continue
        mean, cov = cell.sampled_mean.isel(agent=0).values, cell.sampled_cov.isel(agent=0).values
        _ellipse(axes, mean, cov, facecolor="none", edgecolor=colour(variant), lw=width(variant))
    axes.autoscale_view()
    axes.margins(0.15)
    axes.set_xlabel("parameter 1")
    at = f"at {snr:g} dB" if len(noisy) else "over ideal links"
    axes.set_title(f"agent 0, seed {seed}, {at}; grey: exact (95 %)", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _ellipse(axes: Axes, mean: np.ndarray, cov: np.ndarray, **style) -> None:
    """The 95 % region of the first two coordinates: (x−μ)ᵀC⁻¹(x−μ) ≤ 5.99."""
    cov = cov[:2, :2] if mean.size > 1 else np.array([[cov[0, 0], 0.0], [0.0, cov[0, 0]]])
    values, vectors = np.linalg.eigh(cov)
    width, height = 2 * np.sqrt(5.991 * np.maximum(values, 0))
    angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
    centre = (mean[0], mean[1] if mean.size > 1 else mean[0])
    axes.add_patch(Ellipse(centre, width, height, angle=angle, **style))
    axes.plot(*centre, marker="+", color=style["edgecolor"], ms=5)
