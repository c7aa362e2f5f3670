"""Computes what is not on disk yet, writes the results and shows them: the work of `airbayes run` in this process."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from airbayes.cli.done import UNITS_FAILED, say_done
from airbayes.cli.hosts import in_all, is_first, several_processes, show_split
from airbayes.cli.progress import make_reporter
from airbayes.cli.run_options import RunOptions
from airbayes.cli.show_results import show_results
from airbayes.cli.sweep import say_failures
from airbayes.compiler import check_compiler
from airbayes.errors import AirbayesError
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import enumerate_cells
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.grid import run_variants
from airbayes.experiment.kept import storage_note
from airbayes.experiment.prediction_files import FOLDER as PREDICTIONS
from airbayes.experiment.reporter import Silent
from airbayes.experiment.results_file import SUMS
from airbayes.experiment.sample_files import FOLDER as SAMPLES
from airbayes.experiment.store import STRANGE, read_dataset, read_graphs, write_partial_results, write_results
from airbayes.experiment.strange import measure_own_strange
from airbayes.experiment.team import TeamJournal, wait_for_all
from airbayes.experiment.tracking import EVENTS, tracked_in
from airbayes.report.beside import write_beside
from airbayes.report.claims_show import show_claims
from airbayes.report.html import REPORT

if TYPE_CHECKING:
    from jax.sharding import Mesh

    from airbayes.experiment.journal import Journal


def compute(
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
    graphs = read_graphs(config)
    if is_first() and (note := storage_note(config)):
        journal.tell(note)
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
            say_done("incomplete", folder, [], UNITS_FAILED)
        return code
    if not is_first():
        wait_for_all()
        return 0
    write_results(folder, config, results, builder.problem.attributes(), graphs)
    dataset = read_dataset(folder)
    try:
        strange = [STRANGE] if measure_own_strange(folder, config) else []
    except AirbayesError as error:  # a section of the report, not the run
        journal.tell(f"Objects of classes that were left out could not be scored: {error}")
        strange = []
    beside = write_beside(folder, config, dataset)
    journal.clear()  # last: what is killed before this is written again
    show_results(dataset, config, console)  # when all is written: a reader such as `head` may leave early
    if beside.records:
        console.print()
        show_claims(beside.records, console)
    folders = [name for name in (PREDICTIONS, SAMPLES) if (folder / name).is_dir()]
    names = ["summary.json", "results.nc", SUMS, "config.toml", EVENTS, *beside.names, *folders, *strange, REPORT]
    tracked = tracked_in(options.track, folder)
    names += tracked
    console.print(f"\nWritten to {folder}: {', '.join(names)}")
    console.print(f"Report, for your browser: {beside.page}", markup=False, soft_wrap=True)
    for file, way in tracked.items():
        console.print(f"Look at {file} with: {way}", markup=False, soft_wrap=True)
    if options.json:
        say_done("complete", folder, names)
    if several_processes():
        wait_for_all()
    return 0
