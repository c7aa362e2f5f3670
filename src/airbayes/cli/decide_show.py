"""What `airbayes decide` prints."""

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airbayes.experiment.decisions import why_all_classes, why_never
from airbayes.text import percent, plural, printable

SCORES = {
    "confidence": "1 − confidence",
    "entropy": "entropy",
    "mutual_information": "mutual information (epistemic)",
    "expected_entropy": "expected entropy (aleatoric)",
    "energy": "energy",
}


def print_decisions(record: dict, class_names: tuple[str, ...], console: Console) -> None:
    objects, curve = record["objects"], record["risk_coverage"]
    instances = (
        f" of {plural(objects['test_instances'], 'instance')}" if objects["test_instances"] < objects["test"] else ""
    )
    right = f"accuracy {percent(record['accuracy'], 1)}"
    if record["accuracy_of_agents"] is not None:
        low, high = record["accuracy_of_agents"]
        right += f" (the agents: {percent(low, 1)} to {percent(high, 1)})" if high > low else ""
    console.print(f"{plural(objects['test'], 'test object')}{instances}, {right}.")
    console.print(f"Risk-coverage curve: AURC {curve['aurc']:.4f}, of which {curve['excess_aurc']:.4f} is avoidable.\n")
    console.print(_uncertainty_table(record["uncertainty"]))
    if record["threshold"] is None:
        console.print("No validation objects: no threshold and no prediction sets can be promised.")
    else:
        _print_threshold(record, console)
        console.print(_set_table(record["sets"], class_names, objects["test_instances_per_class"]))
        low, high = next(iter(record["sets"].values()))["expected"]
        held = plural(objects["validation_instances"], "validation instance")
        wanted = f"Sets were to cover {percent(record['promise']['coverage'], None)}"
        between = f"{percent(low, 1)} to {percent(high, 1)}"
        means = f"with {held} 90 % of calibrations cover {between} of new objects"
        if all(found["quantile"] is None for found in record["sets"].values()):
            means = why_all_classes(held, record["promise"]["coverage"])
        console.print(f"{wanted}; {means}. In brackets: test instances of a class.\n")
    if "strange" in record:
        _print_strange(record["strange"], console)


def _uncertainty_table(rows: dict) -> Table:
    table = Table("nats", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("all", "right answers", "wrong answers"):
        table.add_column(name, justify="right")
    for name, means in rows.items():
        table.add_row(SCORES[name], *(_nats(means[key]) for key in ("all", "right", "wrong")))
    return table


def _nats(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.3f}"


def _print_threshold(record: dict, console: Console) -> None:
    found, promise = record["threshold"], record["promise"]
    wrong, probability = percent(promise["max_error"], None), percent(1 - promise["delta"], None)
    asked = f"At most {wrong} wrong answers, with probability {probability}"
    if found["answers"] == "never":
        held = record["objects"]["validation_instances"]
        why = why_never(held, found["validation_needed"], promise["max_error"], found["least_error"])
        console.print(f"{asked}: cannot be promised, so never answer. {why[0].upper()}{why[1:]}.\n", markup=False)
        return
    when = "always answer" if found["answers"] == "always" else f"answer above a confidence of {found['value']:.4f}"
    seen = f"{found['validation_wrong']} of {found['validation_answered']} wrong on validation"
    console.print(f"{asked}: {when} ({seen}, bound {percent(found['bound'], 1)}).")
    share, error = percent(found["test_coverage"], 1), percent(found["test_error"], 1)
    console.print(f"On the test objects: {share} answered, {error} of the answers wrong.\n")


def _set_table(sets: dict, class_names: tuple[str, ...], instances: list[int]) -> Table:
    """A column for each kind: classes may be many, and a terminal is 80 columns wide."""
    table = Table("prediction sets", box=SIMPLE_HEAD, pad_edge=False)
    for kind in sets:
        table.add_column(kind, justify="right", no_wrap=True)
    table.add_row("coverage", *(percent(found["coverage"], 1) for found in sets.values()))
    table.add_row("mean size", *(f"{found['mean_size']:.2f}" for found in sets.values()))
    for size, name in enumerate(("empty", "a single class")):
        table.add_row(name, *(percent(found["share_of_size"][size], 1) for found in sets.values()))
    for place, name in enumerate(class_names):
        held = [found["coverage_per_class"][place] for found in sets.values()]
        heading = Text(f"coverage of {printable(name, 20)} ({instances[place]:,})")
        table.add_row(heading, *(percent(value, 1) for value in held))
    return table


def _alarm_from(threshold: float) -> str:
    """Where known objects score 0, as those of an optimiser's mutual information do, it is the next float32."""
    return "above 0" if 0 < threshold < np.finfo(np.float32).tiny else f"{threshold:.6g}"


def _print_strange(found: dict, console: Console) -> None:
    listed = ", ".join(f"{printable(name, 20)} {count:,}" for name, count in found["classes"].items())
    console.print(f"Strange objects ({listed}) against {plural(found['known'], 'test object')}:", markup=False)
    table = Table("score", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("AUROC", justify="right")
    for name in ("false alarms at 95 % found", "alarm from", "found"):
        table.add_column(name, justify="right")
    for name, row in found["scores"].items():
        alarm = ("–", "–") if row["threshold"] is None else (_alarm_from(row["threshold"]), percent(row["found"], 1))
        table.add_row(SCORES[name], f"{row['auroc']:.3f}", percent(row["false_alarms_at_95"], 1), *alarm)
    console.print(table)
    rate = percent(found["false_alarms"], None)
    if any(row["threshold"] is None for row in found["scores"].values()):
        console.print(f"{plural(found['known'], 'test object')}: too few for {rate} false alarms.", markup=False)
    else:
        text = (
            f"Alarm from: of objects like the test objects at most {rate} then give a false alarm, and of strange ones"
        )
        console.print(f"{text} like these so many are found (--false-alarms).\n", markup=False)
