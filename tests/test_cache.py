"""Compiled programs on disk: found again by another process, bit for bit the same, bounded, and never in the way."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from airbayes.cache import cache_folder, cache_programs

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="programs are kept on Linux only")

# A small grid in a process of its own: prints a hash of the results and what became of each program.
RUN = """
import collections, hashlib, json, resource, signal, sys, warnings
warnings.simplefilter("default")
from airbayes.cache import cache_programs
folder = cache_programs()
import jax, numpy as np
if len(sys.argv) > 1:  # no file may grow beyond so many bytes: what a full disk does to a write
    sys.dont_write_bytecode = True  # cut off, it would stay
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
counts = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: counts.update([event.split("/")[-1]]))
from airbayes.experiment.config import *
from airbayes.experiment.grid import run_grid
from airbayes.experiment.reporter import Silent
config = ExperimentConfig(
    methods=("cd_dsgld",), policies=("common",), evaluations=2, network=NetworkConfig(topologies=("ring",)),
    channel=ChannelConfig(snr_db=(20.0,)), sampling=SamplingConfig(steps=20, burn_in=4),
)
digest = hashlib.sha256()
for result in run_grid(config, Silent()):
    for name, values in sorted(result.history.items()):
        digest.update(np.asarray(values).tobytes())
    for name, value in sorted(result.metrics.scalars.items()):
        digest.update(np.float64(value).tobytes())
print(json.dumps({"hash": digest.hexdigest(), "folder": folder and str(folder), **counts}))
"""


def run(cache: Path | str, *args: str) -> tuple[dict, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TF_CPP"))}
    environment |= {"AIRBAYES_CACHE": str(cache)}
    done = subprocess.run([sys.executable, "-c", RUN, *args], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """As for users; the other tests switch it off."""
    monkeypatch.delenv("AIRBAYES_CACHE_PROGRAMS")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")


@linux
def test_the_second_process_compiles_nothing_and_finds_the_same(tmp_path):
    cold, _ = run(tmp_path)
    assert cold["cache_misses"] > 10
    assert Path(cold["folder"]).is_relative_to(tmp_path)
    entries = sorted(Path(cold["folder"]).glob("*-cache"))
    assert any("advance" in path.name for path in entries)  # the loop over steps is among them

    entries[0].write_bytes(entries[0].read_bytes()[:100])  # cut off: dropped, compiled again, kept again
    warm, printed = run(tmp_path)
    assert warm["cache_misses"] == 1
    assert warm["hash"] == cold["hash"]
    assert "UserWarning" not in printed
    assert "cpu_aot_loader" not in printed

    again, _ = run(tmp_path)
    assert "cache_misses" not in again
    assert again["hash"] == cold["hash"]


@linux
@pytest.mark.long
def test_a_full_disk_and_no_cache_give_the_same_results(tmp_path):
    full, printed = run(tmp_path, "4000")  # larger programs do not fit
    assert "Error writing persistent compilation cache entry" in printed
    off, _ = run("off")
    assert off["folder"] is None
    assert "cache_misses" not in off
    assert full["hash"] == off["hash"]


@linux
def test_a_folder_that_cannot_be_used_only_warns(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="Compiled programs are not kept: .*file"):
        assert cache_programs(tmp_path / "file") is None
    with pytest.warns(UserWarning, match="not kept"):  # nobody, not even root, can write there
        assert cache_programs(Path("/proc")) is None


@linux
def test_a_folder_that_others_can_write_to_is_not_trusted(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folder = cache_programs(tmp_path)
    assert folder is not None
    assert folder.stat().st_mode & 0o077 == 0
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="others can write to it"):
        assert cache_programs(tmp_path) is None


@linux
def test_what_was_not_used_for_longest_goes_first(tmp_path):
    folder = cache_programs(tmp_path)
    assert folder is not None
    other = folder.with_name("another-machine")
    other.mkdir()
    paths = [folder / "new-cache", folder / "used-cache", other / "old-cache"]
    for age, path in enumerate(paths):
        path.write_bytes(b"\x00" * 1000)
        os.utime(path, (1e9 - age, 1e9 - age))
    os.utime(paths[1], (2e9, 1e9 - 5))  # written long ago, read lately
    cache_programs(tmp_path, max_bytes=2500)
    assert [path.exists() for path in paths] == [True, True, False]
    cache_programs(tmp_path, max_bytes=1500)
    assert [path.exists() for path in paths] == [False, True, False]


def test_it_can_be_switched_off_and_leaves_jax_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRBAYES_CACHE", "off")
    assert cache_folder() is None
    assert cache_programs() is None
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "jax"))
    assert cache_programs(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_programs_alone_can_be_switched_off(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRBAYES_CACHE_PROGRAMS", "off")
    assert cache_programs(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
