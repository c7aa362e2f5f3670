"""SLURM jobs: the script that is submitted."""

from itertools import pairwise

import pytest

from airbayes.experiment.engines.clusters import KEYS, seconds_of, slurm_cluster
from airbayes.experiment.engines.options import EngineOptions

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
