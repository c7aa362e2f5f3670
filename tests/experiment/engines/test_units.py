"""Units of work, tasks and the standing of a sweep."""

import io
import pickle
import pickletools
import time
from types import SimpleNamespace

import pytest
from experiment.engines.sweeps import LINEAR
from rich.console import Console

from airbayes.cli.sweep_table import Lines, draw, show_sweep
from airbayes.experiment.cells import enumerate_cells
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.engines.on_dask import OnDask, run_task
from airbayes.experiment.engines.sweep import Sweep
from airbayes.experiment.engines.units import cells_at, share_of, too_few_units, units_of
from airbayes.experiment.engines.work import Task, work
from airbayes.experiment.engines.workforce import Patience
from airbayes.experiment.journal import Journal
from airbayes.experiment.toml_io import parse_config

CONFIG = ExperimentConfig(methods=("dsgld", "cd_dsgld"), policies=("optimal", "common"), seeds=3, cells_per_batch=4)


def test_units_cover_every_cell_once_and_mix_no_variants():
    units = units_of(CONFIG)
    places = [place for unit in units for place in unit.cells]
    assert sorted(places) == list(range(len(enumerate_cells(CONFIG))))
    for unit in units:
        cells = cells_at(CONFIG, unit.cells)
        assert 1 <= len(cells) <= 4
        assert {cell.variant for cell in cells} == {unit.variant}
    assert [unit.number for unit in units] == list(range(len(units)))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 50])
def test_shares_are_disjoint_and_complete(count):
    units = units_of(CONFIG)
    shares = [share_of(units, index, count) for index in range(count)]
    assert sorted((unit for share in shares for unit in share), key=lambda unit: unit.number) == units
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_too_few_units_names_the_setting():
    assert too_few_units(CONFIG, 5, 5) is None
    text = too_few_units(parse_config(LINEAR.replace("cells_per_batch = 1", "")), 1, 3)
    assert text is not None
    assert "2 will be idle" in text
    assert "cells_per_batch = 0" in text
    assert "--cells-per-batch" in text
    one_each = too_few_units(parse_config(LINEAR), 4, 5)
    assert one_each is not None
    assert "--cells-per-batch" not in one_each  # no setting would help


def test_a_task_is_text_and_names_its_entry_point():
    """Whatever Dask pickles holds one name of ours, that of the function, and otherwise strings and numbers."""
    task = Task("/runs/a", LINEAR, "0123", (0, 5), 60.0)
    assert Task.from_text(task.to_text()) == task
    raw = pickle.dumps((run_task, task.to_text(), "topic", 3), protocol=5)
    strings, named = [], []
    for code, argument, _ in pickletools.genops(raw):
        if "UNICODE" in code.name:
            strings.append(argument)
        if code.name == "STACK_GLOBAL":
            named.append(tuple(strings[-2:]))
    assert named == [("airbayes.experiment.engines.on_dask", "run_task")]


def refused(tmp_path, **changes) -> str:
    config = parse_config(LINEAR)
    journal = Journal(tmp_path)
    journal.begin(config)
    fields = {"folder": str(tmp_path), "config": LINEAR, "run": journal.run, "cells": (0,), "every_s": 60.0} | changes
    outcome = work(Task(**fields), lambda step, resumed: None, lambda: None, lambda text: None)
    assert outcome.state == "failed"
    return outcome.text


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path):
    assert "All machines need to see one file system" in refused(tmp_path, folder=str(tmp_path / "elsewhere"))


def test_a_task_of_a_run_that_was_started_over_is_not_computed(tmp_path):
    assert "was started over" in refused(tmp_path, run="another")


def test_a_worker_of_another_release_is_refused(tmp_path):
    assert "started with 0.0.0" in refused(tmp_path, version="0.0.0")


