"""Locks between real processes; holders end in every way a process can."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from airbayes.errors import ResultsError
from airbayes.locks import Locked, locked

HOLD = """
import sys, pathlib, airbayes.locks as locks
with locks.locked(pathlib.Path(sys.argv[1]), shared=sys.argv[2] == "shared"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def hold():
    """Starts a process that holds the lock until its input ends."""
    started = []

    def start(path: Path, how: str = "alone") -> subprocess.Popen:
        words = [sys.executable, "-c", HOLD, str(path), how]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_second_process_is_told_who_holds_it(tmp_path, hold):
    path = tmp_path / "lock"
    holder = hold(path)
    with pytest.raises(Locked, match=f"process {holder.pid} on {socket.gethostname()}"), locked(path):
        pass
    holder.communicate("")
    assert not path.exists()
    with locked(path):
        assert path.exists()
    assert not path.exists()


def test_a_killed_holder_keeps_nobody_out(tmp_path, hold):
    path = tmp_path / "lock"
    holder = hold(path)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert path.exists()  # left behind, and free
    with locked(path):
        assert f'"pid": {os.getpid()}' in path.read_text()
    assert not path.exists()


def test_two_threads_or_files_of_one_process_exclude_each_other(tmp_path):
    path = tmp_path / "lock"
    with locked(path), pytest.raises(Locked, match=f"process {os.getpid()}"), locked(path):
        pass


def test_many_share_it_and_the_last_removes_the_file(tmp_path, hold):
    path = tmp_path / "lock"
    first, second = hold(path, "shared"), hold(path, "shared")
    with pytest.raises(Locked), locked(path):
        pass
    first.communicate("")
    assert path.exists()
    with pytest.raises(Locked), locked(path):
        pass
    second.communicate("")
    assert not path.exists()


def test_who_wants_to_share_looks_again_when_another_one_leaves(tmp_path, monkeypatch):
    """The one that leaves is alone with the lock for a moment, to see whether it was the last."""
    path, leaving = tmp_path / "lock", ExitStack()
    leaving.enter_context(locked(path))
    monkeypatch.setattr("airbayes.locks.time.sleep", lambda seconds: leaving.close())
    with locked(path, shared=True), pytest.raises(Locked), locked(path):
        pass


def test_waiting_ends_when_the_holder_is_killed(tmp_path, hold):
    path = tmp_path / "lock"
    holder = hold(path)
    told = []

    def tell(text: str) -> None:  # it waits now
        told.append(text)
        holder.kill()

    with locked(path, wait=True, tell=tell):
        assert str(holder.pid) in told[0]


def test_a_file_that_was_removed_is_not_mistaken_for_the_lock(tmp_path, monkeypatch):
    """Who opened the file just before its holder removed it holds nothing, and tries again."""
    path = tmp_path / "lock"
    lock, taken = fcntl.flock, []

    def removed_meanwhile(number, how):
        if not taken:
            path.unlink()
        taken.append(number)
        lock(number, how)

    monkeypatch.setattr(fcntl, "flock", removed_meanwhile)
    with locked(path):
        assert path.exists()
        with pytest.raises(Locked), locked(path):
            pass
    assert len(taken) >= 3


def test_where_there_are_no_locks_this_is_said(tmp_path, monkeypatch):
    def no_locks(number, how):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    told = []
    with locked(tmp_path / "lock", tell=told.append):
        assert "no locks" in told[0]
    assert not (tmp_path / "lock").exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ResultsError, match="Cannot lock"), locked(tmp_path / "gone" / "lock"):
        pass
