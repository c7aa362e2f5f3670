"""All that stands beside the results of a folder and follows from them: figures, cells.csv, verdicts, the page."""

from pathlib import Path
from typing import NamedTuple

import xarray as xr

from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.store import CLAIMS_FILE
from airbayes.report.claims import ClaimRecord, claims_table, missing_for_claims, write_claims
from airbayes.report.files import write_report_files
from airbayes.report.html import REPORT, make_run, write_report


class Beside(NamedTuple):
    """What was written."""

    names: list[str]  # of the files, but for the page
    records: list[ClaimRecord]  # verdicts; empty where nothing could be scored
    page: Path


def write_beside(folder: Path, config: ExperimentConfig, dataset: xr.Dataset) -> Beside:
    """Write it for results that are complete."""
    names = write_report_files(dataset, config, folder)
    records = []
    if not missing_for_claims(dataset) and dataset.attrs.get("evaluated_on") != "validation":
        records = claims_table(dataset)
        if any(record.verdict != "not measured" for record in records):
            write_claims(folder, dataset, records)
            names.append(CLAIMS_FILE)
        else:
            records = []
    return Beside(names, records, write_report([make_run(folder, config, dataset)], folder / REPORT))
