"""`airbayes predict`: use a trained run on new objects."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from airbayes.cli.arguments import parse
from airbayes.cli.data import LoadOptions
from airbayes.cli.progress import make_console
from airbayes.data.formats import parse_classes
from airbayes.data.formats.any_path import SINGLE, UNLABELLED, load_any
from airbayes.data.formats.common import at
from airbayes.data.metres import HUGE_M, LARGE_M, check_metres
from airbayes.errors import AirbayesError, DataError
from airbayes.folders import check_results_folder, check_writable
from airbayes.text import plural, printable

if TYPE_CHECKING:
    from rich.console import Console

    from airbayes.cli.predict_show import Answers, Asked
    from airbayes.experiment.prediction import Predictions
    from airbayes.experiment.trained import Trained

USAGE = "usage: airbayes predict RUN FILE [FILE ...] [--max-error 0.05] [--coverage 0.9] [--json] [--csv FILE]"
EVERY_OBJECT = LoadOptions(min_points=1)  # few points are for the model to be unsure about
FEW_POINTS = 5  # no shape can be seen in fewer


@dataclasses.dataclass(frozen=True)
class PredictOptions:
    abstain_below: float | None = None
    """Decline to answer where the confidence is below this, 0 to 1."""
    max_error: float | None = None
    """Decline as often as needed for at most this share of wrong answers, 0 to 1; chosen on the validation objects."""
    delta: float | None = None
    """With --max-error: probability that more answers are wrong all the same, because the validation objects were
    misleading; 0.1 when left out."""
    coverage: float | None = None
    """Also give sets of classes that hold the true one with this probability, 0 to 1."""
    sets: Literal["lac", "aps", "aps-randomised"] | None = None
    """With --coverage: kind of these sets; lac when left out."""
    source: Path | None = None
    """Where the object set is that the run learned from, if it is not where it was."""
    draws: int = 1
    """Average over so many random draws of each object's points; 1 is what the run's own scores are of."""
    limit: int = 40
    """Rows shown in the table."""
    json: bool = False
    """Print one JSON object a line instead of the table; all objects."""
    csv: Path | None = None
    """Also write all objects to this CSV file."""
    force: bool = False
    """Replace the CSV file if it is there."""
    debug: bool = False
    """Show Python tracebacks."""


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    method: str | None = None
    """Which method's model, such as dsgld or cd_dsgld:common; the most trustworthy stored one when left out."""
    topology: str | None = None
    """Of which graph; full when left out, if stored."""
    snr_db: float | None = None
    """At which SNR in dB, inf for ideal links; the highest when left out."""
    seed: int | None = None
    """Of which seed; the lowest when left out."""
    agent: int = 0
    """Of which agent; what `airbayes decide` says is of agent 0 only."""


MOST_TRUSTED = ModelOptions()


def predict_command(args: list[str]) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """Results folder of a PointNet run with stored samples (--saved-samples)."""
        files: Annotated[
            tuple[Path, ...],
            tyro.conf.Positional,
            tyro.conf.arg(metavar="FILE ...", help_behavior_hint="(one or more)"),
        ]
        """Objects: single clouds (npy, npz, bin, pcd, ply, xyz, csv, txt), object sets (npz), data sets (folders)."""
        options: Annotated[PredictOptions, tyro.conf.arg(name="")] = PredictOptions()
        model: Annotated[ModelOptions, tyro.conf.arg(name="")] = MOST_TRUSTED
        load: Annotated[LoadOptions, tyro.conf.arg(name="")] = EVERY_OBJECT

    given = parse(
        Arguments,
        prog="airbayes predict",
        description="Class probabilities, confidence, entropy and mutual information of objects, from a trained run.",
        args=args,
    )
    check_results_folder(given.run, "config.toml")
    _check(given.files, given.options)
    from airbayes.experiment.trained import Wanted, open_trained

    notes = make_console(stderr=True)
    trained = open_trained(given.run, Wanted(**dataclasses.asdict(given.model)), given.options.source)
    asked, clouds = _read(given.files, given.load, notes)
    with notes.status(f"predicting {plural(len(clouds), 'object')} ..."):
        from airbayes.cli.predict_show import Answers
        from airbayes.experiment.prediction import predict_clouds

        found = predict_clouds(trained, clouds, given.options.draws)
    _check_finite(asked, found)
    abstain_below, sets = given.options.abstain_below, None
    if given.options.max_error is not None or given.options.coverage is not None:
        from airbayes.cli.predict_promise import promised

        abstain_below, sets = promised(given.run, trained, found, given.options, notes)
    answers = Answers(asked, found, trained.class_names, abstain_below, sets)
    top = notes if given.options.json else make_console()
    top.print(f"Model: {printable(str(trained), 200)}", markup=False)
    if len(trained.theta) == 1:
        top.print("One θ has no spread: its mutual information is 0 whatever the object.", markup=False)
    _warn_of_known(asked, clouds, trained, notes)
    _show(answers, given.options, top)
    return 0


