"""Dask clusters: workers on this machine, a cluster that is already there, or SLURM jobs.

What we start speaks TLS with certificates made for this run, unless others are given: whoever reaches the port of a
Dask scheduler can run code as its owner. On this machine everything listens on 127.0.0.1 only. Workers are spawned,
never forked: a fork of a process that has loaded JAX can hang.
"""

import dataclasses
import logging
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airbayes.errors import AirbayesError
from airbayes.experiment.engines.jobs import JobWatch
from airbayes.experiment.engines.options import EngineOptions
from airbayes.experiment.engines.workforce import LOCAL_S, THERE_S, Patience, Workforce

if TYPE_CHECKING:
    from distributed.security import Security

LOOPBACK = "127.0.0.1"
LOGS = "slurm"  # of SLURM jobs, in the results folder
KEYS = "progress/tls"  # of a run on SLURM jobs; removed with the run's progress at the latest
DEATHS = 2  # of workers, after which one more gives up a unit
ANSWER_S = 10  # for a scheduler to answer
SETTINGS = {
    "distributed.scheduler.allowed-failures": DEATHS,
    "distributed.scheduler.http.routes": [],  # no pages
    "distributed.worker.http.routes": [],
    "distributed.worker.multiprocessing-method": "spawn",
    # A worker that is being started again may take longer than Dask's 15 s; those that are lost are our matter.
    "distributed.deploy.lost-worker-timeout": "1 day",
    "distributed.nanny.pre-spawn-environ": {},  # numpy's threads as everywhere: they may decide last bits
}


@contextmanager
def open_cluster(
    options: EngineOptions, folder: Path, units: int, tell: Callable[[str], None]
) -> Iterator[tuple[Any, Workforce]]:
    """A distributed.Client of the cluster that the options name, and who looks after its workers.

    What was started for it ends with it.

    Dask's types allow for coroutines everywhere, hence Any.
    """
    from dask.config import set as set_dask
    from distributed import Client
    from distributed.utils import silence_logging_cmgr

    with set_dask(SETTINGS), silence_logging_cmgr(logging.CRITICAL):  # what happens to units is shown by the table
        if options.address is not None:
            fix = f"Start workers: dask worker {options.address} --nthreads 1"
            with _connect(options) as client:
                yield client, Patience(options.address, THERE_S, fix, tell)
        elif options.engine == "slurm":
            try:
                with slurm_cluster(options, folder) as cluster, Client(cluster, set_as_default=False) as client:
                    watch = watch_jobs(cluster, options, folder, tell)
                    try:
                        yield client, watch
                    finally:
                        watch.end()
            finally:
                shutil.rmtree(folder / KEYS, ignore_errors=True)
        else:
            fix = "They end as soon as they start: is there memory left? Try fewer --workers, or --shard 0/1."
            with ctrl_c_is_ours():
                started = local_cluster(options, units)
            with started as cluster, Client(cluster, set_as_default=False) as client:
                yield client, Patience(cluster.scheduler_address, LOCAL_S, fix, tell)


@contextmanager
def ctrl_c_is_ours() -> Iterator[None]:
    """A terminal sends Ctrl-C to all processes that it started: workers would die in the middle of a unit, or loading.

    Threads and processes inherit what is blocked, so no worker that is started here, or again later, ever sees it.
    """
    resource_tracker.ensure_running()  # where it starts with the first worker it unblocks what was blocked
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def workers_of(options: EngineOptions) -> int:
    """As many as asked for; else one job, or as many processes as this one may use cores."""
    return options.workers or (1 if options.engine == "slurm" else len(os.sched_getaffinity(0)))


def local_cluster(options: EngineOptions, units: int) -> Any:
    from distributed import LocalCluster
    from distributed.security import Security

    return LocalCluster(
        n_workers=min(workers_of(options), units),
        threads_per_worker=1,  # a unit each
        processes=True,
        host=LOOPBACK,
        protocol="tls://",
        security=Security.temporary(),
        scheduler_kwargs={"dashboard": False, "dashboard_address": f"{LOOPBACK}:0"},
        memory_limit=0,  # what JAX allocates is not Dask's to manage; --dry-run predicts it
        silence_logs=logging.CRITICAL,
    )


def slurm_cluster(options: EngineOptions, folder: Path) -> Any:
    """Jobs with one worker each, which runs one unit at a time on all its cores."""
    from dask_jobqueue.slurm import SLURMCluster

    from airbayes.experiment.engines.slurm_job import PromptJob

    security = tls_of(options if options.tls_ca else dataclasses.replace(options, **make_certificate(folder / KEYS)))
    logs = folder / LOGS
    logs.mkdir(parents=True, exist_ok=True)
    lifetime = seconds_of(options.walltime or "")
    return SLURMCluster(
        job_cls=PromptJob,  # pyright: ignore[reportArgumentType]: they say Job and mean type[Job]
        queue=options.queue,
        account=options.account,
        cores=1,
        processes=1,
        job_cpu=options.cores or 1,
        memory=options.memory,
        walltime=options.walltime,
        job_name="airbayes",
        interface=options.interface,
        protocol="tls://",
        security=security,
        log_directory=str(logs.absolute()),
        job_extra_directives=list(options.sbatch),
        # A worker that leaves before SLURM ends it is not counted as one that died of its unit.
        worker_extra_args=["--lifetime", f"{max(lifetime - 60, lifetime // 2)}s", "--no-dashboard"],
        scheduler_options={"dashboard": False, "dashboard_address": f"{LOOPBACK}:0"},
        silence_logs="critical",
    )


def watch_jobs(cluster: Any, options: EngineOptions, folder: Path, tell: Callable[[str], None]) -> JobWatch:
    from airbayes.experiment.engines.slurm_job import call

    advice = (
        f"A job needs to run {sys.executable}, to see {folder.absolute()}, and to reach {cluster.scheduler_address} "
        f"(--interface {options.interface}); --queue, --account, --memory and --sbatch must be what SLURM accepts."
    )
    return JobWatch(cluster, workers_of(options), (folder / LOGS).absolute(), advice, tell, call)


def make_certificate(folder: Path) -> dict[str, Path]:
    """For one run, where its jobs find it and nobody else can read it."""
    from distributed.security import Security

    made = Security.temporary().get_tls_config_for_role("worker")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    paths = {}
    for name, key in (("tls_ca", "ca_file"), ("tls_cert", "cert"), ("tls_key", "key")):
        paths[name] = folder / f"{name}.pem"
        paths[name].touch(mode=0o600)
        paths[name].write_text(str(made[key]), encoding="utf-8")
    return paths


def seconds_of(walltime: str) -> int:
    """[days-]hours:minutes:seconds."""
    days, _, clock = walltime.rpartition("-")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def tls_of(options: EngineOptions) -> "Security | None":
    """The certificates that were given, for every role."""
    from distributed.security import Security

    if options.tls_ca is None:
        return None
    ca, cert, key = (str(path.absolute()) for path in (options.tls_ca, options.tls_cert, options.tls_key) if path)
    named: dict[str, Any] = {"tls_ca_file": ca, "require_encryption": True}
    for role in ("client", "scheduler", "worker"):
        named |= {f"tls_{role}_cert": cert, f"tls_{role}_key": key}
    return Security(**named)


@contextmanager
def _connect(options: EngineOptions) -> Iterator[Any]:
    from distributed import Client

    try:
        client = Client(options.address, security=tls_of(options), timeout=ANSWER_S, set_as_default=False)
    except (OSError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AirbayesError(f"No Dask scheduler answers at {options.address}: {reason}") from None
    with client:
        yield client
