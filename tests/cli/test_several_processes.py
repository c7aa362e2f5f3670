"""One network over real processes: the samples are those of one process, bit for bit, whoever is killed or stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airbayes.cli.main import main

LIMIT_S = 400  # of any one command; two cores that others use too
LINEAR = """
name = "linear"
methods = ["cd_dsgld"]
policies = ["truncated"]
evaluations = 2
[problem]
examples = 3
[network]
agents = 16
topologies = ["ring", "random_geometric"]
[channel]
snr_db = [10.0]
[sampling]
steps = 30
burn_in = 10
thin = 5
start = "independent"
"""
SOFTMAX = """
name = "softmax"
methods = ["cd_dsgld"]
policies = ["common"]
evaluations = 10
saved_samples = 4
saved_agents = 16
[problem]
kind = "softmax"
examples = 6
test_examples = 20
[network]
agents = 16
topologies = ["random_geometric"]
[channel]
snr_db = [10.0]
[sampling]
steps = 100
burn_in = 20
thin = 20
drift = "tamed"
"""
# Sums over all agents: each process adds up its own first, so the last bits depend on their number. And a gauge of ‖g‖,
# which the compiler rounds otherwise where it is computed beside the update.
OVER_AGENTS = ("network_", "_network", "disagreement", "eta_grad_norm")
OF_THETA = ("rms", "disagreement", "rho", "eta_grad_norm", "power_used", "unit_gain", "status")


@pytest.fixture
def home(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("AIRBAYES_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linear.toml").write_text(LINEAR)
    (tmp_path / "softmax.toml").write_text(SOFTMAX)
    return tmp_path


class Command:
    """`airbayes run` in a process group of its own, of which nothing is left afterwards."""

    def __init__(self, home: Path, *words: str):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "airbayes.cli.main", "run", *words],
            cwd=home,
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> "Command":
        return self

    def __exit__(self, *error: object) -> None:
        for pid in [*self.children(), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.communicate()

    def children(self) -> list[int]:
        """In the order of their process ids: the launcher starts them in that order."""
        try:
            listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return []
        return sorted(int(word) for word in listed.split())

    def finish(self) -> tuple[int, str]:
        text, _ = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, text

    def wait_for(self, folder: Path, states: int) -> None:
        """Until so many states were saved by this command."""
        seen, deadline = set(folder.glob("progress/*/step-*")), time.monotonic() + LIMIT_S
        while len(set(folder.glob("progress/*/step-*")) - seen) < states:
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.02)


def run_here(*words: str) -> None:
    """In this process, on one device."""
    with pytest.raises(SystemExit) as left:
        main(["run", *words, "--quiet"])
    assert left.value.code == 0


def assert_same(one: Path, other: Path) -> None:
    """θ and what is known of single agents to the bit; sums over agents to float32's last places."""
    with xr.open_dataset(one / "results.nc") as first, xr.open_dataset(other / "results.nc") as second:
        assert set(first.data_vars) == set(second.data_vars)
        assert "rms_over_steps" in first
        for name, values in first.data_vars.items():
            title, classes = str(name), "num_classes" in first.attrs
            if classes and not title.startswith(OF_THETA):
                continue  # scores of one θ: as part of another program, their sums may be rounded otherwise
            if any(part in title for part in OVER_AGENTS):
                np.testing.assert_allclose(values.values, second[name].values, rtol=1e-5, atol=1e-6, err_msg=title)
            else:
                np.testing.assert_array_equal(values.values, second[name].values, err_msg=title)


def samples_of(folder: Path) -> np.ndarray:
    [path] = folder.glob("samples/*.npz")
    with np.load(path) as stored:
        return stored["theta"]


def test_two_processes_have_the_samples_of_one(home: Path):
    run_here("linear.toml", "--out", "one")
    with Command(home, "linear.toml", "--out", "two", "--processes", "2") as command:
        code, text = command.finish()
    assert code == 0, text
    assert "Agents over 2 devices: 8 on each" in text
    assert "Gloo" not in text
    assert_same(home / "one", home / "two")


@pytest.mark.long
def test_killed_and_stopped_processes_lose_nothing(home: Path):
    """One of four processes is killed; two go on and are stopped by Ctrl-C; the run ends with all agents here."""
    words = ("softmax.toml", "--out", "hurt", "--checkpoint-every", "0")
    with Command(home, *words, "--processes", "4") as command:
        command.wait_for(home / "hurt", 1)
        os.kill(command.children()[1], signal.SIGKILL)
        code, text = command.finish()
    assert code == 69, text
    assert text.count("of 4 lost another one") == 1, text  # one of the three speaks for all
    assert "Written to" not in text
    assert not (home / "hurt" / "results.nc").exists()
    with Command(home, *words, "--processes", "2") as command:
        command.wait_for(home / "hurt", 2)
        os.kill(command.process.pid, signal.SIGINT)
        code, text = command.finish()
    assert code == 130, text
    assert "going on from step" in text
    assert "Stopped by Ctrl-C" in text
    assert "airbayes run softmax.toml --out hurt --checkpoint-every 0 --processes 2\n" in text
    run_here("softmax.toml", "--out", "one")
    run_here("softmax.toml", "--out", "hurt")
    assert_same(home / "one", home / "hurt")
    np.testing.assert_array_equal(samples_of(home / "one"), samples_of(home / "hurt"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("linear.toml", "--processes", "3"), "network.agents = 16 does not split evenly over 3 devices"),
        (("linear.toml", "--processes", "2", "--policies", "optimal"), "'optimal', which needs all inner products"),
        (("linear.toml", "--processes", "2", "--methods", "sgld"), "'sgld', the centralised reference"),
        (("linear.toml", "--processes", "2", "--coordinator", "here:1"), "--process-id 0 to N − 1"),
        (("linear.toml", "--coordinator", "here", "--process-id", "0"), "give HOST:PORT"),
        (("linear.toml", "--process-id", "0"), "needs --coordinator"),
    ],
)
def test_what_cannot_be_split_is_refused_before_any_process_starts(home: Path, words, message, capsys):
    with pytest.raises(SystemExit) as left:
        main(["run", *words])
    assert left.value.code == 2
    assert message in capsys.readouterr().err
