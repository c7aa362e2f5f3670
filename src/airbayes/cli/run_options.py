"""What `airbayes run` is told: its options, the experiment, and the settings that are overridden."""

import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from airbayes.cli.arguments import parse
from airbayes.errors import AirbayesError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.engines.options import EngineOptions
from airbayes.experiment.presets import PRESETS, preset
from airbayes.experiment.toml_io import load_config
from airbayes.text import fitted


@dataclasses.dataclass(frozen=True)
class RunOptions:
    out: Path | None = None
    """Folder for the results; runs/NAME when left out."""
    dry_run: bool = False
    """Show the cells, predicted transition SNRs, top-t values and memory, and run nothing."""
    force: bool = False
    """Start over even if the folder already holds results or an unfinished run, and replace them."""
    time_limit: float | None = None
    """Stop after so many seconds, with everything saved; the same command goes on. Exit code 75."""
    checkpoint_every: float = 60.0
    """Seconds between two saved states."""
    devices: int = 0
    """Devices of each process over which the agents of every network are split; 0: one, or all where there are several
    processes. On a CPU they are virtual."""
    processes: int = 1
    """Processes over which the agents are split: started here, or one by one with --coordinator and --process-id."""
    coordinator: str | None = None
    """HOST:PORT where the processes meet, bound by process 0; auto reads SLURM's or Open MPI's variables."""
    process_id: int | None = None
    """Which of the processes this is, from 0."""
    quiet: bool = False
    """Print errors only."""
    verbose: bool = False
    """Print every stored metric of every cell as well."""
    json: bool = False
    """Write events to stdout, one JSON object a line, instead of tables (docs/terminal.md)."""
    track: tuple[Literal["tensorboard", "mlflow"], ...] = ()
    """Where to log metrics besides events.jsonl in the results folder; each needs its extra, airbayes[NAME]."""
    debug: bool = False
    """Show Python tracebacks."""


def check_times(options: RunOptions) -> None:
    """Raise with one line per problem."""
    problems = []
    if options.time_limit is not None and not options.time_limit > 0:
        problems.append(f"--time-limit {options.time_limit:g}: give the seconds after which to stop, more than 0.")
    if not options.checkpoint_every >= 0:
        problems.append(f"--checkpoint-every {options.checkpoint_every:g}: give seconds between states, 0 or more.")
    if problems:
        raise AirbayesError("\n".join(problems))


def load_experiment(name: str) -> ExperimentConfig:
    """A preset by name, or an experiment file."""
    is_file = name.endswith(".toml") or "/" in name
    if is_file and not os.path.exists(name):
        raise AirbayesError(
            f"{name} is not there. `airbayes new NAME` writes an experiment file; "
            "`airbayes run --list` shows the presets."
        )
    if is_file and os.path.isdir(name):  # a results folder, most likely
        again = f": {name.rstrip('/')}/config.toml" if os.path.isfile(f"{name}/config.toml") else ""
        raise AirbayesError(f"{name} is a folder. Name a preset or an experiment file (.toml){again}.")
    return load_config(Path(name)) if is_file else preset(name)


def parse_run(
    config: ExperimentConfig, name: str, args: list[str]
) -> tuple[RunOptions, EngineOptions, ExperimentConfig]:
    """Options and overrides; the experiment's own values are the defaults that the help shows."""
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        options: Annotated[RunOptions, tyro.conf.arg(name="")]
        engine: Annotated[EngineOptions, tyro.conf.arg(name="")]
        config: Annotated[ExperimentConfig, tyro.conf.arg(name="")]

    parsed = parse(
        Arguments,
        default=Arguments(RunOptions(), EngineOptions(), config),
        prog=f"airbayes run {name}",
        description="Run an experiment: a preset (airbayes run --list) or a .toml file. Any setting can be overridden.",
        args=args,
    )
    return parsed.options, parsed.engine, parsed.config


def list_presets() -> int:
    for name, make in PRESETS.items():
        summary = (make.__doc__ or "").strip().splitlines()[0]
        sys.stdout.write(fitted(f"{name:11}  {summary}\n"))
    return 0
