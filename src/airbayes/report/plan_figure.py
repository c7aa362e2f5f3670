"""The picture of a plan: how large θ may be at each SNR, and what an iteration costs."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airbayes.experiment.plan import COLLAPSE_MARGIN, GraphPlan, PointPlan
from airbayes.power import norm_cap
from airbayes.report.style import colour

# Colours are the schemes' and the regimes', so graphs have kinds of lines, and from the fifth on lighter ones.
LINES = ("-", "--", ":", "-.")
GREYS = ("#222222", "#6E6E6E", "#A0A0A0", "#C4C4C4")


def plan_figure(
    graphs: Sequence[GraphPlan], points: Sequence[PointPlan], eta: float, rms: float, start_rms: float
) -> Figure:
    """eta: η. rms: of θ in the long run. start_rms: of θ⁰."""
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    regimes, costs = figure.subplots(1, 2)
    _regimes(regimes, graphs, points, eta, rms, start_rms)
    _costs(costs, points)
    figure.suptitle(f"Before training: η = {eta:g}, rms(θ) = {rms:g}", fontsize=12)
    return figure


def _regimes(
    axes: Axes, graphs: Sequence[GraphPlan], points: Sequence[PointPlan], eta: float, rms: float, start_rms: float
) -> None:
    """The norm cap √(2η·SNR)/w: exact above rms(θ), collapse of the paper's gains near rms(θ⁰)."""
    asked = [point.snr_db for point in points]
    low, high = min([-9.0, *asked]) - 1, max([39.0, *asked]) + 1  # the edge cuts no marker in half
    snrs = np.linspace(low, high, 101)
    for index, plan in enumerate(graphs):
        again, place = divmod(index, len(LINES))
        line, dashes = GREYS[again % len(GREYS)], LINES[place]
        caps = [norm_cap(plan.edge_weight, eta, snr) for snr in snrs]
        axes.plot(snrs, caps, color=line, lw=2, ls=dashes, label=plan.name)
        mine = [point for point in points if point.graph == plan.name]
        axes.plot([p.snr_db for p in mine], [p.cap for p in mine], "o", color=line, ms=6)
    axes.set_yscale("log")
    edge = COLLAPSE_MARGIN * start_rms
    bottom, top = axes.get_ylim()
    bottom, top = min(bottom, max(edge, 1e-6) / 2), max(top, 2 * rms)
    bands = (
        (rms, top, "exact", "#009E73", 0.4),  # labels where the rising lines leave room
        (edge, rms, "power-limited", "#E69F00", 0.98),
        (bottom, min(edge, rms), "collapse (paper's gains)", "#D55E00", 0.98),
    )
    for lower, upper, name, shade, across in bands:
        if 0 < lower < upper:
            axes.axhspan(lower, upper, color=shade, alpha=0.12, lw=0)
            axes.annotate(
                name, (across, np.sqrt(lower * upper)), xycoords=("axes fraction", "data"), ha="right", va="center",
                fontsize=9, color="0.3",
            )  # fmt: skip
    axes.set(xlabel="SNR (dB)", ylabel="largest rms(θ) sent at full gain", xlim=(low, high), ylim=(bottom, top))
    axes.set_title("Which regime", fontsize=11)
    axes.legend(frameon=False, fontsize=9, loc="upper left")


def _costs(axes: Axes, points: Sequence[PointPlan]) -> None:
    """Latency against SNR; schemes that send all at once take one block."""
    rows = {
        "over the air, all at once": ("cd_dsgld:common", lambda p: p.over_the_air.latency_s, "D"),
        "Q-DSGD, all at once": ("q_dsgd", lambda p: p.q_dsgd_cost.latency_s, "^"),
        "digital whole models, one by one": ("sgld", lambda p: p.one_by_one.latency_s, "s"),
    }
    graphs = list(dict.fromkeys(point.graph for point in points))
    for name, (style, latency, marker) in rows.items():
        for index, graph in enumerate(graphs):
            mine = sorted((p for p in points if p.graph == graph), key=lambda p: p.snr_db)
            axes.plot(
                [p.snr_db for p in mine],
                [latency(p) for p in mine],
                color=colour(style),
                marker=marker,
                ms=5,
                lw=1.2,
                ls=LINES[index % len(LINES)],
                label=name if index == 0 else None,
            )
    axes.set_yscale("log")
    axes.set(xlabel="SNR (dB)", ylabel="latency of one iteration (s)")
    axes.set_title("What it costs", fontsize=11)
    axes.legend(edgecolor="0.8", fontsize=9)  # framed: a link budget has one SNR, whose markers would look like entries
