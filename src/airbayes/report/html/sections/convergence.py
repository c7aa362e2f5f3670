"""Over iterations: loss, how far the agents are apart, and the size of θ under its cap."""

import math

import numpy as np

from airbayes.experiment.config import SAMPLING_METHODS
from airbayes.experiment.dataset import CELL_DIMS
from airbayes.power import norm_cap
from airbayes.report.html.cells import Cells, mean
from airbayes.report.html.curves import legend, topology_groups
from airbayes.report.html.numbers import decibels, short, shorts, value_range
from airbayes.report.html.parts import Control, Figure, Panel, Section
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import is_radio, label

MAX_POINTS = 60  # of a curve
MAX_FRAMES = 64
DISTANCE = "Consensus distance"
FALLEN = " A cross: a chain diverged, and its curve ends there."
# (variable, variable of the mean prediction, title, log)
ROWS = (
    ("sample_nll_over_steps", "mean_nll_over_steps", "Loss on test objects (nats)", True),
    ("sample_accuracy_over_steps", "mean_accuracy_over_steps", "Accuracy", False),
    ("disagreement_over_steps", "", DISTANCE, True),
    ("rms_over_steps", "", "Size of the model, rms(θ)", False),
)


def convergence_section(run: Run) -> Section | None:
    rows = [row for row in ROWS if row[0] in run.dataset]
    if not rows or run.dataset.sizes["step"] < 2:
        return None
    groups = topology_groups(run)
    snrs = run.snrs or [math.inf]
    left_out = ""
    if len(groups) * len(snrs) > MAX_FRAMES:
        snrs, left_out = snrs[-1:], " Only at the highest SNR: the page would grow too large."
    if len(groups) * len(snrs) > MAX_FRAMES:
        left_out += f" The first {MAX_FRAMES} of {len(groups)} graphs or scenarios."
        groups = groups[:MAX_FRAMES]
    frames: dict[str, list[Panel]] = {}
    for i, group in enumerate(groups):
        for j, snr in enumerate(snrs):
            key = f"{i}|{j}" if len(groups) > 1 else f"{j}"
            found = [_panel(run, row, topology, snr) for row in rows for topology in group]
            frames[key] = [panel for panel in found if panel is not None]
    everything = [panel for panels in frames.values() for panel in panels]
    if not everything:
        return None
    for name, _, title, log in rows:
        row = [panel for panel in everything if panel["y"]["label"] == title]
        numbers = [v for panel in row for s in panel["series"] for v in (*s["y"], *s.get("dotted", ()))]
        limits = value_range(numbers, 0.0 if name.startswith("rms") else None, None, log)
        for panel in row:
            panel["y"]["range"] = limits
            panel["level"] = [level for level in panel.get("level", ()) if level["y"] <= limits[1]]
    controls = []
    if len(groups) > 1:
        controls.append(Control("Graph", tuple(show_topology(group[0]) for group in groups)))
    controls.append(Control("SNR", tuple(map(decibels, snrs)), len(snrs) - 1, slider=True))
    shown = {series["method"] for panel in everything for series in panel["series"]}
    figure = Figure(
        "Loss, accuracy, consensus distance and size of the model over iterations",
        frames,
        max(2, len(groups[0])),
        tuple(controls),
        legend(run, [name for name in run.variants if name in shown]),
    )
    lines = [series for panel in everything for series in panel["series"]]
    words = ["Solid: the model of the moment, over a radio" if any(s["dash"] for s in lines) and run.snrs else ""]
    words = [words[0] or "Lines: the model of the moment"]
    words += ["dashed: over ideal links"] if run.snrs and any(series["dash"] for series in lines) else []
    words += ["dotted: the mean prediction over the samples kept so far"] if any("dotted" in s for s in lines) else []
    drawn, shown_cap = any(panel.get("level") for panel in everything), "cd_dsgld" in run.config.methods
    cap = " The norm cap is the size of θ at which the power limit bites at this SNR" if drawn and shown_cap else ""
    cap += "; where it lies above the axis it is not drawn." if cap else ""
    return Section(
        "convergence",
        "Over the run",
        "Has learning settled? If the curves still move at the end, the numbers above belong to this length of run "
        "only."
        + (
            " Do the agents agree? The consensus distance is how far an agent's model lies from the average of all."
            if any(panel["y"]["label"] == DISTANCE for panel in everything)
            else ""
        ),
        (figure,),
        notes=("; ".join(words) + "." + (FALLEN if any("fell" in s for s in lines) else "") + cap + left_out,),
    )


def _over_steps(run: Run, cells: Cells, name: str) -> np.ndarray:
    """The mean over seeds and agents at every step; of diverged cells too: it shows how they went."""
    dims = [dim for dim in run.dataset[name].dims if dim not in CELL_DIMS]
    return mean(np.moveaxis(cells.values(name), 1 + dims.index("step"), -1), tuple(range(1 + len(dims) - 1)))


def _panel(run: Run, row: tuple[str, str, str, bool], topology: str, snr: float) -> Panel | None:
    name, averaged, title, log = row
    steps = run.dataset.step.values
    chosen = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MAX_POINTS)).round().astype(int))
    series = []
    for variant in run.variants:
        cells = run.cells(variant, topology, snr)
        if cells is None or name not in cells:
            continue
        values = _over_steps(run, cells, name)[chosen]
        values = np.where(values > 0, values, math.nan) if log else values
        if not np.isfinite(values).any():
            continue
        curve: Panel = {
            "keys": [variant],
            "method": variant,
            "name": label(variant),
            "x": steps[chosen].tolist(),
            "y": shorts(values),
            "plain": True,
            "dash": not is_radio(variant),
        }
        if averaged in cells and variant.partition(":")[0] in SAMPLING_METHODS:
            curve["dotted"] = shorts(_over_steps(run, cells, averaged)[chosen])
        diverged = cells.values("diverged_step")
        if (diverged >= 0).any():
            curve["fell"] = int(diverged[diverged >= 0].min())
        series.append(curve)
    if not series:
        return None
    panel: Panel = {
        "type": "lines",
        "title": f"{title} · {show_topology(topology)}",
        "x": {"label": "iteration", "range": [0, int(steps[-1])]},
        "y": {"label": title, "log": log},
        "series": series,
    }
    found = run.edge_weights(topology) if name.startswith("rms") and math.isfinite(snr) else None
    if (
        found is not None
        and isinstance(found[1], float)
        and found[1] > 0
        and run.config.sampling.schedule == "constant"
    ):
        cap = norm_cap(found[1], run.config.sampling.eta, snr)
        panel["level"] = [{"y": short(cap), "text": f"norm cap {float(f'{cap:.3g}'):,g}"}]
    return panel
