"""Which engine computes a run, and with what; every wrong combination is named before anything starts."""

import dataclasses
import importlib
import re
import shutil
from pathlib import Path
from typing import Literal

from airbayes.errors import AirbayesError
from airbayes.experiment.config import ExperimentConfig

Engine = Literal["local", "dask", "slurm"]


@dataclasses.dataclass(frozen=True)
class EngineOptions:
    engine: Engine = "local"
    """Who computes: this process, Dask workers (here, or at --address), or SLURM jobs that Dask submits."""
    shard: str | None = None
    """i/n, from 0/n on: compute this share only, for job arrays; whoever finishes last puts the results together."""
    workers: int | None = None
    """Worker processes (dask; as many as cores when left out) or jobs (slurm; 1)."""
    address: str | None = None
    """Scheduler of a Dask cluster that is already there (dask): tcp://host:port or tls://host:port."""
    tls_ca: Path | None = None
    """Certificate of the authority, PEM (with tls:// or slurm)."""
    tls_cert: Path | None = None
    """Own certificate, PEM."""
    tls_key: Path | None = None
    """Key of the own certificate, PEM."""
    queue: str | None = None
    """Partition (slurm)."""
    account: str | None = None
    """Account to charge (slurm)."""
    cores: int | None = None
    """Cores of a job (slurm); 1 when left out."""
    memory: str | None = None
    """Memory of a job (slurm), for example 8GB."""
    walltime: str | None = None
    """Time limit of a job (slurm), for example 02:00:00; when it is over another job goes on."""
    interface: str | None = None
    """Network interface that this machine and the nodes share (slurm), for example ib0."""
    sbatch: tuple[str, ...] = ()
    """More directives of a job (slurm), for example --sbatch=--gres=gpu:1."""

    @property
    def on_cluster(self) -> bool:
        return self.engine != "local"

    @property
    def on_other_machines(self) -> bool:
        return self.engine == "slurm" or self.address is not None


SLURM_ONLY = ("queue", "account", "cores", "memory", "walltime", "interface", "sbatch")
TLS = ("tls_ca", "tls_cert", "tls_key")


def check_options(options: EngineOptions, *, force: bool = False) -> None:
    """Raise with one line per problem."""
    problems = [*_shard_problems(options, force), *_cluster_problems(options), *_tls_problems(options)]
    problems += _slurm_problems(options)
    if not problems and options.on_cluster:
        problems = _missing(options)
    if problems:
        raise AirbayesError("\n".join(problems))


def check_paths(options: EngineOptions, config: ExperimentConfig) -> None:
    """Workers elsewhere start in other folders: files must be named in full."""
    named = [name for name in config.network.topologies if name.endswith(".csv")]
    if config.problem.kind == "pointnet" and config.lidar.source != "simulated":
        named.append(config.lidar.source)
    relative = [name for name in named if not Path(name).is_absolute()]
    if options.on_other_machines and relative:
        raise AirbayesError(
            f"{', '.join(relative)}: workers on other machines may start in another folder. Name the file in full, "
            f"for example {Path(relative[0]).absolute()}."
        )


def parse_shard(text: str) -> tuple[int, int]:
    """i and n of i/n, for 0 ≤ i < n."""
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if match is None or not int(match[1]) < int(match[2]):
        raise AirbayesError(f"--shard {text}: give i/n with 0 ≤ i < n, for example 0/2 and 1/2 for two shares.")
    return int(match[1]), int(match[2])


def _shard_problems(options: EngineOptions, force: bool) -> list[str]:
    if options.shard is None:
        return []
    problems = []
    try:
        parse_shard(options.shard)
    except AirbayesError as error:
        problems.append(str(error))
    if options.on_cluster:
        problems.append(f"--shard computes in this process: leave out --engine {options.engine}.")
    if force:
        problems.append("--force would discard what other shards have done. Remove the folder before the first shard.")
    return problems


def _cluster_problems(options: EngineOptions) -> list[str]:
    problems = []
    if options.address is not None:
        if options.engine != "dask":
            problems.append(f"--address {options.address} needs --engine dask.")
        if not re.fullmatch(r"(tcp|tls)://[^\s/]+:\d+", options.address):
            problems.append(f"--address {options.address}: give tcp://host:port or tls://host:port.")
    if options.workers is not None:
        if options.workers < 1:
            problems.append(f"--workers {options.workers}: give at least 1.")
        if not options.on_cluster:
            problems.append(f"--workers {options.workers} needs --engine dask or --engine slurm.")
        if options.address is not None:
            problems.append("--workers: the cluster at --address has workers of its own; leave it out.")
    return problems


def _tls_problems(options: EngineOptions) -> list[str]:
    given = {name: getattr(options, name) for name in TLS}
    flags = {name: f"--{name.replace('_', '-')}" for name in TLS}
    encrypted = (options.address or "").startswith("tls://")
    if not any(given.values()):
        return [f"--address {options.address} needs {', '.join(flags.values())}."] if encrypted else []
    if not encrypted and options.engine != "slurm":
        return [f"{flags[name]} is for --address tls://... or --engine slurm." for name in TLS if given[name]]
    problems = [f"{flags[name]} is missing; TLS needs all three." for name in TLS if not given[name]]
    problems += [f"{flags[name]} {path}: there is no such file." for name, path in given.items() if _absent(path)]
    return problems


def _absent(path: Path | None) -> bool:
    return path is not None and not path.is_file()


def _slurm_problems(options: EngineOptions) -> list[str]:
    given = [name for name in SLURM_ONLY if getattr(options, name)]
    if options.engine != "slurm":
        return [f"--{name} is for --engine slurm." for name in given]
    problems = [
        f"--engine slurm needs --{name}, for example --{name} {example}."
        for name, example in (("memory", "8GB"), ("walltime", "02:00:00"), ("interface", "ib0"))
        if name not in given
    ]
    if options.walltime and not re.fullmatch(r"(\d+-)?\d{1,2}:\d{2}:\d{2}", options.walltime):
        problems.append(f"--walltime {options.walltime}: give hours:minutes:seconds, for example 02:00:00.")
    if options.memory and not re.fullmatch(r"\d+(\.\d+)? ?[kMGT]i?B", options.memory):
        problems.append(f"--memory {options.memory}: give a number and a unit, for example 8GB.")
    if options.cores is not None and options.cores < 1:
        problems.append(f"--cores {options.cores}: give at least 1.")
    return problems


def _missing(options: EngineOptions) -> list[str]:
    try:
        for name in ("distributed", "cryptography", *(["dask_jobqueue"] if options.engine == "slurm" else [])):
            importlib.import_module(name)
    except ImportError as error:
        return [f"--engine {options.engine} needs Dask ({error}): pip install 'airbayes[cluster]'."]
    if options.engine == "slurm":
        if absent := [name for name in ("sbatch", "squeue", "scancel") if shutil.which(name) is None]:
            return [f"--engine slurm: there is no {absent[0]} here. Run it where SLURM jobs are submitted."]
        return _interface_problems(options.interface or "")
    return []


def _interface_problems(name: str) -> list[str]:
    import psutil  # comes with distributed

    known = sorted(psutil.net_if_addrs())
    return [] if name in known else [f"--interface {name}: this machine has {', '.join(known)}."]
