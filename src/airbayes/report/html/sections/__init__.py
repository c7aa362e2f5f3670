"""The sections of a report, in the order of the page. Each returns None where a run has nothing for it."""

from collections.abc import Callable

from airbayes.report.html.parts import Section
from airbayes.report.html.runs import Run
from airbayes.report.html.sections.accuracy import accuracy_section, scores_section
from airbayes.report.html.sections.claims import claims_section
from airbayes.report.html.sections.communication import communication_section
from airbayes.report.html.sections.confusion import confusion_section
from airbayes.report.html.sections.convergence import convergence_section
from airbayes.report.html.sections.decisions import decisions_section
from airbayes.report.html.sections.faults import faults_section
from airbayes.report.html.sections.gaussian import ellipses_section, gaussian_section
from airbayes.report.html.sections.mixing import mixing_section
from airbayes.report.html.sections.network import network_section
from airbayes.report.html.sections.objects import objects_section
from airbayes.report.html.sections.power import power_section
from airbayes.report.html.sections.reliability import reliability_section
from airbayes.report.html.sections.setup import setup_section
from airbayes.report.html.sections.strange import strange_section
from airbayes.report.html.sections.transition import transition_section

SECTIONS: tuple[Callable[[Run], Section | None], ...] = (
    accuracy_section,
    gaussian_section,
    ellipses_section,
    faults_section,
    claims_section,
    reliability_section,
    scores_section,
    confusion_section,
    decisions_section,
    strange_section,
    objects_section,
    network_section,
    transition_section,
    power_section,
    communication_section,
    convergence_section,
    mixing_section,
    setup_section,
)


def make_sections(run: Run) -> list[Section]:
    return [section for make in SECTIONS if (section := make(run)) is not None]
