"""`airbayes cite`: BibTeX of the methods that a run uses."""

import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated

from airbayes.cli.arguments import parse
from airbayes.cli.mistakes import did_you_mean
from airbayes.errors import AirbayesError
from airbayes.folders import check_results_folder


@dataclasses.dataclass(frozen=True)
class CiteOptions:
    debug: bool = False
    """Show Python tracebacks."""


def cite_command(args: list[str]) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[RUN|PRESET]", help_behavior_hint="")] = ""
        """A results folder, a preset or an experiment file (.toml); airbayes and its paper when left out."""
        options: Annotated[CiteOptions, tyro.conf.arg(name="")] = CiteOptions()

    given = parse(
        Arguments,
        prog="airbayes cite",
        description="Print what to cite for a run, as BibTeX: airbayes cite runs/quick > references.bib",
        args=args,
    )
    from airbayes.experiment.references import references_of

    for reference, why in references_of(_config(given.what)):
        sys.stdout.write(f"% {why}\n{reference.bibtex()}\n")
    return 0


def _config(what: str):
    from airbayes.experiment.presets import PRESETS, preset
    from airbayes.experiment.toml_io import load_config

    if not what:
        return None
    if what in PRESETS:
        return preset(what)
    path = Path(what)
    if path.is_dir():
        check_results_folder(path, "config.toml")
        return load_config(path / "config.toml")
    if not os.path.exists(path):
        raise AirbayesError(
            f"There is no preset, folder or file {what!r}.{did_you_mean(what, list(PRESETS))} Name a results folder, "
            f"an experiment file (.toml) or a preset: {', '.join(PRESETS)}."
        )
    if not what.endswith(".toml"):
        raise AirbayesError(f"{what} is neither a results folder nor an experiment file, which ends in .toml.")
    return load_config(path)
