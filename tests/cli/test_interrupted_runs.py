"""Runs that are stopped, killed or hurt, in processes of their own: the end is that of an undisturbed run, bitwise."""

import contextlib
import io
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airbayes.cli.main import main

KILLS = int(os.environ.get("AIRBAYES_KILLS", "4"))  # more on demand
LIMIT_S = 300  # of any one command
SEED = int(os.environ.get("AIRBAYES_KILL_SEED", "0"))
EXPERIMENT = """
name = "small"
methods = ["dsgld", "cd_dsgld"]
policies = ["common"]
seeds = 2
evaluations = 7
cells_per_batch = 1
[network]
topologies = ["ring"]
[channel]
snr_db = [20.0]
[sampling]
eta = 5e-4
steps = 3000
burn_in = 1000
thin = 10
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with the experiment, its undisturbed results in `whole`."""
    folder = tmp_path_factory.mktemp("interrupted")
    (folder / "small.toml").write_text(EXPERIMENT)
    began = time.monotonic()
    running = command(folder, "whole", "--checkpoint-every", "0")
    text, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 0, text
    (folder / "seconds").write_text(str(time.monotonic() - began))
    return folder


def command(home: Path, out: str, *more: str) -> subprocess.Popen:
    environment = os.environ | {"AIRBAYES_CACHE": "off", "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, "-m", "airbayes.cli.main", "run", "small.toml", "--out", out, *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(words, cwd=home, env=environment, **pipes)


def finish(home: Path, out: str, *more: str) -> subprocess.CompletedProcess:
    """In this process, which has most of the program in memory: what was killed or stopped ran in another one."""
    words, text = ["run", "small.toml", "--out", out, *more], io.StringIO()
    with (
        contextlib.chdir(home),
        contextlib.redirect_stdout(text),
        contextlib.redirect_stderr(text),
        pytest.raises(SystemExit) as left,
    ):
        main(words)
    return subprocess.CompletedProcess(words, int(left.value.code or 0), text.getvalue())


def wait_for_states(home: Path, out: str, running: subprocess.Popen, count: int = 1) -> None:
    """Until the run has saved something."""
    deadline = time.monotonic() + LIMIT_S
    while len(list((home / out).glob("progress/*/step-*"))) < count:
        if time.monotonic() > deadline:
            running.kill()
        assert running.poll() is None, running.communicate()[0]
        time.sleep(0.02)


def assert_same_results(home: Path, out: str) -> None:
    with xr.open_dataset(home / "whole" / "results.nc") as whole, xr.open_dataset(home / out / "results.nc") as found:
        assert set(whole.data_vars) == set(found.data_vars)
        for name, values in whole.data_vars.items():
            np.testing.assert_array_equal(values.values, found[name].values, err_msg=str(name))
    assert (home / "whole" / "summary.json").read_bytes() == (home / out / "summary.json").read_bytes()
    assert not (home / out / "progress").exists()
    assert not list((home / out).glob(".*"))


def records(out: Path) -> list[Path]:
    """Everything that a run has put down so far, half-written records included."""
    return sorted([*out.glob("progress/*"), *out.glob("progress/*/*"), *out.glob("progress/*/.*"), *out.glob("*.nc")])


def test_killed_at_random_moments(home: Path):
    """One kill of four at any time, imports included; the others while records come and go. All are survived."""
    draw = random.Random(SEED)
    whole = float((home / "seconds").read_text())  # of an undisturbed run, on this machine at this moment
    out, kills, at_work, ends = home / "killed", 0, 0, 0
    while kills < KILLS:
        running = command(home, "killed", "--checkpoint-every", "0")
        deadline = time.monotonic() + (draw.uniform(0.05, 1.0) * whole if kills % 4 == 0 else LIMIT_S)
        changes, before = draw.randint(1, 12), records(out)
        while running.poll() is None and time.monotonic() < deadline and changes:
            time.sleep(draw.uniform(0.001, 0.02))
            after = records(out)
            changes, before = changes - (after != before), after
        if running.poll() is not None:  # done before its time: start over, for this was no kill
            assert running.returncode == 0, running.communicate()[0]
            assert_same_results(home, "killed")
            shutil.rmtree(out)
            ends += 1
            continue
        running.send_signal(signal.SIGKILL)
        running.communicate()
        kills += 1
        at_work += (out / "progress" / "begun").exists()
    sys.stdout.write(f"{kills} kills, {at_work} of them of a run at work; {ends} runs ended in between.\n")
    assert at_work >= KILLS // 2
    assert finish(home, "killed").returncode == 0
    assert_same_results(home, "killed")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 130, marks=pytest.mark.long)]
)
def test_a_signal_saves_and_says_how_to_go_on(home: Path, number, code):
    out = f"stopped-{number}"
    running = command(home, out, "--checkpoint-every", "0")
    wait_for_states(home, out, running)
    running.send_signal(number)
    text, _ = running.communicate(timeout=120)
    assert running.returncode == code, text
    assert f"airbayes run small.toml --out {out}" in text
    text = finish(home, out).stdout
    assert "Going on with the run" in text
    assert "going on from step" in text or "on disk already" in text
    assert_same_results(home, out)


