"""`airbayes decide`: what the predictions of a finished run are good for."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated

from airbayes.cli.arguments import parse
from airbayes.cli.predict import MOST_TRUSTED, ModelOptions
from airbayes.cli.progress import make_console, plural
from airbayes.errors import DataError, ResultsError
from airbayes.text import printable


@dataclasses.dataclass(frozen=True)
class DecideOptions:
    max_error: float = 0.05
    """Answer as often as possible with at most this share of wrong answers, 0 to 1."""
    delta: float = 0.1
    """Probability that the error is larger all the same, because the validation objects were misleading."""
    coverage: float = 0.9
    """How often a prediction set is to hold the true class, 0 to 1."""
    strange: tuple[Path, ...] = ()
    """Object sets (.npz) with classes that the run has not learned: how well are they told from known objects?"""
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
    from airbayes.experiment.decisions import Promise, decisions, write_decisions
    from airbayes.experiment.prediction_files import read_prediction, stored_predictions
    from airbayes.experiment.trained import Wanted, choose

    options, folder = given.options, given.run
    promise = Promise(options.max_error, options.delta, options.coverage)
    if not folder.is_dir():
        raise ResultsError(f"{folder} is no results folder: it is not there. `airbayes run` writes one.")
    rows = stored_predictions(folder)
    if not rows:
        raise ResultsError(
            f"{folder} stores no predictions. Is it a results folder of a classification run? `airbayes run quick` "
            "writes one; runs from before they were stored must be run again."
        )
    wanted = Wanted(**dataclasses.asdict(given.model))
    if wanted.agent:
        raise ResultsError(f"--agent {wanted.agent}: predictions are stored of agent 0 only.")
    shown = choose(rows, wanted, folder, "predictions")
    names = _class_names(folder, read_prediction(folder, shown).test.probabilities.shape[1])
    found = {row.cell: decisions(read_prediction(folder, row), promise) for row in rows}
    record = found[shown.cell]
    if options.strange:
        record["strange"] = _strange(folder, wanted, shown.cell, options.strange)
    path = write_decisions(folder, names, found)
    if options.json:
        sys.stdout.write(json.dumps({"cell": str(shown.cell), "class_names": names, **record}, allow_nan=False) + "\n")
        return 0
    from airbayes.cli.decide_show import print_decisions

    console = make_console()
    console.print(f"{printable(str(shown.cell), 200)}, agent 0", markup=False)
    print_decisions(record, names, console)
    console.print(f"Written, {plural(len(found), 'cell')}: {printable(str(path), 400)}", markup=False)
    return 0


def _class_names(folder: Path, count: int) -> tuple[str, ...]:
    from airbayes.experiment.store import read_dataset

    names = tuple(str(read_dataset(folder).attrs.get("class_names", "")).split("\n"))
    return names if len(names) == count else tuple(f"class {index}" for index in range(count))


def _strange(folder: Path, wanted, cell, paths: tuple[Path, ...]) -> dict:
    from airbayes.data import load_objects
    from airbayes.experiment.calibration import held_out_objects, tell_strange
    from airbayes.experiment.trained import open_trained

    trained = open_trained(folder, dataclasses.replace(wanted, method=cell.variant, seed=cell.seed))
    if trained.stored.cell != cell:
        raise ResultsError(f"{folder} has no samples of {cell}; run with --saved-samples, or choose with --method.")
    clouds, classes = [], {}
    for path in paths:
        objects = load_objects(path)
        for row in range(len(objects)):
            name = objects.class_names[objects.label[row]]
            if name not in trained.class_names:
                clouds.append(objects.cloud(row))
                classes[name] = classes.get(name, 0) + 1
    if not clouds:
        listed = ", ".join(printable(name, 20) for name in trained.class_names)
        raise DataError(f"--strange: all objects are of classes that the run has learned ({listed}).")
    known = held_out_objects(folder, trained, "test").clouds
    return {"classes": classes, "known": len(known), "scores": tell_strange(trained, known, clouds)}
