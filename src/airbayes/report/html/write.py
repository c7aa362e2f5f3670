"""Writes the report beside the results."""

from collections.abc import Sequence
from pathlib import Path

from airbayes.experiment.store import REPORT_FILE
from airbayes.files import write_text
from airbayes.report.html.page import render_page
from airbayes.report.html.runs import Run

REPORT = REPORT_FILE


def write_report(runs: Sequence[Run], out: Path) -> Path:
    write_text(out, render_page(runs))
    return out
