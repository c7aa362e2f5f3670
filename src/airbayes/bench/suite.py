"""Runs the sections and keeps what they find: bench.json and bench.md are whole after every section."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from airbayes.bench import chains, gradient, limits, scaling, steps
from airbayes.bench.machine import describe_machine
from airbayes.bench.rows import Row
from airbayes.bench.sizes import Sizes
from airbayes.bench.table import markdown
from airbayes.errors import ConfigError
from airbayes.files import write_text
from airbayes.folders import make_folder

JSON, PAGE = "bench.json", "bench.md"
SCHEMA = 1

Tell = Callable[[str], None]


class Section(NamedTuple):
    group: str
    title: str
    run: Callable[[Sizes, Tell], Iterator[Row]]


SECTIONS = {
    "a": Section(gradient.GROUP, "a: gradients of one iteration; ratio = peer/ours", gradient.run_gradient),
    "b": Section(steps.GROUP, "b: one step of every method on PointNet, and its parts", steps.run_steps),
    "c": Section(chains.GROUP, "c: one SGLD chain on a small model; ratio = ours/peer", chains.run_chains),
    "d": Section(scaling.GROUP, "d: scaling; ratio = to the reference size of each block", scaling.run_scaling),
    "e": Section(limits.GROUP, "e: compile time, memory, and how near the floor", limits.run_limits),
}
TITLES = {section.group: section.title for section in SECTIONS.values()}


def run_suite(
    sizes: Sizes, letters: Sequence[str], folder: Path, tell: Tell, settings: dict[str, Any] | None = None
) -> list[Row]:
    """The chosen sections in order; the files say `complete` once all of them are in."""
    unknown = [letter for letter in letters if letter not in SECTIONS]
    if unknown:
        raise ConfigError(f"There is no section {unknown[0]!r}; choose from {', '.join(SECTIONS)}.")
    if sizes.effort.repeats < 1:
        raise ConfigError(f"repeats must be at least 1, got {sizes.effort.repeats}.")
    make_folder(folder)
    chosen = [letter for letter in SECTIONS if letter in letters]
    machine, rows = describe_machine(), []
    for letter in chosen:
        tell(f"section {SECTIONS[letter].title}")
        for row in SECTIONS[letter].run(sizes, lambda text, letter=letter: tell(f"{letter}: {text}")):
            rows.append(row if sizes.targets else dataclasses.replace(row, at_least=None, at_most=None))
        write_rows(folder, rows, machine, settings or {}, complete=letter == chosen[-1])
    return rows


def write_rows(
    folder: Path, rows: list[Row], machine: dict[str, Any], settings: dict[str, Any], *, complete: bool
) -> None:
    found = {
        "schema": SCHEMA,
        "complete": complete,
        "machine": machine,
        "settings": settings,
        "rows": [row.as_json() for row in rows],
    }
    write_text(folder / JSON, json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_text(folder / PAGE, markdown(rows, TITLES, machine))
