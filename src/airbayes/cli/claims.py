"""`airbayes claims`: score the paper's claims on finished studies."""

import dataclasses
from pathlib import Path
from typing import Annotated

from airbayes.cli.arguments import parse
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError, ResultsError
from airbayes.folders import check_results_folder

USAGE = "usage: airbayes claims DIR [DIR ...]"


@dataclasses.dataclass(frozen=True)
class ClaimsOptions:
    quiet: bool = False
    """Write claims.json and print errors only."""
    debug: bool = False
    """Show Python tracebacks."""


def claims_command(args: list[str]) -> int:
    """Each folder is a study of its own; parts of one study are first put together with `airbayes merge`."""
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        folders: Annotated[
            tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR ...", help_behavior_hint="(one or more)")
        ]
        """Results folders, each with cd_dsgld and q_dsgd on a classification problem."""
        options: Annotated[ClaimsOptions, tyro.conf.arg(name="")] = ClaimsOptions()

    parsed = parse(
        Arguments,
        prog="airbayes claims",
        description="Score the paper's four claims: a table here, and claims.json in each folder. "
        "To put runs of several seeds together first, see airbayes merge.",
        args=args,
    )
    if not parsed.folders:
        raise AirbayesError(f"Name the results folder to score.\n  {USAGE}")
    for folder in parsed.folders:  # all of them, before one is scored
        check_results_folder(folder, "results.nc")
    for folder in parsed.folders:
        _score(folder, parsed.options.quiet)
    return 0


def _score(folder: Path, quiet: bool) -> None:
    from airbayes.experiment.store import CLAIMS_FILE, read_dataset
    from airbayes.report.claims import claims_table, write_claims
    from airbayes.report.claims_show import show_claims

    console = make_console(quiet)
    dataset = read_dataset(folder)
    try:
        records = claims_table(dataset)
    except ResultsError as error:
        raise ResultsError(f"{folder}: {error}") from error
    console.print(f"{folder}\n", markup=False)
    show_claims(records, console)
    write_claims(folder, dataset, records)
    console.print(f"Written: {folder / CLAIMS_FILE}\n", markup=False)
