"""SLURM jobs: the script that is submitted, and a worker that it really starts."""

import os
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from experiment.engines.sweeps import LINEAR

from airbayes.experiment.engines.clusters import KEYS, seconds_of, slurm_cluster
from airbayes.experiment.engines.options import EngineOptions
from airbayes.experiment.toml_io import parse_config

pytest.importorskip("dask_jobqueue")

OPTIONS = EngineOptions(
    engine="slurm",
    workers=3,
    queue="long",
    account="physics",
    cores=8,
    memory="16GB",
    walltime="02:00:00",
    interface="lo",
    sbatch=("--gres=gpu:1",),
)


def words_of(script: str) -> list[str]:
    (command,) = [line for line in script.splitlines() if "dask_worker" in line or "dask worker" in line]
    return command.split()


def test_the_job_script(tmp_path):
    with slurm_cluster(OPTIONS, tmp_path) as cluster:
        script = cluster.job_script()
        address = cluster.scheduler_address
    key = tmp_path / KEYS / "tls_key.pem"
    assert key.stat().st_mode & 0o077 == 0  # for the owner's eyes only
    assert key.parent.stat().st_mode & 0o077 == 0
    directives = {line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH")}
    assert {"-J airbayes", "-p long", "-A physics", "-n 1", "--cpus-per-task=8", "-t 02:00:00"} <= directives
    assert {"--mem=15G", "--gres=gpu:1"} <= directives  # 16 GB are 14.9 of SLURM's G
    assert f"-o {tmp_path}/slurm/airbayes-%J.out" in directives
    words = words_of(script)
    after = dict(pairwise(words))
    assert address.startswith("tls://127.")
    assert address in words
    assert after["--nthreads"] == "1"  # a unit at a time, on all cores of the job
    assert after["--lifetime"] == "7140s"  # it leaves a minute before SLURM ends it
    assert after["--tls-key"] == str(key)
    assert after["--interface"] == "lo"


def test_certificates_that_are_given_are_used(tmp_path):
    from distributed.security import Security

    made = Security.temporary().get_tls_config_for_role("worker")
    for name, key in (("ca", "ca_file"), ("cert", "cert"), ("key", "key")):
        (tmp_path / name).write_text(str(made[key]))
    given = {f"tls_{name}": tmp_path / name for name in ("ca", "cert", "key")}
    options = EngineOptions(engine="slurm", memory="1GB", walltime="00:10:00", interface="lo", **given)
    with slurm_cluster(options, tmp_path) as cluster:
        words = words_of(cluster.job_script())
    after = dict(pairwise(words))
    assert (after["--tls-ca-file"], after["--tls-cert"], after["--tls-key"]) == tuple(map(str, given.values()))


@pytest.mark.parametrize(("walltime", "seconds"), [("00:10:00", 600), ("02:30:05", 9005), ("1-00:00:00", 86400)])
def test_walltimes(walltime, seconds):
    assert seconds_of(walltime) == seconds


def test_a_sweep_on_jobs(tmp_path, monkeypatch, capsys):
    """No SLURM is here: an `sbatch` of three lines starts each script it is given, as a node would."""
    from airbayes.cli.main import main

    (tmp_path / "bin").mkdir()
    jobs = tmp_path / "jobs"
    stand_ins = {
        "sbatch": f'bash "$1" >/dev/null 2>&1 &\necho $! >> {jobs}\necho "Submitted batch job $!"\n',
        "scancel": "kill $1 2>/dev/null\n",
    }
    for name, text in stand_ins.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{text}")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("AIRBAYES_CACHE", "off")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(LINEAR)
    asked = ["--engine=slurm", "--memory=1GB", "--walltime=00:10:00", "--interface=lo"]
    try:
        with pytest.raises(SystemExit) as stop:
            main(["run", "small.toml", "--out", "out", *asked])
        captured = capsys.readouterr()
        assert not stop.value.code, captured.err
    finally:
        for pid in jobs.read_text().split() if jobs.exists() else []:
            subprocess.run(["kill", pid], check=False, capture_output=True)
    assert "4 done, 0 failed" in captured.err
    assert "Written to out" in captured.out
    assert parse_config((tmp_path / "out" / "config.toml").read_text()) == parse_config(LINEAR)
    assert not (tmp_path / "out" / "progress").exists()
