"""Linear problems, where the truth is known: how far are the samples from the exact posterior?"""

import math

import numpy as np

from airbayes.report.html.curves import MAX_COLUMNS, Metric, against_snr, band_words, legend, line_words
from airbayes.report.html.numbers import decibels, decimals, shorts, value_range
from airbayes.report.html.parts import Control, Entry, Figure, Panel, Section
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import label, width

ERRORS = [
    Metric("w2_agent", "W2 to the posterior", log=True, per_agent=False, dotted="w2_network"),
    Metric("mean_error_agent", "Error of the mean", log=True, per_agent=False, dotted="mean_error_network"),
    Metric(
        "cov_error_agent", "Relative error of the covariance", log=True, per_agent=False, dotted="cov_error_network"
    ),
]
POINTS = 48  # of an ellipse
EXACT = "exact"


def gaussian_section(run: Run) -> Section | None:
    if not run.linear or "w2_agent" not in run.dataset:
        return None
    figure = against_snr(run, ERRORS, "Distance to the exact posterior against SNR")
    if figure is None:
        return None
    return Section(
        "gaussian",
        "Distance to the truth",
        "In this problem the right answer, the posterior, is known exactly; W2 is how far the sampled cloud of "
        "models would have to be moved to match it, so smaller is better.",
        (figure,),
        notes=(
            "Solid: one agent, the mean over agents; dotted: the average of the network. " + width_words(run),
            band_words(run, figure),
            line_words(figure),
        ),
    )


def posterior_width(run: Run) -> float:
    """√tr Σ of the exact posterior, the mean over seeds: how far a typical θ of it lies from its mean."""
    if "posterior_cov" not in run.dataset:
        return math.nan
    cov = run.dataset["posterior_cov"].transpose(..., "param", "param2").values.astype(np.float64)
    widths = np.sqrt(np.trace(cov, axis1=-2, axis2=-1))
    return float(np.mean(widths[np.isfinite(widths)])) if np.isfinite(widths).any() else math.nan


def width_words(run: Run) -> str:
    width = posterior_width(run)
    return f"For comparison: the posterior itself is √tr Σ = {decimals(width)} wide." if math.isfinite(width) else ""


def ellipses_section(run: Run) -> Section | None:
    if "sampled_cov" not in run.dataset or run.dataset.sizes["param"] < 2:
        return None
    topologies = run.topologies[:MAX_COLUMNS]
    snrs = run.snrs or [math.inf]
    frames = {
        str(index): [panel for name in topologies if (panel := _panel(run, name, snr)) is not None]
        for index, snr in enumerate(snrs)
    }
    everything = [panel for panels in frames.values() for panel in panels]
    if not everything:
        return None
    for axis in ("x", "y"):
        numbers = [v for panel in everything for series in panel["series"] for v in series[axis]]
        limits = value_range(numbers)
        for panel in everything:
            panel[axis]["range"] = limits
    shown = {series["keys"][0] for panel in everything for series in panel["series"]}
    entries = (Entry(EXACT, "exact posterior"), *legend(run, [name for name in run.variants if name in shown]))
    return Section(
        "ellipses",
        "The posterior, sampled and exact",
        "Two parameters of the model, as one agent sees them: 95 % of the exact posterior lies in the grey "
        "ellipse, and 95 % of what each method sampled in its own. An ellipse beside the grey one is biased, one "
        "of another size is over- or under-confident.",
        (
            Figure(
                "95 % ellipses",
                frames,
                len(topologies),
                (Control("SNR", tuple(map(decibels, snrs)), len(snrs) // 4, True),),
                entries,
            ),
        ),
        notes=(
            "Agent 0, the first seed."
            + (
                ""
                if len(run.topologies) <= MAX_COLUMNS
                else f" The first {MAX_COLUMNS} of {len(run.topologies)} graphs."
            ),
        ),
    )


def _panel(run: Run, topology: str, snr: float) -> Panel | None:
    series: list[Panel] = []
    for variant in run.variants:
        cells = run.cells(variant, topology, snr)
        if cells is None:
            continue
        mean, cov = cells.ok("sampled_mean")[0, 0], cells.ok("sampled_cov")[0, 0]  # the first seed's first agent
        if not np.isfinite(cov).all():
            continue
        if not series:
            exact = _ellipse(cells.ok("posterior_mean")[0], cells.ok("posterior_cov")[0])
            series.append(
                {"keys": [EXACT], "name": "exact posterior", "method": None, "free": True, "fill": True} | exact
            )
        series.append(
            {"keys": [variant], "name": label(variant), "method": variant, "width": width(variant), "free": True}
            | _ellipse(mean, cov)
        )
    if not series:
        return None
    return {
        "type": "lines",
        "title": f"95 % ellipses · {show_topology(topology)}",
        "under": "upwards: parameter 2",
        "x": {"label": "parameter 1"},
        "y": {"label": "parameter 2", "log": False},
        "series": series,
    }


def _ellipse(mean: np.ndarray, cov: np.ndarray) -> dict:
    """The 95 % region of the first two coordinates: (x−μ)ᵀC⁻¹(x−μ) ≤ 5.99."""
    values, vectors = np.linalg.eigh(cov[:2, :2].astype(np.float64))
    angle = np.linspace(0, 2 * math.pi, POINTS)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    x, y = mean[:2, None] + vectors @ (np.sqrt(5.991 * np.maximum(values, 0))[:, None] * circle)
    return {"x": shorts(x), "y": shorts(y)}
