"""What `airbayes predict` prints and writes: a table, JSON lines, CSV. File and class names stay plain text."""

import csv
import dataclasses
import io
import json
from collections import Counter

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from airbayes.experiment.prediction import Predictions, Tally
from airbayes.text import for_spreadsheet, percent, plural, printable

NAME, CLASS = 40, 20  # most characters of a file and of a class name in the table


@dataclasses.dataclass(frozen=True)
class Asked:
    """One object that was asked about."""

    file: str
    index: int | None  # within the file; None where the file is the object
    truth: str | None  # the class its data set says it has

    @property
    def shown(self) -> str:
        number = "" if self.index is None else f" {self.index}"
        return ("…" + self.file[1 - NAME :] if len(self.file) > NAME else self.file) + number


@dataclasses.dataclass(frozen=True)
class Answers:
    """Objects, what was found, and how to read it."""

    asked: list[Asked]
    found: Predictions
    class_names: tuple[str, ...]
    abstain_below: float | None
    sets: np.ndarray | None = None  # bool [object, class], prediction sets

    def labels(self) -> np.ndarray:
        """The true class of every object; -1 where it is not known or was not learned."""
        numbers = {name: number for number, name in enumerate(self.class_names)}
        return np.array([-1 if each.truth is None else numbers.get(each.truth, -1) for each in self.asked], np.int64)

    def records(self, limit: int | None = None) -> list[dict]:
        """One flat record per object, of the first `limit`."""
        found, names = self.found, self.class_names
        columns = zip(
            self.asked[:limit],
            found.predicted.tolist(),
            found.answered(self.abstain_below).tolist(),
            _short(found.confidence),
            _short(found.entropy),
            _short(found.mutual_information),
            _short(found.probabilities),
            strict=False,
        )
        sets = [{}] * len(self.asked)
        if self.sets is not None:
            sets = [{"set": [name for name, held in zip(names, row, strict=True) if held]} for row in self.sets]
        return [
            {
                "file": each.file,
                "object": each.index,
                "truth": each.truth,
                "predicted": names[predicted],
                "abstains": not answers,
                "confidence": confidence,
                "entropy": entropy,
                "mutual_information": information,
                **held,
                "probabilities": dict(zip(names, probabilities, strict=True)),
            }
            for (each, predicted, answers, confidence, entropy, information, probabilities), held in zip(
                columns, sets, strict=False
            )
        ]


def print_table(answers: Answers, limit: int, console: Console) -> None:
    """The first `limit` objects; a terminal too narrow for all classes gets none of their columns."""
    table = _table(answers, limit, answers.class_names)
    needed = Measurement.get(console, console.options.update(width=10_000), table).maximum
    if not console.is_terminal:  # a file has no edge: better long lines than cut numbers
        console.width = max(console.width, needed)
    narrow = needed > console.width
    console.print(_table(answers, limit, ()) if narrow else table)
    if narrow:
        console.print(f"Probabilities of all classes: {needed} columns are needed, or --json, or --csv FILE.")
    if len(answers.asked) > limit:
        more = f"{len(answers.asked) - limit:,} more"
        console.print(f"{more}; --limit {len(answers.asked)} shows all, --csv FILE writes all.")


def _table(answers: Answers, limit: int, class_names: tuple[str, ...]) -> Table:
    truths = any(each.truth is not None for each in answers.asked[:limit])
    table = Table("object", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in (["truth"] if truths else []) + ["predicted"]:
        table.add_column(name)
    for name in ("confidence", "entropy", "mutual inf."):
        table.add_column(name, justify="right")
    if answers.sets is not None:
        table.add_column("set")
    for name in class_names:
        table.add_column(_name(name), justify="right")
    for each, record in zip(answers.asked, answers.records(limit), strict=False):
        wrong = each.truth in answers.class_names and each.truth != record["predicted"]
        said = Text("abstains", style="dim") if record["abstains"] else _name(record["predicted"])
        said.stylize("red" if wrong and not record["abstains"] else "")
        numbers = [record[name] for name in ("confidence", "entropy", "mutual_information")]
        held = [Text(" ".join(_name(name).plain for name in record["set"]) or "∅")] if "set" in record else []
        shares = [f"{record['probabilities'][name]:.3f}" for name in class_names]
        truth = [_name(each.truth or "–")] if truths else []
        table.add_row(
            Text(printable(each.shown, NAME + 12)),
            *truth,
            said,
            *(f"{number:.3f}" for number in numbers),
            *held,
            *shares,
        )
    for column in table.columns:
        column.no_wrap = column.header != "set"  # a set may take several lines
    return table


def print_tally(count: Tally, answers: Answers, console: Console) -> None:
    """Coverage, and accuracy where labels are known."""
    line = plural(count.objects, "object")
    if answers.abstain_below is not None:
        share = count.answered / count.objects
        when = "never answers" if np.isinf(answers.abstain_below) else f"confidence {answers.abstain_below:.8g} or more"
        line += f", {count.answered:,} answered (coverage {percent(share, 1)}, {when})"
    console.print(line + ".", markup=False)
    if count.labelled:
        line = f"Accuracy {_share(count.right, count.labelled)}"
        if answers.abstain_below is not None:
            line += f" on all, {_share(count.right_answered, count.labelled_answered)} on the answered ones"
        console.print(line + ".", markup=False)
    if answers.sets is not None:
        labels = answers.labels()
        known = labels >= 0
        line = f"Sets: {answers.sets.sum(axis=1).mean():.2f} classes on average"
        if known.any():
            held = percent(float(answers.sets[known, labels[known]].mean()), 1)
            line += f", holding the truth in {held} of {known.sum():,}"
        console.print(line + ".", markup=False)
    strange = Counter(each.truth for each in answers.asked if each.truth not in (None, *answers.class_names))
    if strange:
        listed = ", ".join(f"{printable(str(name), CLASS)} {number:,}" for name, number in strange.most_common(10))
        text = "of classes this run has not learned, not counted in the accuracy"
        console.print(f"{plural(strange.total(), 'object')} {text}: {listed}.", markup=False)


def json_lines(answers: Answers) -> str:
    return "".join(json.dumps(record, allow_nan=False) + "\n" for record in answers.records())


def to_csv(answers: Answers) -> str:
    """One row per object; a class's probability is in the column `p CLASS`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row, record in enumerate(answers.records()):
        probabilities = record.pop("probabilities")
        if row == 0:
            writer.writerow([*record, *(f"p {_plain(name)}" for name in probabilities)])
        writer.writerow([_plain(value) for value in [*record.values(), *probabilities.values()]])
    return out.getvalue()


def _plain(value: object) -> object:
    return for_spreadsheet(" | ".join(value) if isinstance(value, list) else value)  # a list: a prediction set


def _name(name: str) -> Text:
    text = printable(name, CLASS)
    return Text(text if cell_len(text) else "''")


def _short(numbers: np.ndarray) -> list:
    """Six decimals: float32 has no more that mean something."""
    return numbers.astype(np.float64).round(6).tolist()


def _share(right: int, total: int) -> str:
    return f"{percent(right / total, 1)} ({right:,} of {total:,})" if total else "– (0 of 0)"
