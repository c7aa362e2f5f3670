"""Accuracy and calibration against the rate of a fault: one column per fault, one line per method."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airbayes.experiment.config import UNCONNECTED_METHODS
from airbayes.experiment.scenario import CHANNEL_RATES, graph_name, own_settings
from airbayes.report.style import MARKERS, colour, column_title, is_radio, label, lost_words, study_name, width

ROWS = (("accuracy", "accuracy"), ("ece", "ECE"), ("nll", "NLL (nats)"))
NAMES = {
    "link_outage": "links lost",
    "node_outage": "agents silent",
    "away": "agents away",
    "late": "messages late",
    "attack_rate": "a neighbour lies",
    "gain_std": "gains wrong",
    "impulse_rate": "impulses",
    "jam_rate": "a receiver jammed",
}
FELT_BY = {"jam_rate": ("cd_", "q_")}  # by methods; other faults of the channel only by a sum over the air


def fault_words(fault: str, rate: float) -> str:
    """A fault as it was set; σ of the gains is no rate."""
    return f"{NAMES.get(fault, fault)} {'by' if fault == 'gain_std' else 'at rate'} {rate:g}"


def feels(variant: str, fault: str) -> bool:
    """Whether a fault can reach a method; where it cannot there is nothing to draw."""
    if variant in UNCONNECTED_METHODS:
        return False
    return fault not in CHANNEL_RATES or variant.startswith(FELT_BY.get(fault, ("cd_",)))


def has_scenarios(dataset: xr.Dataset) -> bool:
    """Whether any topology carries fault rates of its own."""
    return any(own_settings(str(name)) for name in dataset.topology.values)


def scenario_columns(dataset: xr.Dataset) -> dict[tuple[str, ...], dict[float, str]]:
    """(graph, fault, other settings) → rate → topology. A graph without settings is rate 0 of all its faults."""
    columns: dict[tuple[str, ...], dict[float, str]] = {}
    names = [str(name) for name in dataset.topology.values]
    for topology in names:
        own = own_settings(topology)
        if own:
            (fault, rate), *others = own.items()
            column = (graph_name(topology), fault, ", ".join(f"{name} {value:g}" for name, value in others))
            columns.setdefault(column, {})[rate] = topology
    for (graph, *_), rates in columns.items():
        if graph in names:
            rates.setdefault(0.0, graph)
    return {column: dict(sorted(rates.items())) for column, rates in columns.items()}


def faults_figure(dataset: xr.Dataset) -> Figure:
    """At the highest SNR: means over agents and seeds, with the spread over both as a band."""
    columns = scenario_columns(dataset)
    figure = Figure(figsize=(max(8.4, 2.6 * len(columns)), 7.6), layout="constrained")
    grid = figure.subplots(len(ROWS), len(columns), squeeze=False, sharex="col", sharey="row")
    finite = dataset.snr_db.values[np.isfinite(dataset.snr_db.values)]
    variants = [name for name in map(str, dataset.method.values) if name not in UNCONNECTED_METHODS]
    for place, ((graph, fault, others), rates) in enumerate(columns.items()):
        for variant in variants:
            if not feels(variant, fault):
                continue
            snr = finite.max() if is_radio(variant) else np.inf
            cells = dataset.sel({"method": variant, "topology": list(rates.values()), "snr_db": snr})
            for row, (metric, _) in enumerate(ROWS):
                _line(grid[row, place], np.array(list(rates)), cells[f"{metric}_per_agent"], variant)
        grid[0, place].set_title(
            "\n".join(filter(None, (column_title(f"{graph}: {NAMES.get(fault, fault)}", 26), others))), fontsize=10
        )
        grid[-1, place].set_xlabel(fault)
        positive = [rate for rate in rates if rate > 0]
        if positive and max(positive) / min(positive) > 20:
            grid[-1, place].set_xscale("symlog", linthresh=min(positive))
    for row, (_, title) in enumerate(ROWS):
        grid[row, 0].set_ylabel(title)
    if bool(dataset.nll.max() > 10 * dataset.nll.min()):
        grid[-1, 0].set_yscale("log")
    handles = {name: handle for axes in grid[0] for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    at = f" at {finite.max():g} dB" if len(finite) else ""
    lost = lost_words(dataset)
    figure.suptitle(
        f"{study_name(dataset.attrs)}: accuracy and calibration against the rate of faults{at}\n"
        "bands: ± standard deviation over agents and seeds" + (f"; {lost}" if lost else ""),
        wrap=True,
    )
    return figure


def _line(axes: Axes, rates: np.ndarray, per_agent: xr.DataArray, variant: str) -> None:
    mean, spread = per_agent.mean(["seed", "agent"]), per_agent.std(["seed", "agent"])
    axes.fill_between(rates, mean - spread, mean + spread, color=colour(variant), alpha=0.15, lw=0)
    style = {"marker": MARKERS.get(variant, "."), "lw": width(variant), "label": label(variant)}
    axes.plot(rates, mean, color=colour(variant), **style)
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
