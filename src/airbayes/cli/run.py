"""`airbayes run`: read, check, run, write, show."""

import dataclasses
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.console import Console
from rich.text import Text

from airbayes.cache import cache_programs
from airbayes.cli.arguments import parse
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
    several_processes,
    show_split,
)
from airbayes.cli.launch import launch, stop_with_parent, without_place
from airbayes.cli.progress import make_console, make_reporter
from airbayes.errors import AirbayesError, ConfigError, ResultsError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.engines.options import EngineOptions, check_options, check_paths
from airbayes.experiment.presets import PRESETS, preset
from airbayes.experiment.toml_io import load_config
from airbayes.experiment.validate_sharding import sharding_problems
from airbayes.text import printable

if TYPE_CHECKING:
    from jax.sharding import Mesh

    from airbayes.experiment.journal import Journal

STOPPED, INTERRUPTED = 75, 130  # exit codes: its time was up (run it again), or someone stopped it
UNITS_FAILED = "some units failed"
USAGE = "usage: airbayes run EXPERIMENT [--out DIR] [--dry-run] [--force] [settings]"


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


def run_command(args: list[str]) -> int:
    if args and args[0] == "--list":
        return _list_presets()
    if not args:
        raise AirbayesError(
            f"Name the experiment: {', '.join(PRESETS)} (airbayes run --list), or a .toml file.\n  {USAGE}"
        )
    if args[0] in ("-h", "--help"):
        _parse(ExperimentConfig(), "EXPERIMENT", ["--help"])
    if args[0].startswith("-"):
        raise AirbayesError(f"Name the experiment before {args[0]}.\n  {USAGE}")
    options, engine, config = _parse(_load(args[0]), args[0], args[1:])
    if options.json and options.dry_run:
        raise AirbayesError("--json shows a run and --dry-run runs nothing; predictions as JSON: `airbayes plan`.")
    if options.quiet and options.verbose:
        raise AirbayesError("--quiet and --verbose exclude each other; give one.")
    check_options(engine, force=options.force)
    check_paths(engine, config)
    if engine.on_cluster:  # the workers compute: this process is not to take the memory of a GPU from them
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    console, progress = make_console(options.quiet or options.json), make_console(options.quiet, stderr=True)
    check_asked(options.devices, options.processes, options.process_id, options.coordinator)
    check_alone(engine, several=options.devices > 1 or options.processes > 1 or options.coordinator is not None)
    if options.track:
        from airbayes.experiment.tracking import check_trackers

        check_trackers(options.track)
    if options.dry_run:
        from airbayes.cli.dry_run import print_plan

        _check(config, progress)
        print_plan(config, console)
        return 0
    if options.out is not None and str(options.out) in ("", "."):
        raise AirbayesError("--out is empty; name a folder for the results, for example --out runs/mine.")
    folder = options.out or Path("runs") / config.name
    if options.coordinator is not None:
        return _run_in_team(config, folder, options, engine, args)
    if options.processes > 1:
        if problems := sharding_problems(config, options.processes * max(options.devices, 1)):
            raise ConfigError(problems)
        return launch(args, options.processes)
    connect(options.devices, 1, None, None)
    _check(config, progress)
    return _run(config, folder, options, engine, args, console, progress)


def _run_in_team(
    config: ExperimentConfig, folder: Path, options: RunOptions, engine: EngineOptions, args: list[str]
) -> int:
    """As one of several processes; the first one speaks for all."""
    stop_with_parent()
    quieten_libraries()
    connect(options.devices, options.processes, options.process_id, options.coordinator)
    quiet = options.quiet or not is_first()
    console, progress = make_console(quiet or options.json), make_console(quiet, stderr=True)
    with leaving_together(options.debug):
        in_all(lambda: _check(config, progress))
        return _run(config, folder, options, engine, args, console, progress)
    raise AssertionError("leaving_together does not return after an error")


def _check(config: ExperimentConfig, console: Console) -> None:
    """Load JAX, which takes a second or two, and check the configuration, with a sign of life meanwhile."""
    text = f"{printable(config.name)}: loading JAX and checking the configuration ..."
    if not console.is_terminal:
        console.print(text)
    with console.status(Text(text)):
        cache_programs()  # before JAX is loaded: what is compiled once is compiled on this machine for good
        from airbayes.experiment.validate import check_config

        check_config(config)


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
    with StopRequest(options.time_limit) as stop, ExitStack() as held:
        journal = Journal(folder, options.checkpoint_every, stop, tell)

        def begin() -> Literal["complete", "anew", "going on"]:
            held.enter_context(run_lock(folder, wait=engine.shard is not None, tell=tell))
            return _begin(config, folder, options, journal)

        try:
            if engine.shard is not None:
                code = _run_share(config, folder, options, engine, journal, args, progress)
                if code is not None:
                    if options.json:
                        _say_done("incomplete", folder, [], UNITS_FAILED if code else "other shards are not done")
                    return code
            begun = in_first(begin)
            if begun == "complete":
                if is_first():
                    _show_again(config, folder, console)
                    if options.json:
                        _say_done("complete", folder, [], "it was complete before")
                return 0
            with _how_to_go_on(args):
                if engine.on_cluster:
                    from airbayes.cli.sweep import SweepRun

                    code = SweepRun(config, journal, engine, progress).run_on_cluster()
                    if code is not None:
                        if options.json:
                            _say_done("incomplete", folder, [], UNITS_FAILED)
                        return code
                return _compute(config, folder, journal, options, mesh, console, progress, anew=begun == "anew")
        except Stopped as stopped:
            if options.json and is_first():
                _say_done("stopped", folder, [], stopped.reason)
            tell(f"Stopped by {stopped.reason}; everything is saved. Go on with:\n  {_again(args)}")
            return STOPPED if stopped.reason.startswith(TIME_LIMIT) else INTERRUPTED


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
        with _how_to_go_on(args):
            return SweepRun(config, journal, engine, progress).run_share()


