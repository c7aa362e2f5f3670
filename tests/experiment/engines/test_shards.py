"""Shares of a sweep, one process each: together they are the whole, and one that fails hurts no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from experiment.engines.sweeps import SOFTMAX, assert_same_files, places

from airbayes.cli.main import main
from airbayes.experiment.engines.work import UNIT_LOCK
from airbayes.experiment.failures import FAILED
from airbayes.experiment.store import run_lock


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["run", "small.toml", *args])
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The results of a run in one piece."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "small.toml").write_text(SOFTMAX)
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert run("--out", "whole", "--quiet") == 0
    finally:
        os.chdir(before)
    assert len(list((folder / "whole" / "samples").glob("*.npz"))) == 4
    return folder / "whole"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SOFTMAX)
    return tmp_path


def test_two_shards_are_the_whole_in_any_order(home, whole, capsys):
    assert run("--out", "out", "--shard=1/2") == 0
    text = capsys.readouterr().err
    assert "Shard 1/2 is done: 2 of 4 units. Other shards have 2 left;" in text
    assert not (home / "out" / "results.nc").exists()
    assert run("--out", "out", "--shard=1/2") == 0  # nothing to do, and nothing done twice
    assert "0 queued, 0 running, 2 done, 0 failed, 0 resumed" in capsys.readouterr().err
    assert run("--out", "out", "--shard=0/2") == 0
    assert "Written to out" in capsys.readouterr().out
    assert_same_files(whole, home / "out")
    assert run("--out", "out", "--shard=0/2") == 0
    assert "already holds this experiment, complete" in capsys.readouterr().out


@pytest.mark.parametrize("engine", [["--shard=0/1"], []], ids=["shard", "plain"])
def test_a_unit_that_fails_is_reported_and_tried_again(home, whole, capsys, engine):
    assert run("--out", "out", "--shard=0/1", "--time-limit=0.001") == 75
    poisoned = places(home / "out", SOFTMAX)[1]
    poisoned.mkdir()
    (poisoned / "done").write_text("no folder")  # its results cannot be stored
    capsys.readouterr()
    assert run("--out", "out", *engine, "--quiet", "--json") == 1
    events, text = capsys.readouterr()
    *before, last = map(json.loads, events.splitlines())
    if not engine:
        (failed,) = [event for event in before if event["event"] == "failed"]
        assert [cell["seed"] for cell in failed["cells"]] == [1]
        assert "Could not write" in failed["error"]
        (finished,) = [event for event in before if event["event"] == "finish"]
        assert [cell["seed"] for cell in finished["cells"]] == [0, 2, 3]
    assert (last["event"], last["status"], last["reason"]) == ("done", "incomplete", "some units failed")
    assert "1 of 4 units failed; the same command tries it again" in text
    assert "unit 1 (sgld, 1 cell): ResultsError: Could not write" in text
    assert "cells: sgld no network ideal seed 1\n" in text
    assert f"details: {poisoned.relative_to(home) / FAILED}" in text
    assert "Traceback" in (poisoned / FAILED).read_text()
    others = [place for place in places(home / "out", SOFTMAX) if place != poisoned]
    assert all((place / "done" / "manifest.json").exists() for place in others)
    assert not (home / "out" / "results.nc").exists()
    (poisoned / "done").unlink()
    assert run("--out", "out", *engine) == 0
    text = capsys.readouterr().err
    assert text.count("1 cell, results on disk already") == (4 if engine else 3)  # the failed one alone was computed
    assert ("4 cells ok in " in text) == (not engine)  # a shard computes before these lines, in no time
    assert "1 queued, 0 running, 3 done" in text or not engine
    assert_same_files(whole, home / "out")


def test_a_unit_that_another_process_holds_is_waited_for(home, whole, capsys):
    assert run("--out", "out", "--shard=0/1", "--time-limit=0.001") == 75
    lock = places(home / "out", SOFTMAX)[0] / UNIT_LOCK
    lock.parent.mkdir()
    program = (
        "import pathlib, sys, time, airbayes.locks as locks\n"
        "with locks.locked(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    until = time.monotonic() + 200\n"
        "    while not pathlib.Path(sys.argv[2]).exists() and time.monotonic() < until: time.sleep(0.05)\n"
    )
    after = places(home / "out", SOFTMAX)[3] / "done"  # it lets go when the others are done
    holder = subprocess.Popen([sys.executable, "-c", program, lock, after], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert run("--out", "out", "--shard=0/1") == 0
    holder.communicate()
    assert f"unit 0 (sgld, 1 cell) is held by process {holder.pid} on " in capsys.readouterr().err
    assert_same_files(whole, home / "out")


def test_shards_share_a_folder_and_a_run_does_not(home, capsys):
    with run_lock(home / "out", shared=True):
        assert run("--out", "out", "--shard=0/2", "--time-limit=0.001") == 75
        assert run("--out", "out") == 2
        assert f"in use by process {os.getpid()}" in capsys.readouterr().err
    with run_lock(home / "out"):
        assert run("--out", "out", "--shard=0/2") == 2


def test_shards_of_another_configuration_are_refused(home, capsys):
    assert run("--out", "out", "--shard=0/2", "--time-limit=0.001") == 75
    assert run("--out", "out", "--shard=1/2", "--sampling.eta=0.01") == 2
    assert "sampling.eta: 0.001 → 0.01" in capsys.readouterr().err


def test_idle_shards_are_told_which_setting_helps(home, capsys):
    assert run("--out", "out", "--shard=3/4", "--cells-per-batch=0") == 0
    text = capsys.readouterr().err
    assert "1 unit of work for 4 workers: 3 will be idle" in text
    assert "--cells-per-batch" in text
