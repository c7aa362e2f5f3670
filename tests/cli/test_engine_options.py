"""Engines: every wrong combination of options is an error before anything is computed."""

import sys

import pytest

from airbayes.cli.main import main


def refused(capsys, *args: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["run", "gaussian", *args])
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert "loading JAX" not in captured.err  # nothing has begun
    return captured.err


@pytest.mark.parametrize("shard", ["3/2", "2/2", "1", "a/b", "-1/2", "1/0", "1/2/3", ""])
def test_a_shard_is_i_of_n(capsys, shard):
    text = refused(capsys, f"--shard={shard}")
    assert f"--shard {shard}: give i/n with 0 ≤ i < n" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--shard=0/2", "--engine=dask"], "--shard computes in this process: leave out --engine dask"),
        (["--shard=0/2", "--processes=2"], "--shard 0/2 shares out cells; --devices, --processes"),
        (["--shard=0/2", "--devices=2"], "They do not go together: leave one of them out"),
        (["--engine=dask", "--processes=2"], "--engine dask shares out cells"),
        (["--engine=dask", "--coordinator=auto"], "--engine dask shares out cells"),
        (["--shard=0/2", "--force"], "--force would discard what other shards have done"),
        (["--address=tcp://h:1"], "--address tcp://h:1 needs --engine dask"),
        (["--engine=dask", "--address=h:1"], "--address h:1: give tcp://host:port or tls://host:port"),
        (["--engine=dask", "--address=tls://h:1"], "--address tls://h:1 needs --tls-ca, --tls-cert, --tls-key"),
        (["--engine=dask", "--address=tcp://h:1", "--workers=2"], "has workers of its own"),
        (["--engine=dask", "--workers=0"], "--workers 0: give at least 1"),
        (["--workers=2"], "--workers 2 needs --engine dask or --engine slurm"),
        (["--engine=dask", "--tls-ca=x"], "--tls-ca is for --address tls://"),
        (["--engine=dask", "--address=tls://h:1", "--tls-ca=/no/ca"], "--tls-cert is missing; TLS needs all three"),
        (["--engine=dask", "--address=tls://h:1", "--tls-ca=/no/ca"], "--tls-ca /no/ca: there is no such file"),
        (["--engine=dask", "--queue=long"], "--queue is for --engine slurm"),
        (["--cores=2"], "--cores is for --engine slurm"),
        (["--engine=slurm"], "--engine slurm needs --memory, for example --memory 8GB"),
        (["--engine=slurm"], "--engine slurm needs --walltime"),
        (["--engine=slurm"], "--engine slurm needs --interface"),
        (["--engine=slurm", "--walltime=2 hours"], "--walltime 2 hours: give hours:minutes:seconds"),
        (["--engine=slurm", "--memory=lots"], "--memory lots: give a number and a unit"),
        (["--engine=slurm", "--cores=0"], "--cores 0: give at least 1"),
    ],
)
def test_wrong_combinations_are_named(capsys, args, message):
    assert message in refused(capsys, *args)


def test_all_problems_at_once(capsys):
    text = refused(capsys, "--shard=3/2", "--address=tcp://h:1", "--queue=long")
    assert text.startswith("3 errors:")


def test_without_the_extra_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)  # as when it is not installed
    assert "pip install 'airbayes[cluster]'" in refused(capsys, "--engine=dask")


def test_without_slurm_it_says_so(capsys, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    args = ["--engine=slurm", "--memory=1GB", "--walltime=01:00:00", "--interface=lo"]
    assert "there is no sbatch here" in refused(capsys, *args)


def test_an_interface_that_is_not_there_is_named(capsys, tmp_path, monkeypatch):
    for name in ("sbatch", "squeue", "scancel"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    args = ["--engine=slurm", "--memory=1GB", "--walltime=01:00:00", "--interface=ib77"]
    text = refused(capsys, *args)
    assert "--interface ib77: this machine has " in text
    assert "lo" in text


def test_files_for_workers_elsewhere_are_named_in_full(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("0,1\n1,2\n")
    args = ["--network.agents=3", "--network.topologies", "mine.csv", "--engine=dask", "--address=tcp://127.0.0.1:9"]
    assert f"Name the file in full, for example {tmp_path / 'mine.csv'}" in refused(capsys, *args)


def test_a_scheduler_that_does_not_answer(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("airbayes.experiment.engines.clusters.ANSWER_S", 1)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["run", "gaussian", "--engine=dask", "--address=tcp://127.0.0.1:9"])
    assert stop.value.code == 2
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err