@contextmanager
def _how_to_go_on(args: list[str]) -> Iterator[None]:
    try:
        yield
    except ResultsError as error:
        raise ResultsError(f"{error}\n  What was saved before is kept. Then go on with: {_again(args)}") from error


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
    from airbayes.experiment.store import read_dataset
    from airbayes.report.files import show_tables

    console.print(f"{folder} already holds this experiment, complete. Use --force to run it again.")
    show_tables(read_dataset(folder), config, console)


def _say_done(status: str, folder: Path, files: list[str], reason: str | None = None) -> None:
    from airbayes.cli.json_events import json_line

    sys.stdout.write(json_line("done", {"status": status, "folder": str(folder), "files": files, "reason": reason}))


def _compute(
    config: ExperimentConfig,
    folder: Path,
    journal: "Journal",
    options: RunOptions,
    mesh: "Mesh | None",
    console: Console,
    progress: Console,
    *,
    anew: bool,
) -> int:
    """All that is not on disk yet, then the results. The exit code."""
    from airbayes.cli.sweep import say_failures
    from airbayes.compiler import check_compiler
    from airbayes.experiment.build import Builder
    from airbayes.experiment.cells import enumerate_cells
    from airbayes.experiment.grid import run_variants
    from airbayes.experiment.prediction_files import FOLDER as PREDICTIONS
    from airbayes.experiment.reporter import Silent
    from airbayes.experiment.results_file import SUMS
    from airbayes.experiment.sample_files import FOLDER as SAMPLES
    from airbayes.experiment.store import (
        CLAIMS_FILE,
        STRANGE,
        read_dataset,
        read_graphs,
        write_partial_results,
        write_results,
    )
    from airbayes.experiment.strange import measure_own_strange
    from airbayes.experiment.team import TeamJournal, wait_for_all
    from airbayes.experiment.tracking import EVENTS
    from airbayes.report.claims import claims_table, missing_for_claims, write_claims
    from airbayes.report.claims_show import show_claims
    from airbayes.report.files import show_tables, write_report_files
    from airbayes.report.html import REPORT, make_run, write_report

    graphs = read_graphs(config)
    wanted = {"verbose": options.verbose, "json": options.json, "track": options.track, "anew": anew}
    reporting = make_reporter(progress, config, folder, **wanted) if is_first() else nullcontext(Silent())
    with reporting as reporter:
        check_compiler()
        builder = in_all(lambda: Builder(config, mesh))
        if mesh is not None:
            show_split(builder, mesh, progress)
        results, failures, wanted_cells = [], [], len(enumerate_cells(config))
        if several_processes():  # an error in one of them leaves the others waiting for it: they all end
            variants = run_variants(builder, reporter, TeamJournal(journal))
        else:
            variants = run_variants(builder, reporter, journal, failures)
        for done in variants:
            results += done
            if is_first() and len(results) < wanted_cells:  # else all of it is written next
                write_partial_results(folder, config, results, builder.problem.attributes())
    if failures:
        code = say_failures(config, failures)
        if options.json:
            _say_done("incomplete", folder, [], UNITS_FAILED)
        return code
    if not is_first():
        wait_for_all()
        return 0
    write_results(folder, config, results, builder.problem.attributes(), graphs)
    dataset = read_dataset(folder)
    written = write_report_files(dataset, config, folder)
    records = []
    if not missing_for_claims(dataset) and dataset.attrs.get("evaluated_on") != "validation":
        records = claims_table(dataset)
        if any(record.verdict != "not measured" for record in records):
            write_claims(folder, dataset, records)
            written.append(CLAIMS_FILE)
    try:
        strange = [STRANGE] if measure_own_strange(folder, config) else []
    except AirbayesError as error:  # a section of the report, not the run
        journal.tell(f"Objects of classes that were left out could not be scored: {error}")
        strange = []
    page = write_report([make_run(folder, config, dataset)], folder / REPORT)
    journal.clear()  # last: what is killed before this is written again
    show_tables(dataset, config, console)  # when all is written: a reader such as `head` may leave early
    if CLAIMS_FILE in written:
        console.print()
        show_claims(records, console)
    folders = [name for name in (PREDICTIONS, SAMPLES) if (folder / name).is_dir()]
    names = ["summary.json", "results.nc", SUMS, "config.toml", EVENTS, *written, *folders, *strange, REPORT]
    console.print(f"\nWritten to {folder}: {', '.join(names)}")
    console.print(f"Report, for your browser: {page}", markup=False, soft_wrap=True)
    if options.json:
        _say_done("complete", folder, names)
    if several_processes():
        wait_for_all()
    return 0


def _again(args: list[str]) -> str:
    """The command that goes on."""
    args = without_place(args)
    return shlex.join(["airbayes", "run", *(arg for arg in args if arg != "--force")])


def _load(name: str) -> ExperimentConfig:
    """A preset by name, or an experiment file."""
    if name.endswith(".toml") or "/" in name:
        if not os.path.exists(name):
            raise AirbayesError(
                f"{name} is not there. `airbayes new NAME` writes an experiment file; "
                "`airbayes run --list` shows the presets."
            )
        return load_config(Path(name))
    return preset(name)


def _parse(config: ExperimentConfig, name: str, args: list[str]) -> tuple[RunOptions, EngineOptions, ExperimentConfig]:
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


def _list_presets() -> int:
    for name, make in PRESETS.items():
        summary = (make.__doc__ or "").strip().splitlines()[0]
        sys.stdout.write(f"{name:12} {summary}\n")
    return 0