def test_records_of_a_run_that_was_started_over_are_not_taken(tmp_path):
    """A worker of a run before --force may still be at work: it writes where the new run does not look."""
    config = parse_config(LINEAR)
    cells = cells_at(config, (0,))
    old, new = Journal(tmp_path), Journal(tmp_path)
    old.begin(config)
    new.clear()
    new.begin(config)
    assert old.place(cells) != new.place(cells)
    again = Journal(tmp_path)
    again.begin(config)
    assert again.place(cells) == new.place(cells)


def make_sweep(show=lambda sweep: None) -> Sweep:
    return Sweep(units_of(parse_config(LINEAR)), 2, 8000, show)


def test_nothing_is_left_of_a_sweep_without_units():
    assert Sweep([], 3, 8000, lambda sweep: None).eta_s() == 0.0


def test_counts_and_time_left():
    sweep = make_sweep()
    assert sweep.eta_s() is None
    sweep.reached(0, 2000, True, "a")  # went on from there: those steps say nothing about the speed
    assert sweep.eta_s() is None
    sweep.reached(0, 4000, False, "a")
    sweep.change(1, "failed", "broken")
    sweep.started = time.monotonic() - 10.0  # 2000 steps in 10 s; 4000 + 2 · 8000 are left
    assert sweep.eta_s() == pytest.approx(100.0, rel=0.02)
    assert sweep.counts() == {"queued": 2, "running": 1, "done": 2, "failed": 1, "resumed": 1}
    sweep.change(0, "done")
    sweep.reached(0, 4200, False, "a")  # a message that comes late
    assert sweep.counts() == {"queued": 2, "running": 0, "done": 3, "failed": 1, "resumed": 1}


class Forsaken:
    """A Dask client whose only worker takes a task and is never seen again."""

    id, status, scheduler = "none", "running", SimpleNamespace(address="tcp://nowhere:1")

    def __init__(self):
        self.workers = [{"one": 1}]
        self.looks = 0

    def nthreads(self) -> dict[str, int]:
        self.looks += 1
        assert self.looks < 10, "it waits for ever"
        return self.workers.pop() if self.workers else {}

    def subscribe_topic(self, topic, handler) -> None:
        pass

    def submit(self, function, *args, pure) -> SimpleNamespace:
        return SimpleNamespace(status="pending")


def test_a_sweep_that_is_to_stop_does_not_wait_for_workers_that_are_gone(monkeypatch):
    monkeypatch.setattr("airbayes.experiment.engines.on_dask.WORKERS_S", 0.0)
    client, asked = Forsaken(), []
    task_of = lambda unit: Task("/runs/a", LINEAR, "0123", unit.cells, 60.0)  # noqa: E731
    stop = lambda: "Ctrl-C" if client.looks > 2 else None  # noqa: E731
    patience = Patience("tcp://nowhere:1", 60.0, "", lambda text: None)
    running = OnDask(client, make_sweep(), task_of, stop, asked.append, lambda text: None, patience)
    running.run()
    assert asked == ["Ctrl-C"]
    assert len(running.out) == 1


def test_lines_where_there_is_no_terminal():
    out = io.StringIO()
    lines = Lines(Console(file=out, width=120))
    sweep = make_sweep(lines)
    sweep.reached(0, 200, False, "a")
    sweep.reached(0, 400, False, "a")  # steps alone are no news
    sweep.change(0, "done")
    text = out.getvalue().splitlines()
    assert len(text) == 3
    assert text[1].startswith("units: 3 queued, 1 running, 2 done, 0 failed, 0 resumed; time left: ")


def test_a_live_table_on_a_terminal():
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True)
    with show_sweep(console) as show:
        sweep = make_sweep(show)
        sweep.reached(3, 200, True, "tls://127.0.0.1:1234")
    text = out.getvalue()
    assert "unit 3 (sgld, 1 cell)" in text
    assert "tls://127.0.0.1:1234" in text
    for word in ("queued", "running", "done", "failed", "resumed", "time left"):
        assert word in text
    console.print(draw(sweep))