def _check(files: tuple[Path, ...], options: PredictOptions) -> None:
    """Before anything is read."""
    if not files:
        raise AirbayesError(f"Name at least one file with objects.\n  {USAGE}")
    if options.abstain_below is not None and not 0 <= options.abstain_below <= 1:
        raise AirbayesError(f"--abstain-below {options.abstain_below}: need a probability, 0 to 1.")
    if options.abstain_below is not None and options.max_error is not None:
        raise AirbayesError("--abstain-below and --max-error both choose the threshold; give one of them.")
    for option, value, needs, other in (
        ("--delta", options.delta, options.max_error, "--max-error R"),
        ("--sets", options.sets, options.coverage, "--coverage C"),
    ):
        if value is not None and needs is None:
            raise AirbayesError(f"{option} {value}: without effect; add {other}, or leave it out.")
    for name in ("max_error", "delta", "coverage"):
        value = getattr(options, name)
        if value is not None and not 0 < value < 1:
            raise AirbayesError(f"--{name.replace('_', '-')} {value}: need a number between 0 and 1.")
    if options.draws < 1 or options.limit < 1:
        raise AirbayesError(f"--draws {options.draws} --limit {options.limit}: both need at least 1.")
    if options.csv is None:
        return
    if options.csv.is_dir() or not options.csv.absolute().parent.is_dir():
        raise AirbayesError(f"--csv {options.csv}: need a file in a folder that exists.")
    check_writable(options.csv.absolute().parent, "Choose another --csv.")
    if options.csv.exists() and not options.force:
        raise AirbayesError(f"{options.csv} exists. Use another name, or --force to replace it.")


def _read(paths: tuple[Path, ...], options: LoadOptions, notes: "Console") -> "tuple[list[Asked], list[np.ndarray]]":
    """All objects of all paths, in order, and a word on what was left out."""
    from airbayes.cli.predict_show import Asked

    asked: list[Asked] = []
    clouds: list[np.ndarray] = []
    large: list[Asked] = []
    for path in paths:
        objects, report = load_any(
            path,
            options.format,
            classes=parse_classes(options.classes),
            min_points=options.min_points,
            skip_bad=options.skip_bad,
            max_objects=options.max_objects,
        )
        single = report.format == SINGLE
        mine = []
        for row in range(len(objects)):
            truth = None if single or report.format == UNLABELLED else objects.class_names[objects.label[row]]
            mine.append(Asked(str(path), None if single else row, truth))
        extents, kept = objects.extents.tolist(), list(range(len(objects)))
        if options.skip_bad:
            kept = [row for row in kept if extents[row] <= HUGE_M]
        else:
            check_metres(objects, lambda row, mine=mine: mine[row].shown)
        asked += [mine[row] for row in kept]
        clouds += [objects.cloud(row) for row in kept]
        large += [mine[row] for row in kept if extents[row] > LARGE_M]
        if len(kept) < len(objects):
            text = f"left out {len(objects) - len(kept):,} × more than {HUGE_M:,g} m across. Other units?"
            notes.print(f"{at(path)}: {text}", markup=False)
        for reason, count in report.skipped.items():
            notes.print(f"{at(path)}: left out {count:,} × {reason}.", markup=False)
        for message in report.messages:
            notes.print(f"  {printable(message, 500)}", markup=False)
        if report.left_out:
            text = f"{sum(report.left_out.values()):,} of source classes not asked for (--classes)"
            notes.print(f"{at(path)}: left out {text}.", markup=False)
    if not clouds:
        raise DataError("No objects are left to predict.")
    _remark(asked, clouds, large, notes)
    return asked, clouds


def _remark(asked: "list[Asked]", clouds: list[np.ndarray], large: "list[Asked]", notes: "Console") -> None:
    """A network answers whatever it is asked; a word on what can hardly be an object."""
    few = [each for each, cloud in zip(asked, clouds, strict=True) if len(cloud) < FEW_POINTS]
    if few:
        text = f"of fewer than {FEW_POINTS} points, the first {printable(few[0].shown, 80)}"
        notes.print(f"{plural(len(few), 'object')} {text}: too few to show a shape. --min-points leaves them out.")
    if large:
        text = f"more than {LARGE_M:g} m across, the first {printable(large[0].shown, 80)}"
        notes.print(f"{plural(len(large), 'object')} {text}. A whole sweep is not an object.", markup=False)


def _warn_of_known(asked: "list[Asked]", clouds: list[np.ndarray], trained: "Trained", notes: "Console") -> None:
    """Objects whose class is given are scored: are they of the set that the run learned from?"""
    scored: dict[str, list[np.ndarray]] = {}
    for each, cloud in zip(asked, clouds, strict=True):
        if each.truth in trained.class_names:
            scored.setdefault(each.file, []).append(cloud)
    if not scored:
        return
    known = trained.source.count_known([(Path(file), of_file) for file, of_file in scored.items()])
    if known:
        share = f"{known:,} of {plural(sum(map(len, scored.values())), 'object')}"
        text = "from the set that the run learned from: the accuracy on them is no measure of new ones"
        notes.print(f"{share} {'is' if known == 1 else 'are'} {text}.", markup=False)


def _check_finite(asked: "list[Asked]", found: "Predictions") -> None:
    """No numbers, no answer."""
    bad = np.flatnonzero(~np.isfinite(found.probabilities).all(axis=1))
    if len(bad):
        shown = printable(asked[bad[0]].shown, 400)
        raise DataError(f"{shown}: the network's output is not finite. Try another model with --method or --seed.")


def _show(answers: "Answers", options: PredictOptions, console: "Console") -> None:
    from airbayes.cli.predict_show import json_lines, print_table, print_tally, to_csv
    from airbayes.experiment.prediction import tally
    from airbayes.files import write_text

    if options.csv is not None:
        write_text(options.csv, to_csv(answers))
    if options.json:
        sys.stdout.write(json_lines(answers))
    else:
        print_table(answers, options.limit, console)
    print_tally(tally(answers.found, answers.labels(), answers.abstain_below), answers, console)
    if options.csv is not None:
        console.print(f"Written: {printable(str(options.csv), 400)}", markup=False)
