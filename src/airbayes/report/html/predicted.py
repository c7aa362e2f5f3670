"""Stored predictions of the objects that are scored, read cell by cell where a section asks."""

from airbayes.errors import AirbayesError
from airbayes.experiment.prediction_files import Part, read_prediction, stored_predictions
from airbayes.experiment.sample_files import StoredCell
from airbayes.report.html.runs import Run


def stored_cells(run: Run) -> list[StoredCell]:
    """The cells that have predictions; none in runs from before they were stored, or whose files are damaged."""
    try:
        return stored_predictions(run.folder)
    except AirbayesError:
        return []


def at_best_link(rows: list[StoredCell], variant: str, topology: str) -> list[StoredCell]:
    """All seeds of a variant on a graph at its highest SNR (ideal links where it has no radio), lowest seed first."""
    mine = [row for row in rows if row.cell.variant == variant and row.topology in (None, topology)]
    snrs = [row.snr_db for row in mine if row.snr_db is not None]
    chosen = [row for row in mine if not snrs or row.snr_db == max(snrs)]
    return sorted(chosen, key=lambda row: row.seed)


def read_part(run: Run, row: StoredCell) -> Part | None:
    try:
        return read_prediction(run.folder, row).test
    except AirbayesError:
        return None
