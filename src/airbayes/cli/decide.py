"""`airbayes decide`: what the predictions of a finished run are good for."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from airbayes.cli.arguments import parse
from airbayes.cli.predict import MOST_TRUSTED, ModelOptions
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError, ResultsError
from airbayes.folders import check_results_folder
from airbayes.text import plural, printable

if TYPE_CHECKING:
    import xarray as xr

    from airbayes.experiment.cells import Cell

USUAL_RATE = 0.05  # of false alarms


@dataclasses.dataclass(frozen=True)
class DecideOptions:
    max_error: float = 0.05
    """Answer as often as possible with at most this share of wrong answers, 0 to 1."""
    delta: float = 0.1
    """Probability that the error is larger all the same, because the validation objects were misleading."""
    coverage: float = 0.9
    """How often a prediction set is to hold the true class, 0 to 1."""
    strange: tuple[Path, ...] = ()
    """Object sets (.npz) with classes that the run has not learned: how well are they told from known objects? Stored
    beside the run and shown in its report, for every method."""
    false_alarms: float | None = None
    """From which score on is an object strange, for at most this share of false alarms, 0 to 1? 0.05 when left out."""
    source: Path | None = None
    """With --strange: where the object set is that the run learned from, if it is not where it was."""
    json: bool = False
    """Print JSON instead of tables."""
    debug: bool = False
    """Show Python tracebacks."""


def decide_command(args: list[str]) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """Results folder of a classification run."""
        options: Annotated[DecideOptions, tyro.conf.arg(name="")] = DecideOptions()
        model: Annotated[ModelOptions, tyro.conf.arg(name="")] = MOST_TRUSTED

    given = parse(
        Arguments,
        prog="airbayes decide",
        description="When to answer, prediction sets, and what they achieve on the test objects; written to "
        "RUN/decisions.json for all cells, shown for one.",
        args=args,
    )
    from airbayes.experiment.dataset import accuracy_of_agents
    from airbayes.experiment.decisions import Promise, decisions, write_decisions
    from airbayes.experiment.prediction_files import read_prediction, stored_predictions
    from airbayes.experiment.store import read_dataset
    from airbayes.experiment.trained import Wanted, choose

    options, folder = given.options, given.run
    if options.source is not None and not options.strange:
        raise AirbayesError(f"--source {options.source}: only --strange FILE looks into the run's object set.")
    promise = Promise(options.max_error, options.delta, options.coverage)
    check_results_folder(folder, "results.nc")
    rows = stored_predictions(folder)
    if not rows:
        raise ResultsError(
            f"{folder} stores no predictions. Classification runs have them, such as `airbayes run quick`, of every "
            "cell that did not diverge; runs from before they were stored must be run again."
        )
    wanted = Wanted(**dataclasses.asdict(given.model))
    if wanted.agent:
        raise ResultsError(f"--agent {wanted.agent}: predictions are stored of agent 0 only.")
    shown = choose(rows, wanted, folder, "predictions")
    results = read_dataset(folder)
    names = _class_names(results, read_prediction(folder, shown).test.probabilities.shape[1])
    found = {
        row.cell: decisions(read_prediction(folder, row), promise)
        | {"accuracy_of_agents": accuracy_of_agents(results, row.cell)}
        for row in rows
    }
    if options.strange:
        _measure_strange(folder, shown.cell, options)
    stored = _stored_strange(folder, USUAL_RATE if options.false_alarms is None else options.false_alarms)
    if options.false_alarms is not None and not stored:
        raise AirbayesError(
            f"--false-alarms {options.false_alarms}: {folder} has no scores of strange objects yet; add --strange FILE."
        )
    for cell, strange in stored.items():
        if cell in found:
            found[cell]["strange"] = strange
    record = found[shown.cell]
    page = _report_again(folder) if options.strange else None
    path = write_decisions(folder, names, found)
    if options.json:
        sys.stdout.write(json.dumps({"cell": str(shown.cell), "class_names": names, **record}, allow_nan=False) + "\n")
        return 0
    from airbayes.cli.decide_show import print_decisions

    console = make_console()
    console.print(f"{printable(str(shown.cell), 200)}, agent 0", markup=False)
    print_decisions(record, names, console)
    if stored and shown.cell not in stored:
        console.print("Strange objects were measured for other cells only; --strange FILE does so for this one.\n")
    console.print(f"Written, {plural(len(found), 'cell')}: {printable(str(path), 400)}", markup=False)
    if page is not None:
        console.print(f"The strange objects are in the report, too: {printable(str(page), 400)}", markup=False)
    return 0


def _class_names(results: "xr.Dataset", count: int) -> tuple[str, ...]:
    names = tuple(str(results.attrs.get("class_names", "")).split("\n"))
    return names if len(names) == count else tuple(f"class {index}" for index in range(count))


def _measure_strange(folder: Path, shown: "Cell", options: DecideOptions) -> None:
    """Store how strange the objects of unlearned classes look to the shown cell, and to each method's best."""
    from airbayes.data.metres import load_for_network
    from airbayes.experiment.strange import best_cells, learned_classes, measure_strange, unlearned

    learned = learned_classes(folder)
    strange = unlearned(map(load_for_network, options.strange), learned)
    measure_strange(folder, strange, [shown, *best_cells(folder)], options.source)


def _stored_strange(folder: Path, rate: float) -> "dict[Cell, dict]":
    """What --strange, or a run that left classes out, has measured; by cell."""
    from airbayes.experiment.strange_files import read_strange

    stored = read_strange(folder)
    if stored is None:
        return {}
    found = {}
    for cell, scores in stored.cells.items():
        alarms = scores.alarms(rate)
        rows = {name: row | alarms[name] for name, row in scores.told_apart().items()}
        found[cell] = {"classes": stored.classes, "known": scores.known.shape[1], "false_alarms": rate, "scores": rows}
    return found


def _report_again(folder: Path) -> Path:
    """The page shows strange objects, so it is made anew when they have been measured; with point clouds if it had."""
    from airbayes.report.html import REPORT, read_run, write_report

    page = folder / REPORT
    drawn = '<section id="objects"' in page.read_text("utf-8", "replace") if page.is_file() else None
    return write_report([read_run(folder, drawn)], page)
