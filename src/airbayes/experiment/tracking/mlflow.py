"""MLflow: one run a cell, in the experiment airbayes/NAME, on the server of MLFLOW_TRACKING_URI or in mlflow.db beside
the results (`mlflow ui --backend-store-uri sqlite:///runs/quick/mlflow.db`).

A cell's run is found again by its tags. What the file of events holds and the run does not is sent first: so steps are
there once, also if tracking is asked for only when a run goes on.
"""

import logging
import os
import time
from pathlib import Path
from typing import Any

from airbayes.errors import ResultsError
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.results import CellResult
from airbayes.experiment.tracking.base import Tracker
from airbayes.experiment.tracking.event_file import cell_of, read_events
from airbayes.experiment.tracking.tensorboard import IDENTITY

FOLDER_TAG, CELL_TAG = "airbayes.folder", "airbayes.cell"
STEP = "rms"  # in every snapshot: its history tells which steps were sent


class MLflow(Tracker):
    def __init__(self, folder: Path, config: ExperimentConfig, events: Path, *, anew: bool = False):
        from mlflow.exceptions import MlflowException  # pyright: ignore[reportMissingImports]
        from mlflow.tracking import MlflowClient  # pyright: ignore[reportMissingImports]

        logging.getLogger("mlflow").setLevel(logging.WARNING)  # not how it makes its tables
        own = f"sqlite:///{(folder / 'mlflow.db').resolve()}"
        uri = os.environ.get("MLFLOW_TRACKING_URI") or own
        self.folder, self.runs, self.sent = str(folder.resolve()), dict[Cell, str](), dict[Cell, set[int]]()
        try:
            self.client = MlflowClient(tracking_uri=uri)
            name = f"airbayes/{config.name}"
            found = self.client.get_experiment_by_name(name)
            artifacts = (folder / "mlruns").resolve().as_uri() if uri == own else None
            self.experiment: str = (
                found.experiment_id if found else self.client.create_experiment(name, artifact_location=artifacts)
            )
            if anew:
                for run in self._find():
                    self.client.delete_run(run.info.run_id)
            self._go_on(events)
        except MlflowException as error:
            raise ResultsError(f"MLflow at {uri}: {error}. Is MLFLOW_TRACKING_URI right?") from error

    def _find(self, cell: Cell | None = None) -> list[Any]:
        wanted = f"tags.`{FOLDER_TAG}` = '{self.folder}'"
        if cell is not None:
            wanted += f" and tags.`{CELL_TAG}` = '{cell}'"
        return list(self.client.search_runs([self.experiment], filter_string=wanted, max_results=10_000))

    def _go_on(self, events: Path) -> None:
        for line in read_events(events):
            if line["event"] == "metrics":
                values = {name: value for name, value in line.items() if name not in IDENTITY}
                self.metrics(cell_of(line), line["step"], values)

    def _run(self, cell: Cell) -> str:
        """The id of a cell's run, found or made."""
        if cell not in self.runs:
            found = self._find(cell)
            if found:
                identity = found[0].info.run_id
                self.sent[cell] = {metric.step for metric in self.client.get_metric_history(identity, STEP)}
            else:
                tags = {FOLDER_TAG: self.folder, CELL_TAG: str(cell)}
                identity = self.client.create_run(self.experiment, run_name=str(cell), tags=tags).info.run_id
                for name in ("method", "policy", "topology", "snr_db", "seed"):
                    if (value := getattr(cell, name)) is not None:
                        self.client.log_param(identity, name, value)
                self.sent[cell] = set()
            self.runs[cell] = identity
        return self.runs[cell]

    def metrics(self, cell: Cell, step: int, values: dict[str, float]) -> None:
        run = self._run(cell)
        if step in self.sent[cell]:
            return
        self.sent[cell].add(step)
        self._send(run, values, step)

    def _send(self, run: str, values: dict[str, float], step: int) -> None:
        from mlflow.entities import Metric  # pyright: ignore[reportMissingImports]
        from mlflow.exceptions import MlflowException  # pyright: ignore[reportMissingImports]

        now = int(1000 * time.time())
        try:
            self.client.log_batch(run, [Metric(name, value, now, step) for name, value in values.items()])
        except MlflowException as error:
            raise ResultsError(f"MLflow does not take metrics: {error}. What was computed is saved.") from error

    def result(self, result: CellResult) -> None:
        """Marks the cell's run as ended; the final metrics follow under the prefix `final_`, once."""
        run = self._run(result.cell)
        if result.metrics and not self.client.get_metric_history(run, "final_rms"):
            finite = {f"final_{name}": value for name, value in result.metrics.scalars.items() if abs(value) < 1e300}
            self._send(run, finite, 0)
        self.client.set_terminated(run, "FINISHED" if result.status == "ok" else "FAILED")

    def close(self) -> None:
        """Everything was sent at once."""
