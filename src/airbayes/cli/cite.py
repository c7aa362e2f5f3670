"""`airbayes cite`: BibTeX of the methods that a run uses."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

from airbayes.cli.arguments import parse
from airbayes.errors import AirbayesError


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
        if not (path / "config.toml").is_file():
            raise AirbayesError(f"{what} is no results folder: it has no config.toml. `airbayes run` writes one.")
        return load_config(path / "config.toml")
    if what.endswith(".toml"):
        return load_config(path)
    if "/" in what:
        raise AirbayesError(f"{what} is not there; name a results folder, a preset or an experiment file (.toml).")
    return preset(what)
