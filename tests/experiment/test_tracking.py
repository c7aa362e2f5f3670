"""Metrics in files and trackers: complete, read back with the trackers' own readers, and once each after an
interruption."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from airbayes.errors import ConfigError, ResultsError
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import enumerate_cells
from airbayes.experiment.config import ExperimentConfig, NetworkConfig, SamplingConfig
from airbayes.experiment.grid import run_grid, run_variants
from airbayes.experiment.journal import Journal, Stopped
from airbayes.experiment.reporter import Several, Silent
from airbayes.experiment.tracking import (
    EVENTS,
    EventFile,
    TrackingReporter,
    check_trackers,
    open_trackers,
    tracked_in,
)
from airbayes.experiment.tracking.event_file import read_events
from airbayes.experiment.tracking.tensorboard import run_name

CONFIG = ExperimentConfig(
    name="tracked",
    methods=("dsgld",),
    evaluations=4,
    network=NetworkConfig(topologies=("full", "ring")),
    sampling=SamplingConfig(eta=1e-3, steps=40, burn_in=10, thin=5),
)
NAMES = [name for name in ("tensorboard", "mlflow") if importlib.util.find_spec(name)]
STEPS = [10, 20, 30, 40]


class Watch(Silent):
    """Remembers snapshots, and lets a run be stopped after some steps."""

    def __init__(self):
        self.seen = {}
        self.steps = 0

    def snapshot(self, cells, step, values, lost):
        for index, cell in enumerate(cells):
            self.seen[cell, step] = float(values["rms"][index])

    def advance(self, cells, step):
        self.steps += 1


@pytest.fixture(scope="module")
def tracked(tmp_path_factory) -> tuple[Path, dict]:
    """A run that was stopped twice and went on, with every tracker that is installed."""
    folder = tmp_path_factory.mktemp("tracked")
    watch = Watch()
    for stop_at in (2, 3, 1000):
        stop = lambda last=stop_at: "the test" if watch.steps >= last else None  # noqa: E731
        journal = Journal(folder, every_s=1e9, stop=stop)
        goes_on = journal.begin(CONFIG)
        trackers = open_trackers(NAMES, folder, CONFIG, anew=not goes_on)
        try:
            for _ in run_variants(Builder(CONFIG), Several([watch, TrackingReporter(trackers)]), journal):
                pass
        except Stopped:
            assert stop_at < 1000
        finally:
            for tracker in trackers:
                tracker.close()
        if stop_at == 2:  # killed while it wrote a line, and before the last state was saved
            lines = (folder / EVENTS).read_text().splitlines(keepends=True)
            (folder / EVENTS).write_text("".join(lines[:-1]) + lines[-1][:20])
    return folder, watch.seen


def test_every_metric_is_in_the_file_once(tracked):
    folder, seen = tracked
    lines = read_events(folder / EVENTS)
    metrics = [line for line in lines if line["event"] == "metrics"]
    keys = [(line["method"], line["topology"], line["step"]) for line in metrics]
    assert len(keys) == len(set(keys))
    assert len([line for line in lines if line["event"] == "result"]) == 2
    assert len(keys) == 2 * 4  # also the line that was cut off, whose step was not computed again
    found = {(cell.method, cell.topology, step): value for (cell, step), value in seen.items()}
    assert [line["rms"] for line in metrics] == [found[key] for key in keys]


def test_what_was_finished_before_is_told_again(tracked, tmp_path):
    """Of cells that other processes computed the journal holds the results alone."""
    folder, _ = tracked
    events, journal = EventFile(tmp_path), Journal(folder)
    assert journal.begin(CONFIG)
    for _ in run_variants(Builder(CONFIG), TrackingReporter([events]), journal):
        pass
    events.close()
    assert read_events(tmp_path / EVENTS) == [
        {name: value for name, value in line.items() if line["event"] == "result" or name != "w2_agent"}
        for line in read_events(folder / EVENTS)
    ]


def test_told_twice_kept_once_and_forgotten_when_a_run_begins_anew(tmp_path):
    cells = enumerate_cells(CONFIG)
    values, lost = {"rms": np.array([0.5, np.nan])}, np.zeros(2, bool)
    for anew, expected in ((False, 2), (False, 2), (True, 2)):
        events = EventFile(tmp_path, anew=anew)
        told = TrackingReporter([events])
        told.snapshot(cells, 10, values, lost)
        told.snapshot(cells, 10, values, lost)
        events.close()
        lines = [json.loads(line) for line in (tmp_path / EVENTS).read_text().splitlines()]
        assert len(lines) == expected
        assert [line.get("rms") for line in lines] == [0.5, None]  # JSON has no NaN


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / EVENTS).write_text('{"event": "metrics"}\nnonsense\n')
    with pytest.raises(ResultsError, match="line 2"):
        EventFile(tmp_path)


@pytest.mark.skipif("tensorboard" not in NAMES, reason="TensorBoard is not installed")
def test_tensorboard_reads_every_step_once(tracked):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder, seen = tracked
    cells = {cell for cell, _ in seen}
    assert {path.name for path in (folder / "tensorboard").iterdir()} == {run_name(cell) for cell in cells}
    points = 0
    for cell in cells:
        reader = EventAccumulator(str(folder / "tensorboard" / run_name(cell)))
        reader.Reload()
        found = reader.Scalars("rms")
        steps = [point.step for point in found]
        assert steps == sorted(set(steps))
        points += len(steps)
        for point in found:
            assert point.value == pytest.approx(seen[cell, point.step], rel=1e-6)
    assert points == 2 * 4


@pytest.mark.skipif("mlflow" not in NAMES, reason="MLflow is not installed (pip install 'airbayes[mlflow]')")
def test_mlflow_has_every_step_once(tracked):
    from mlflow.tracking import MlflowClient  # pyright: ignore[reportMissingImports]

    folder, seen = tracked
    client = MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("airbayes/tracked")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert len(runs) == 2
    for run in runs:
        (cell,) = {cell for cell, _ in seen if str(cell) == run.data.tags["airbayes.cell"]}
        history = client.get_metric_history(run.info.run_id, "rms")
        assert [point.step for point in history] == STEPS
        assert all(point.value == seen[cell, point.step] for point in history)
        assert run.data.params["topology"] == cell.topology
        assert len(client.get_metric_history(run.info.run_id, "final_rms")) == 1
        assert run.info.status == "FINISHED"


def test_a_missing_package_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'airbayes\[mlflow\]'"):
        check_trackers(("tensorboard", "mlflow"))
    with pytest.raises(ConfigError, match="Unknown tracker 'wandb'"):
        check_trackers(("wandb",))


def test_w2_of_a_linear_problem_is_told_while_it_runs():
    """The last glimpse is the W2 of the finished cell."""

    class Last(Silent):
        def snapshot(self, cells, step, values, lost):
            self.values = dict(zip(cells, values["w2_agent"], strict=True))
            assert not lost.any()

    last = Last()
    results = run_grid(CONFIG, last)
    for result in results:
        assert result.metrics is not None
        assert last.values[result.cell] == result.metrics.scalars["w2_agent"]
    assert np.unique(list(last.values.values())).size == 2


@pytest.mark.parametrize(("server", "more"), [(True, ""), (False, "  (first: pip install mlflow)")])
def test_what_was_tracked_is_named_with_how_to_look_at_it(tmp_path, monkeypatch, server, more):
    """The extra brings a part of MLflow that has no server: its `mlflow ui` ends with a traceback."""
    monkeypatch.setattr("airbayes.experiment.tracking.open.find_spec", lambda name: server or None)
    folder = tmp_path / "my run"
    folder.mkdir()
    (folder / "mlflow.db").touch()
    found = tracked_in(["tensorboard", "mlflow"], folder)
    assert found == {"mlflow.db": f"mlflow ui --backend-store-uri 'sqlite:///{folder}/mlflow.db'{more}"}
    assert tracked_in([], folder) == {}
