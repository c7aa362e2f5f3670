"""`airbayes run`: read, check, run, write, show."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.text import Text

from airbayes.cache import cache_programs
from airbayes.cli.done import UNITS_FAILED, say_done
from airbayes.cli.go_on import again, how_to_go_on, stopped_where
from airbayes.cli.hosts import (
    agents_mesh,
    check_alone,
    check_asked,
    connect,
    in_all,
    in_first,
    is_first,
    leaving_together,
    quieten_libraries,
)
from airbayes.cli.launch import launch, stop_with_parent
from airbayes.cli.progress import can_draw, make_console
from airbayes.cli.run_options import RunOptions, check_times, list_presets, load_experiment, parse_run
from airbayes.errors import AirbayesError, ConfigError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.engines.options import EngineOptions, check_options, check_paths
from airbayes.experiment.presets import PRESETS
from airbayes.experiment.tracker_names import check_trackers
from airbayes.experiment.validate_sharding import sharding_problems
from airbayes.text import printable

if TYPE_CHECKING:
    from airbayes.experiment.journal import Journal

STOPPED, INTERRUPTED = 75, 130  # exit codes: its time was up (run it again), or someone stopped it
USAGE = "usage: airbayes run EXPERIMENT [--out DIR] [--dry-run] [--force] [settings]"


def run_command(args: list[str]) -> int:
    if args and args[0] == "--list":
        return list_presets()
    if not args:
        raise AirbayesError(
            f"Name the experiment: {', '.join(PRESETS)} (airbayes run --list), or a .toml file.\n  {USAGE}"
        )
    if args[0] in ("-h", "--help"):
        named = args[1] if len(args) > 1 and not args[1].startswith("-") else None
        parse_run(load_experiment(named) if named else ExperimentConfig(), named or "EXPERIMENT", ["--help"])
    if args[0].startswith("-"):
        raise AirbayesError(f"Name the experiment before {args[0]}.\n  {USAGE}")
    options, engine, config = parse_run(load_experiment(args[0]), args[0], args[1:])
    if options.json and options.dry_run:
        raise AirbayesError(
            "--json shows a run and --dry-run runs nothing; predictions as JSON: `airbayes plan --json`."
        )
    if options.quiet and options.verbose:
        raise AirbayesError("--quiet and --verbose exclude each other; give one.")
    check_times(options)
    check_options(engine, force=options.force)
    check_paths(engine, config)
    if engine.on_cluster:  # the workers compute: this process is not to take the memory of a GPU from them
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    console, progress = make_console(options.quiet or options.json), make_console(options.quiet, stderr=True)
    check_asked(options.devices, options.processes, options.process_id, options.coordinator)
    check_alone(engine, several=options.devices > 1 or options.processes > 1 or options.coordinator is not None)
    check_trackers(options.track)
    if options.coordinator is None and (
        problems := sharding_problems(config, options.processes * max(options.devices, 1))
    ):
        raise ConfigError(problems)
    if options.dry_run:
        _check(config, progress)
        from airbayes.cli.dry_run import print_plan  # loads JAX, which _check prepares

        print_plan(config, engine, console, progress)
        return 0
    if options.out is not None and str(options.out) in ("", "."):
        raise AirbayesError("--out is empty; name a folder for the results, for example --out runs/mine.")
    folder = options.out or Path("runs") / config.name
    if options.coordinator is not None:
        return _run_in_team(config, folder, options, engine, args)
    if options.processes > 1:
        return launch(args, options.processes)
    _check(config, progress, options.devices)
    return _run(config, folder, options, engine, args, console, progress)


def _run_in_team(
    config: ExperimentConfig, folder: Path, options: RunOptions, engine: EngineOptions, args: list[str]
) -> int:
    """As one of several processes; the first one speaks for all."""
    stop_with_parent()
    quieten_libraries()
    cache_programs()
    connect(options.devices, options.processes, options.process_id, options.coordinator)
    quiet = options.quiet or not is_first()
    console, progress = make_console(quiet or options.json), make_console(quiet, stderr=True)
    with leaving_together(options.debug):

        def check() -> None:
            with _loading(config, progress):
                _check_config(config)

        in_all(check)
        return _run(config, folder, options, engine, args, console, progress)
    raise AssertionError("leaving_together does not return after an error")


def _check(config: ExperimentConfig, console: Console, devices: int = 0) -> None:
    """Load JAX, which takes a second or two, and check the configuration."""
    with _loading(config, console):
        cache_programs()  # before JAX is loaded: what is compiled once is compiled on this machine for good
        connect(devices, 1, None, None)
        _check_config(config)


def _check_config(config: ExperimentConfig) -> None:
    from airbayes.experiment.validate import check_config

    check_config(config)


@contextmanager
def _loading(config: ExperimentConfig, console: Console) -> Iterator[None]:
    """A sign of life meanwhile."""
    text = f"{printable(config.name)}: loading JAX and checking the configuration ..."
    if not can_draw(console):
        console.print(text)
    with console.status(Text(text)):
        yield


def _run(
    config: ExperimentConfig,
    folder: Path,
    options: RunOptions,
    engine: EngineOptions,
    args: list[str],
    console: Console,
    progress: Console,
) -> int:
    from airbayes.cli.stopping import TIME_LIMIT, StopRequest
    from airbayes.experiment.journal import Journal, Stopped
    from airbayes.experiment.store import run_lock

    tell = lambda text: progress.print(text, markup=False, soft_wrap=True)  # noqa: E731
    mesh = in_all(lambda: agents_mesh(config, options.devices))
    with StopRequest(options.time_limit, progress) as stop, ExitStack() as held:
        journal = Journal(folder, options.checkpoint_every, stop, tell)
        before = journal.standing()

        def begin() -> Literal["complete", "anew", "going on"]:
            held.enter_context(run_lock(folder, wait=engine.shard is not None, tell=tell))
            return _begin(config, folder, options, journal)

        try:
            if engine.shard is not None:
                code = _run_share(config, folder, options, engine, journal, args, progress)
                if code is not None:
                    if options.json:
                        say_done("incomplete", folder, [], UNITS_FAILED if code else "other shards are not done")
                    return code
            begun = in_first(begin)
            if begun == "complete":
                if is_first():
                    _show_again(config, folder, console)
                    if options.json:
                        say_done("complete", folder, [], "it was complete before")
                return 0
            with how_to_go_on(args):
                if engine.on_cluster:
                    from airbayes.cli.sweep import SweepRun

                    code = SweepRun(config, journal, engine, progress).run_on_cluster()
                    if code is not None:
                        if options.json:
                            say_done("incomplete", folder, [], UNITS_FAILED)
                        return code
                from airbayes.cli.compute import compute

                return compute(config, folder, journal, options, mesh, console, progress, anew=begun == "anew")
        except Stopped as stopped:
            if options.json and is_first():
                say_done("stopped", folder, [], stopped.reason)
            timed_out = stopped.reason.startswith(TIME_LIMIT)
            saved = journal.standing() != before  # the first of several processes has the folder, and speaks
            tell(f"Stopped by {stopped.reason}{stopped_where(saved, timed_out)}\n  {again(args)}")
            return STOPPED if timed_out else INTERRUPTED


def _run_share(
    config: ExperimentConfig,
    folder: Path,
    options: RunOptions,
    engine: EngineOptions,
    journal: "Journal",
    args: list[str],
    progress: Console,
) -> int | None:
    """The exit code of a shard; None when all shards are done and the results can be put together."""
    from airbayes.cli.sweep import SweepRun
    from airbayes.experiment.store import run_lock
    from airbayes.locks import locked

    with run_lock(folder, shared=True, tell=journal.tell):
        with locked(folder / ".begin", wait=True):  # one shard begins the run, the others find it begun
            if _begin(config, folder, options, journal) == "complete":
                return None
        with how_to_go_on(args):
            return SweepRun(config, journal, engine, progress).run_share()


def _begin(
    config: ExperimentConfig, folder: Path, options: RunOptions, journal: "Journal"
) -> Literal["complete", "anew", "going on"]:
    """Begin the run, or go on with it, unless it is complete."""
    from airbayes.experiment.store import prepare_folder

    # A run that has begun here was let in before, with --force where there were results of another configuration.
    begun = (journal.folder / "begun").exists()
    complete = prepare_folder(folder, config, force=options.force or begun)
    if options.force:
        journal.clear()
    if complete:
        journal.clear()  # what a process left that was killed while it cleared up
        return "complete"
    if not journal.begin(config):
        return "anew"
    journal.tell(f"Going on with the run in {folder}.")
    return "going on"


def _show_again(config: ExperimentConfig, folder: Path, console: Console) -> None:
    from airbayes.cli.show_results import show_results
    from airbayes.experiment.store import read_dataset

    console.print(f"{folder} already holds this experiment, complete. Use --force to run it again.")
    show_results(read_dataset(folder), config, console)
