"""Where the power limit begins to bite: predicted before the run, observed in it."""

import math

import numpy as np

from airbayes.power import transition_snr_db
from airbayes.report.html.cells import mean
from airbayes.report.html.curves import Metric, against_snr
from airbayes.report.html.numbers import decimals
from airbayes.report.html.parts import Cell, Section, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import short

HALF = 0.5


def transition_section(run: Run) -> Section | None:
    policies = [variant for variant in run.variants if variant.startswith("cd_")]
    if not policies or "unit_gain_mean" not in run.dataset or run.scenarios:
        return None
    full_gain = Metric("unit_gain_mean", "Share of messages at full gain", 0.0, 1.0, per_agent=False)
    figure = against_snr(run, [full_gain], "Share of messages sent at full gain, against SNR", variants=policies)
    if figure is None:
        return None
    rows = []
    for topology in run.topologies:
        predicted = run.transition(topology)
        for variant in policies:
            cells = run.cells(variant, topology)
            if cells is None:
                continue
            share = mean(cells.ok("unit_gain_mean"), 1)
            rms = float(mean(cells.ok("rms")[-1])) if "rms" in cells else math.nan
            rows.append(
                (
                    show_topology(topology),
                    Cell(short(variant), variant),
                    "–" if predicted is None else f"{predicted:.1f} dB".replace("-", "−"),
                    _from_rms(run, topology, rms),
                    crossing_words(run.snrs, share),
                    decimals(rms),
                )
            )
    head = ("graph", "method", "predicted", "predicted from rms(θ) reached", "observed", "rms(θ) at highest SNR")
    unknown = not run.transitions  # the run's data are elsewhere, say: a column that says nothing
    if unknown:
        head, rows = _without(2, head), [_without(2, row) for row in rows]
    table = Table("Transition SNR, predicted and observed", head, tuple(rows), words=(0, 1))
    drawn = any("upright" in panel for frame in figure.frames.values() for panel in frame)
    return Section(
        "transition",
        "Where the power limit begins to bite",
        "A model with large numbers in it needs a loud signal; below a certain radio quality, the transition SNR, "
        "it no longer fits the power limit and must be sent with less gain. "
        + ("The dotted line is where theory puts that point before the run. " if drawn else "")
        + "The curves show how many messages really went out at full gain.",
        (figure,),
        (table,),
        notes=(
            "Observed: where half of the messages after burn-in have full gain, on the line between the two SNRs "
            "in brackets.",
            "No prediction from before the run: it needs the run's data, and one weight for all links."
            if unknown
            else "",
        ),
    )


def _without(place: int, row: tuple) -> tuple:
    return row[:place] + row[place + 1 :]


def crossing(snrs: list[float], share: np.ndarray) -> float | None:
    """The SNR at which the share first reaches one half, linear between points; None where it never crosses."""
    for i in range(1, len(snrs)):
        below, above = float(share[i - 1]), float(share[i])
        if below < HALF <= above:
            return snrs[i - 1] + (HALF - below) / (above - below) * (snrs[i] - snrs[i - 1])
    return None


def crossing_words(snrs: list[float], share: np.ndarray) -> str:
    found = crossing(snrs, share)
    if found is not None:
        below = max(snr for snr in snrs if snr <= found)
        above = min(snr for snr in snrs if snr >= found)
        return f"{found:.1f} dB ({below:g} to {above:g})".replace("-", "−")
    known = share[np.isfinite(share)]
    if not len(known):
        return "–"
    return f"below {snrs[0]:g} dB" if known[0] >= HALF else f"above {snrs[-1]:g} dB"


def _from_rms(run: Run, topology: str, rms: float) -> str:
    found = run.edge_weights(topology)
    if found is None or not isinstance(found[1], float) or not math.isfinite(rms) or rms <= 0:
        return "–"
    snr = transition_snr_db(found[1], run.config.sampling.eta, rms)
    return f"{snr:.1f} dB".replace("-", "−") if math.isfinite(snr) else "–"
