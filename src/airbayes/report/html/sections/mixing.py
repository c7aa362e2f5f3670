"""R-hat and ESS: are these samples of the posterior, or of the start?"""

from airbayes.experiment.config import SAMPLING_METHODS
from airbayes.report.files import RHAT_LIMIT
from airbayes.report.html.curves import Metric, against_snr, band_words, line_words
from airbayes.report.html.parts import Section
from airbayes.report.html.runs import Run
from airbayes.report.html.sections.accuracy import against
from airbayes.text import plural

METRICS = [
    Metric("rhat", "R-hat", 1.0, None, True, per_agent=False, line=(RHAT_LIMIT, f"mixed below {RHAT_LIMIT}")),
    Metric("ess", "Effective sample size", None, None, True, per_agent=False),
]


def mixing_section(run: Run) -> Section | None:
    samplers = [variant for variant in run.variants if variant.partition(":")[0] in SAMPLING_METHODS]
    if "rhat" not in run.dataset or not samplers:
        return None
    figure = against_snr(
        run, METRICS, f"R-hat and effective sample size{against(run)}", variants=samplers, transitions=False
    )
    poor, known = int((run.dataset.rhat > RHAT_LIMIT).sum()), int(run.dataset.rhat.notnull().sum())
    if not known:
        return None
    verdict = (
        f"R-hat is above {RHAT_LIMIT} in {poor} of {plural(known, 'cell')}: read those as results of this protocol, "
        "not as samples of the posterior."
        if poor
        else f"R-hat is at most {RHAT_LIMIT} in {'all ' if known > 1 else ''}{plural(known, 'cell')}."
    )
    seeds = f", the mean over seeds. {band_words(run, figure)}" if run.seeds > 1 and figure is not None else ""
    seeds = seeds.rstrip(". ")
    return Section(
        "mixing",
        "Have the chains mixed?",
        "R-hat compares parts of a chain, or several chains, with each other: near 1 they tell the same story, above "
        f"{RHAT_LIMIT} they have not yet forgotten where they began. The effective sample size is how many independent "
        "samples the kept ones are worth.",
        () if figure is None else (figure,),  # methods without a radio and a graph: the sentence alone
        notes=(
            verdict,
            ""
            if figure is None
            else f"The worst of the monitored quantities in each cell{seeds}. {line_words(figure)}",
        ),
    )
