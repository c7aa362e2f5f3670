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

SHRUNK = (
    "Optimal and truncated gains below 1 shrink the model at every step, until it fits the limit: a mean gain near 1 "
    "where the power is used up belongs to a model that has shrunk (rms(θ) in the section Over the run)."
)


def shrinks(run: Run) -> bool:
    """Whether a gain is near 1, but not 1, because the model has shrunk: one gain agreed by all shrinks nothing."""
    names = [variant for variant in run.variants if variant.startswith("cd_") and not variant.endswith(":common")]
    if not names or "rho_mean" not in run.dataset:
        return False
    found = run.dataset[["rho_mean", "power_used_mean"]].sel({"method": names})
    return bool(((found.rho_mean > 0.9) & (found.rho_mean < 0.9995) & (found.power_used_mean > 0.9)).any())


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
        notes=(
            SHRUNK if shrinks(run) else "",
            "Dotted, below: the smallest gain of any agent in any block.",
            band_words(run, figure),
        ),
    )
