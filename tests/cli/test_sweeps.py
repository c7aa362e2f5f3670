"""Sweeps on real worker processes, killed for real: the end is that of a run in one process, byte for byte."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from experiment.engines.sweeps import LINEAR, assert_same_files, places

from airbayes.cli.main import main

pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")

LIMIT_S = 300
ALWAYS = ("run", "small.toml", "--checkpoint-every=0", "--out")


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Iterator[Path]:
    """A folder with the experiment, its results on the local engine in `whole`; the tests run in it."""
    folder = tmp_path_factory.mktemp("sweeps")
    (folder / "small.toml").write_text(LINEAR)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("AIRBAYES_CACHE", "off")
        patch.delenv("JAX_COMPILATION_CACHE_DIR")  # a unit that must compile takes long enough to be caught at work
        patch.setenv("JAX_PLATFORMS", "cpu")
        patch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        assert run("whole", "--quiet") == 0
        yield folder


def run(out: str, *more: str) -> int:
    """In this process."""
    with pytest.raises(SystemExit) as stop:
        main([*ALWAYS, out, *more])
    return int(stop.value.code or 0)


def start(out: str, *more: str) -> subprocess.Popen:
    """In a process of its own, and a group of its own as from a terminal."""
    words = [sys.executable, "-m", "airbayes.cli.main", *ALWAYS, out, *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(words, process_group=0, **pipes)


def finish(running: subprocess.Popen) -> tuple[str, int]:
    text, _ = running.communicate(timeout=LIMIT_S)
    return text, running.returncode


def until(condition: Callable[[], object], running: subprocess.Popen | None = None) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        assert running is None or running.poll() is None, running.communicate()[0]
        time.sleep(0.02)


def wait_until_begun(folder: Path, running: subprocess.Popen | None = None) -> list[Path]:
    until((folder / "progress" / "begun" / "manifest.json").exists, running)
    return places(folder, LINEAR)


def holder_of(place: Path, killed: list[int]) -> int | None:
    """The process at work on a unit, stopped in the middle of it; None when none is, or one that was killed."""
    try:
        pid = json.loads((place / "lock").read_text())["pid"]
        if pid in killed or not list(place.glob("step-*")):
            return None
        os.kill(pid, signal.SIGSTOP)
    except (OSError, ValueError):
        return None
    if (place / "done").exists() or not (place / "lock").exists():
        os.kill(pid, signal.SIGCONT)
        return None
    return pid


def listening(process) -> set[str]:
    """Addresses on which a process and its children listen."""
    found = set()
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # the worker that was killed
            found |= {connection.laddr.ip for connection in each.net_connections() if connection.status == "LISTEN"}
    return found


@contextmanager
def meanwhile(act: Callable[[threading.Event], None]) -> Iterator[None]:
    """Act in a thread beside a run in this process, until the run is over; what goes wrong there is raised here."""
    over, wrong = threading.Event(), []

    def safely() -> None:
        try:
            act(over)
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=safely)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not wrong, wrong


def test_a_killed_worker_and_a_killed_driver_lose_nothing(home: Path):
    """The driver of a local cluster holds its scheduler: both are gone at once, and so are the workers."""
    running = start("killed", "--engine=dask", "--workers=2")
    units = wait_until_begun(home / "killed", running)
    killed: list[int] = []

    def kill_one() -> bool:
        killed.extend(pid for place in units if not killed and (pid := holder_of(place, killed)) is not None)
        return bool(killed)

    until(kill_one, running)
    os.kill(killed[0], signal.SIGKILL)
    driver = psutil.Process(running.pid)
    assert listening(driver) == {"127.0.0.1"}
    until(lambda: any((place / "done").exists() for place in units), running)
    workers = driver.children(recursive=True)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert not psutil.wait_procs(workers, timeout=LIMIT_S)[1]  # none is left
    stamps = {place / "done" / "manifest.json": 0 for place in units if (place / "done").exists()}
    assert 1 <= len(stamps) < 4
    stamps = {path: path.stat().st_mtime_ns for path in stamps}
    begun = any(list(place.glob("step-*")) for place in units if not (place / "done").exists())

    again = start("killed", "--engine=dask", "--workers=1")
    until(lambda: sum((place / "done").exists() for place in units) > len(stamps), again)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps  # none is computed again
    text, code = finish(again)
    assert code == 0, text
    assert f"{4 - len(stamps)} queued, 0 running, {len(stamps)} done" in text
    assert ("0 resumed; time left: 0:00:00" not in text) or not begun
    assert_same_files(home / "whole", home / "killed")


@pytest.mark.long
def test_a_unit_that_kills_its_workers_is_given_up_and_hurts_no_other(home: Path, capsys):
    deaths: list[int] = []

    def kill_always(over: threading.Event) -> None:
        place = wait_until_begun(home / "deadly")[1]
        while not over.is_set():
            if (pid := holder_of(place, deaths)) is not None:
                os.kill(pid, signal.SIGKILL)
                deaths.append(pid)
            time.sleep(0.01)

    with meanwhile(kill_always):
        assert run("deadly", "--engine=dask", "--workers=1", "--json") == 1
    assert len(deaths) == 3
    events, text = capsys.readouterr()
    last = json.loads(events.splitlines()[-1])
    assert (last["event"], last["status"], last["reason"]) == ("done", "incomplete", "some units failed")
    assert "1 of 4 units failed" in text
    assert "unit 1 (sgld, 1 cell): its worker died 3 times" in text
    units = places(home / "deadly", LINEAR)
    assert [(place / "done").exists() for place in units] == [True, False, True, True]
    assert run("deadly") == 0  # any engine goes on with it
    assert "1 cell, going on from step" in capsys.readouterr().err
    assert_same_files(home / "whole", home / "deadly")


def test_ctrl_c_in_a_terminal_reaches_all_processes_and_loses_nothing(home: Path):
    running = start("stopped", "--engine=dask", "--workers=1")
    units = wait_until_begun(home / "stopped", running)
    until(lambda: any(list(place.glob("step-*")) for place in units), running)
    os.killpg(running.pid, signal.SIGINT)
    text, code = finish(running)
    assert code == 130, text
    assert "Stopped by Ctrl-C; everything is saved" in text
    assert "Traceback" not in text
    assert run("stopped", "--quiet") == 0
    assert_same_files(home / "whole", home / "stopped")


def test_ctrl_c_while_workers_load_is_theirs_neither(home: Path):
    running = start("early", "--engine=dask", "--workers=2")
    driver = psutil.Process(running.pid)

    def loading() -> int:
        with suppress(psutil.NoSuchProcess):
            return sum("spawn_main" in " ".join(child.cmdline()) for child in driver.children(recursive=True))
        return 0

    until(lambda: loading() == 2, running)
    os.killpg(running.pid, signal.SIGINT)
    text, code = finish(running)
    assert code == 130, text
    assert "Stopped by Ctrl-C, before it had computed anything new" in text
    assert "Traceback" not in text


def test_a_disk_that_is_full_ends_a_sweep_at_once(home: Path, monkeypatch):
    """A limit on the size of files stands in for it; no unit is tried in vain after the first."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # Python would keep what it has cut off, and fail at it later
    running = start("full", "--engine=dask", "--workers=1")
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (2500, 2500))  # what begins a run fits; workers inherit it
    text, code = finish(running)
    assert code == 2, text
    assert "File too large. Free some space or choose another place." in text
    assert "3 queued, 1 running" in text
    assert "1 failed" not in text
    assert "What was saved before is kept. Then go on with:" in text
    assert run("full", "--quiet") == 0
    assert_same_files(home / "whole", home / "full")