def test_a_time_limit_stops_cleanly(home: Path):
    stopped = finish(home, "limited", "--time-limit", "0.001")
    assert stopped.returncode == 75, stopped.stdout
    assert "time limit" in stopped.stdout
    assert finish(home, "limited").returncode == 0
    assert_same_results(home, "limited")


SLOW = """
import sys, time
import airbayes.experiment.journal as journal
import airbayes.experiment.ready as ready
from airbayes.cli.main import main
def prepare(*given):
    print("compiling", flush=True)
    time.sleep({seconds})
{more}
ready.prepare = prepare
sys.argv = ["airbayes", "run", "small.toml", "--out", {out!r}, *{words!r}]
main()
"""


def with_slow_compiler(home: Path, out: str, *words: str, more: str = "") -> subprocess.Popen:
    """A run with a compiler that takes longer than any test waits."""
    program = SLOW.format(seconds=2 * LIMIT_S, out=out, words=words, more=more)
    environment = os.environ | {"AIRBAYES_CACHE": "off", "JAX_PLATFORMS": "cpu"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([sys.executable, "-c", program], cwd=home, env=environment, **pipes)


def compiling(home: Path, out: str, *words: str, more: str = "") -> subprocess.Popen:
    """The same, once it compiles."""
    running = with_slow_compiler(home, out, *words, more=more)
    assert running.stdout is not None
    assert any("compiling" in line for line in running.stdout)
    return running


def rest_of(running: subprocess.Popen) -> str:
    """What it writes until its end. `communicate` would pass over what was read ahead with the lines before."""
    assert running.stdout is not None
    late = threading.Timer(LIMIT_S, running.kill)
    late.start()
    text = running.stdout.read()
    running.wait()
    late.cancel()
    return text


@pytest.mark.parametrize("words", [(), ("--shard", "0/2")])
def test_whoever_stops_a_run_does_not_wait_for_the_compiler(home: Path, words):
    running = compiling(home, "compiling" + "".join(words[:1]), *words)
    running.send_signal(signal.SIGINT)
    text = rest_of(running)
    assert running.returncode == 130, text
    assert "Stopped by Ctrl-C, before it had computed anything new. Go on with:" in text


def test_ctrl_c_that_ends_the_reader_too_loses_nothing(home: Path):
    """As in `airbayes run ... 2>&1 | tee log`, where both hear it."""
    running = command(home, "tee", "--sampling.steps", "3000000", "--checkpoint-every", "1000")
    assert running.stdout is not None
    while "compiled in" not in running.stdout.readline():
        assert running.poll() is None
    time.sleep(1.0)  # some steps
    running.stdout.close()
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=LIMIT_S) == 141
    assert list((home / "tee").glob("progress/*/step-*"))
    assert not list((home / "tee").glob("progress/*/failed.txt"))


