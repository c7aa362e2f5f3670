"""Where the power limit begins to bite: predicted before the run, observed in it."""

import itertools
import math

import numpy as np

from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.scenario import simulated_faults
from airbayes.power import transition_snr_db
from airbayes.report.html.cells import mean
from airbayes.report.html.curves import Metric, against_snr
from airbayes.report.html.numbers import decibels, decimals, units_kept
from airbayes.report.html.parts import Cell, Section, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import short

HALF = 0.5
TITLE = "Where the power limit begins to bite"
MEANING = (
    "A model with large numbers in it needs a loud signal; below a certain radio quality, the transition SNR, it no "
    "longer fits the power limit and must be sent with less gain. "
)


def transition_section(run: Run) -> Section | None:
    policies = [variant for variant in run.variants if variant.startswith("cd_")]
    if not policies or run.curves is None:
        return None
    run = run.curves
    if "unit_gain_mean" not in run.dataset:
        return _only_predicted(run, "no CD-DSGLD run ended well, so nothing was observed.")
    if not _counts_gains(run.config):
        return _only_predicted(
            run,
            "messages at full gain are counted over exact links with Gaussian noise and a plain receiver only, so "
            "nothing was observed. The gains themselves are in the next section.",
        )
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
                    "–" if predicted is None else _decibels(predicted),
                    _from_rms(run, topology, rms),
                    crossing_words(crossing(run.snrs, share), predicted),
                    decimals(rms),
                )
            )
    head = ("graph", "method", "predicted", "predicted from rms(θ) reached", "observed", "rms(θ) at highest SNR")
    unknown = not run.transitions  # the run's data are elsewhere, say: a column that says nothing
    if unknown:
        head, rows = _without(2, head), [_without(2, row) for row in rows]
    table = Table("Transition SNR, predicted and observed", head, tuple(rows), words=(0, 1) if unknown else (0, 1, 4))
    drawn = any("upright" in panel for frame in figure.frames.values() for panel in frame)
    return Section(
        "transition",
        TITLE,
        MEANING
        + ("The dotted line is where theory puts that point before the run. " if drawn else "")
        + "The curves show how many messages really went out at full gain.",
        (figure,),
        (table,),
        notes=(
            "Observed: the two measured SNRs between which half of the messages after burn-in come to have full gain; "
            "where in between is not known."
            + (
                " The prediction is for a typical θ at full gain. Optimal and truncated gains below 1 shrink θ, and a "
                "smaller θ fits the limit at a lower SNR."
                if not unknown and any(not variant.endswith(":common") for variant in policies)
                else ""
            ),
            "No prediction from before the run: it needs the run's data, and one weight for all links."
            if unknown
            else "",
        ),
    )


def _counts_gains(config: ExperimentConfig) -> bool:
    """`unit_gain` is 0 at any gain where a block cannot be DSGLD's; a fault of one scenario is simulated in all."""
    faults = simulated_faults(config)
    return config.channel.receiver == "plain" and not (faults.gain_error or faults.impulses or faults.jammer)


def _only_predicted(run: Run, unseen: str) -> Section | None:
    """What theory said before the runs is known, whatever hid the rest."""
    rows = tuple(
        (show_topology(name), _decibels(predicted))
        for name in run.topologies
        if (predicted := run.transition(name)) is not None
    )
    if not rows:  # nothing predicted, or only for graphs that are not in the results
        return None
    return Section(
        "transition",
        TITLE,
        f"{MEANING}The table says where theory puts that point before the run; {unseen}",
        tables=(Table("Transition SNR, predicted", ("graph", "predicted"), rows),),
    )


def _decibels(snr: float) -> str:
    return units_kept(f"{snr:.1f} dB").replace("-", "−")


def _without(place: int, row: tuple) -> tuple:
    return row[:place] + row[place + 1 :]


def crossing(snrs: list[float], share: np.ndarray) -> tuple[float, float] | None:
    """The two measured SNRs between which the share first reaches one half; an end is infinite where all lie beyond."""
    known = [(snr, float(value)) for snr, value in zip(snrs, share, strict=True) if math.isfinite(value)]
    if not known:
        return None
    if known[0][1] >= HALF:
        return -math.inf, known[0][0]
    for (below, _), (above, value) in itertools.pairwise(known):
        if value >= HALF:
            return below, above
    return known[-1][0], math.inf


def crossing_words(found: tuple[float, float] | None, predicted: float | None) -> str:
    """The interval, and whether the prediction lies in it: more than that the measured SNRs do not say."""
    if found is None:
        return "–"
    below, above = found
    if math.isinf(below):
        words = f"below {decibels(above)}"
    else:
        words = f"above {decibels(below)}" if math.isinf(above) else f"{below:g} to {decibels(above)}"
    words = words.replace("-", "−")
    if predicted is None:
        return words
    if below <= predicted <= above:
        return f"{words}, as predicted"
    return f"{words}, {'earlier' if predicted > above else 'later'} than predicted"


def _from_rms(run: Run, topology: str, rms: float) -> str:
    found = run.edge_weights(topology)
    if found is None or not isinstance(found[1], float) or not math.isfinite(rms) or rms <= 0:
        return "–"
    snr = transition_snr_db(found[1], run.config.sampling.eta, rms)
    return _decibels(snr) if math.isfinite(snr) else "–"