@pytest.mark.long
def test_two_shards_at_a_time(home: Path, capsys):
    """Whichever ends last writes the results."""
    other = start("shards", "--shard=1/2")
    assert run("shards", "--shard=0/2") == 0
    text, code = finish(other)
    assert code == 0, text
    text += capsys.readouterr().out
    assert text.count("Written to shards") == 1
    assert_same_files(home / "whole", home / "shards")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> list[str]:
    """Made for this test: an authority and a certificate in one, as options for airbayes."""
    from distributed.security import Security

    folder = tmp_path_factory.mktemp("certificate")
    made = Security.temporary().get_tls_config_for_role("worker")
    options = []
    for option, name in (("ca", "ca_file"), ("cert", "cert"), ("key", "key")):
        (folder / option).write_text(str(made[name]))
        options.append(f"--tls-{option}={folder / option}")
    return options


@contextmanager
def dask(*words: str) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen([sys.executable, "-m", "dask", *words], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def cluster(facts: Path, certificate: list[str]) -> Iterator[tuple[subprocess.Popen, str]]:
    """A scheduler and one worker as someone would start them, and the scheduler's address."""
    tls = [option.replace("--tls-ca=", "--tls-ca-file=") for option in certificate]
    shared = ["--host", "127.0.0.1", "--protocol", "tls", "--no-dashboard", "--scheduler-file", str(facts), *tls]
    with dask("scheduler", "--port", "0", *shared) as scheduler:
        until(lambda: facts.exists() and facts.read_text().rstrip().endswith("}"), scheduler)
        with dask("worker", "--nthreads", "1", "--no-nanny", *shared):
            yield scheduler, json.loads(facts.read_text())["address"]


@pytest.mark.long
def test_a_cluster_that_is_there_with_tls_and_a_scheduler_that_is_killed(home: Path, certificate, tmp_path, capsys):
    with cluster(tmp_path / "first.json", certificate) as (scheduler, address):
        assert address.startswith("tls://127.0.0.1:")

        def kill_the_scheduler(over: threading.Event) -> None:
            units = wait_until_begun(home / "tls")
            until(lambda: any(list(place.glob("step-*")) for place in units))
            scheduler.send_signal(signal.SIGKILL)

        with meanwhile(kill_the_scheduler):
            assert run("tls", "--engine=dask", f"--address={address}", *certificate) == 2
        text = capsys.readouterr().err
        assert f"Lost the Dask scheduler at {address}" in text
        assert "What was saved before is kept. Then go on with: airbayes run small.toml" in text
    with cluster(tmp_path / "second.json", certificate) as (_, address):
        assert run("tls", "--engine=dask", f"--address={address}", *certificate) == 0
    assert_same_files(home / "whole", home / "tls")
