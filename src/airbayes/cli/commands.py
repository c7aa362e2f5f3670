"""The table of commands: what `airbayes --help` lists, where each lives, and what is meant by a misspelt one.

A new command is one line here and a function `list[str] → exit code`. The standard library only: the table is read
before anything else is loaded.
"""

import difflib
import importlib
import shutil
import textwrap
from collections.abc import Callable
from typing import NamedTuple


class Command(NamedTuple):
    name: str
    arguments: str  # as the help shows them
    summary: str  # one line of help
    target: str  # module:function


COMMANDS = (
    Command(
        "run",
        "EXPERIMENT",
        "run a preset or an experiment file (.toml); `airbayes run --list` shows the presets",
        "airbayes.cli.run:run_command",
    ),
    Command(
        "plan",
        "GRAPH ...",
        "before any training: regimes, latency and energy of each scheme over a radio network",
        "airbayes.cli.plan:plan_command",
    ),
    Command("merge", "DIR DIR ...", "put runs together that were split by seed", "airbayes.cli.merge:merge_command"),
    Command("claims", "DIR ...", "score the paper's claims on finished studies", "airbayes.cli.claims:claims_command"),
    Command("report", "DIR ...", "a page for the browser, of one run or several", "airbayes.cli.report:report_command"),
    Command(
        "predict",
        "RUN FILE",
        "class probabilities and uncertainty of objects, from a trained run",
        "airbayes.cli.predict:predict_command",
    ),
    Command(
        "decide",
        "RUN",
        "when to answer, prediction sets, and what they achieve, of a finished run",
        "airbayes.cli.decide:decide_command",
    ),
    Command(
        "export",
        "RUN",
        "samples of θ and an ONNX model, for other programs",
        "airbayes.cli.export:export_command",
    ),
    Command("data", "COMMAND ...", "simulate, inspect and convert lidar objects", "airbayes.cli.data:data_command"),
    Command(
        "bench",
        "",
        "time airbayes beside its peers and against the machine's floors",
        "airbayes.cli.bench:bench_command",
    ),
    Command(
        "new",
        "NAME",
        "an experiment file and parts of your own to start from; both run as they are",
        "airbayes.cli.new:new_command",
    ),
    Command("cite", "[RUN|PRESET]", "BibTeX of the methods a run uses", "airbayes.cli.cite:cite_command"),
    Command(
        "doctor",
        "",
        "check this installation, and a sampler against its closed-form law",
        "airbayes.cli.doctor:doctor_command",
    ),
    Command(
        "completion",
        "SHELL",
        "a completion script for bash, zsh or fish",
        "airbayes.cli.completion:completion_command",
    ),
)


def find_command(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)


def load_command(command: Command) -> Callable[[list[str]], int]:
    """Import what the command needs, and nothing of the others."""
    module, _, function = command.target.partition(":")
    return getattr(importlib.import_module(module), function)


def help_lines() -> str:
    heads = [f"{command.name} {command.arguments}".strip() for command in COMMANDS]
    width = max(map(len, heads)) + 2
    room = max(min(shutil.get_terminal_size().columns, 110), 60) - 2 - width
    lines = []
    for head, command in zip(heads, COMMANDS, strict=True):
        first, *rest = textwrap.wrap(command.summary, room, break_on_hyphens=False)
        lines += [f"  {head:{width}}{first}\n", *(f"  {'':{width}}{each}\n" for each in rest)]
    return "".join(lines)


def unknown_command(name: str) -> str:
    """The message for a command that is not there, with the nearest one that is."""
    names = [command.name for command in COMMANDS]
    near = difflib.get_close_matches(name, [*names, "--version"], n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return (
        f"Unknown command {name!r}.{meant} Commands: {', '.join(names)}; for example `airbayes run gaussian`. "
        "See `airbayes --help`."
    )
