"""Accuracy and calibration against SNR: the form of the paper's Fig. 2; and the other scores."""

from airbayes.report.html.curves import Metric, against_snr, band_words, line_words
from airbayes.report.html.parts import Section
from airbayes.report.html.runs import Run

FIG2 = [Metric("accuracy", "Accuracy", None, 1.0), Metric("ece", "ECE", 0.0, 1.0)]
OTHERS = [
    Metric("nll", "NLL (nats)", 0.0, log=True),
    Metric("brier", "Brier score", 0.0, 2.0),
    Metric("balanced_accuracy", "Balanced accuracy", None, 1.0),
    Metric("mce", "MCE", 0.0, 1.0),
    Metric("entropy", "Entropy (nats)", 0.0),
    Metric("mutual_information", "Mutual information (nats)", 0.0),
    Metric("sample_accuracy", "Accuracy of one sample", None, 1.0, per_agent=False),
    Metric("sample_ece", "ECE of one sample", 0.0, 1.0, per_agent=False),
    Metric("tempered_ece", "ECE after temperature scaling", 0.0, 1.0),
    Metric("early_ece", "ECE, stopped early", 0.0, 1.0),
    Metric("polyak_ece", "ECE of the average iterate", 0.0, 1.0),
    Metric("ensemble_ece", "ECE of all chains together", 0.0, 1.0),
]


def against(run: Run) -> str:
    return " against SNR" if run.snrs else ", methods beside each other"


def accuracy_section(run: Run) -> Section | None:
    if run.linear or run.curves is None:
        return None
    faults, run = run.scenarios, run.curves
    figure = against_snr(run, FIG2, f"Accuracy and expected calibration error{against(run)}, one column per graph")
    if figure is None:
        return None
    notes = [band_words(run, figure), line_words(figure)]
    if any(
        "x" in series and any(series.get("hollow", ()))
        for panel in figure.frames[next(iter(figure.frames))]
        for series in panel["series"]
    ):
        notes.append(
            f"Hollow points: {'a seed has' if run.seeds > 1 else 'the run has'} a "
            f"{run.floor_words}, near guessing; a small ECE means nothing there."
        )
    if faults:
        notes.append("The fault scenarios are in the next section.")
    return Section(
        "accuracy",
        "Accuracy and honesty against radio quality" if run.snrs else "Accuracy and honesty over ideal links",
        "Accuracy is the share of objects named correctly; ECE is the gap between how sure the model says it is "
        "and how often it is right, 0 being perfectly honest. "
        + (
            ("The further right, the cleaner the radio channel between the agents." if len(run.snrs) > 1 else "")
            if run.snrs
            else "No method of this run has a radio, so nothing depends on an SNR."
        ),
        (figure,),
        notes=tuple(notes),
    )


def scores_section(run: Run) -> Section | None:
    if run.linear or run.curves is None:
        return None
    run = run.curves
    figure = against_snr(run, OTHERS, f"Other scores{against(run)}", choose_metric=True)
    if figure is None:
        return None
    return Section(
        "scores",
        "Other scores",
        "NLL and the Brier score punish answers that are wrong and sure at once, so they judge accuracy and honesty "
        "together: smaller is better. Mutual information is the part of the doubt that more data could remove.",
        (figure,),
        notes=(
            "Temperature scaling, early stopping and averaging are remedies of over-confidence that need no sampler.",
            band_words(run, figure),
        ),
    )