def test_a_time_limit_that_compiling_takes_up_is_told(home: Path):
    running = with_slow_compiler(home, "compiling-limit", "--time-limit", "5")
    text = rest_of(running)  # from its start: on a slow machine the limit comes before the compiler
    assert running.returncode == 75, text
    assert "Raise --time-limit in:" in text


def test_a_second_ctrl_c_is_the_end_also_of_the_compiler(home: Path):
    deaf = "journal.Journal.check = lambda self: None"  # the first one is not acted on
    running = compiling(home, "compiling-twice", more=deaf)
    running.send_signal(signal.SIGINT)
    assert running.stdout is not None
    assert any("steps under way are finished" in line for line in running.stdout)
    running.send_signal(signal.SIGINT)
    text = rest_of(running)
    assert running.returncode == 130, text
    assert "Stopped at once." in text


def test_damaged_states_are_named_and_passed_over(home: Path):
    running = command(home, "damaged", "--checkpoint-every", "0")
    wait_for_states(home, "damaged", running, 2)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    states = sorted((home / "damaged").glob("progress/*/step-*"))
    newest = states[-1] / "000.npy"
    raw = bytearray(newest.read_bytes())
    raw[-1] ^= 1
    newest.write_bytes(raw)
    for done in (home / "damaged").glob("progress/*/done/manifest.json"):
        done.write_text(done.read_text()[:-20])
    text = finish(home, "damaged").stdout
    assert "sha256 differs" in text
    assert "older state" in text
    assert_same_results(home, "damaged")


def test_another_configuration_is_refused_with_what_changed(home: Path):
    assert finish(home, "other", "--time-limit", "0.001").returncode == 75
    refused = finish(home, "other", "--sampling.eta", "1e-3")
    assert refused.returncode == 2
    assert "sampling.eta: 0.0005 → 0.001" in refused.stdout
    assert "unfinished" in refused.stdout
    assert finish(home, "other", "--sampling.eta", "1e-3", "--force", "--time-limit", "0.001").returncode == 75


def test_a_second_run_in_the_folder_is_refused_and_names_the_first(home: Path):
    running = command(home, "taken", "--checkpoint-every", "0")
    wait_for_states(home, "taken", running)
    running.send_signal(signal.SIGSTOP)  # it holds the folder for as long as the second one needs
    second = finish(home, "taken")
    running.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert f"in use by process {running.pid} on {socket.gethostname()}" in second.stdout
    text, _ = running.communicate(timeout=LIMIT_S)
    assert running.returncode == 0, text
    assert_same_results(home, "taken")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused_before_any_work(home: Path):
    (home / "closed").mkdir(mode=0o500)
    refused = finish(home, "closed/run")
    assert refused.returncode == 2
    assert "Cannot write" in refused.stdout


def test_a_disk_that_fills_up_stops_the_run_and_keeps_the_state(home: Path):
    """A limit on the size of files stands in for it; there is room for the first records."""
    program = (
        "import resource, signal, sys\n"
        "sys.dont_write_bytecode = True\n"  # cut off, it would stay
        "from airbayes.cli.main import main\n"
        "import airbayes.experiment.journal as journal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "save = journal.Journal.save\n"
        "def save_then_fill(self, cells, step, carry, snapshots):\n"
        "    if step > 600:\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "    save(self, cells, step, carry, snapshots)\n"
        "journal.Journal.save = save_then_fill\n"
        "main(['run', 'small.toml', '--out', 'full', '--checkpoint-every', '0'])\n"
    )
    environment = os.environ | {"AIRBAYES_CACHE": "off", "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Could not write" in done.stderr
    assert "go on with: airbayes run small.toml --out full" in done.stderr
    assert [state.name for state in (home / "full").glob("progress/*/step-*")]
    assert "going on from step" in finish(home, "full").stdout
    assert_same_results(home, "full")
