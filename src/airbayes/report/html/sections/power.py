"""Power used against the limit."""

from airbayes.report.html.curves import Metric, against_snr, band_words
from airbayes.report.html.parts import Section
from airbayes.report.html.runs import Run

LIMIT = (1.0, "limit")
POWER = [
    Metric(
        "power_used_mean", "Mean power used / limit", 0.0, None, line=LIMIT, per_agent=True, dotted="power_used_max"
    ),
    Metric("rho_mean", "Mean gain ρ", 0.0, None, line=(1.0, "full gain"), per_agent=False, dotted="rho_min"),
]


def power_section(run: Run) -> Section | None:
    policies = [variant for variant in run.variants if variant.startswith("cd_")]
    if not policies or "power_used_mean" not in run.dataset or run.curves is None:
        return None
    run = run.curves
    figure = against_snr(run, POWER, "Power used as a share of the limit, and gain, against SNR", variants=policies)
    if figure is None:
        return None
    return Section(
        "power",
        "Power used against the limit",
        "Every transmitter has a power limit, drawn at 1; the curve is what was used on average after burn-in, the "
        "dotted one the most in any block of the run. Where the limit is used up the gain ρ falls below 1, and the "
        "model that arrives is a weaker copy of the one that was sent.",
        (figure,),
        notes=("Dotted, below: the smallest gain of any agent in any block.", band_words(run, figure)),
    )
