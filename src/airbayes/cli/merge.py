"""`airbayes merge`: one results folder from runs that were split by seed."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from airbayes.cli.arguments import parse
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError
from airbayes.text import plural

if TYPE_CHECKING:
    from airbayes.report.beside import Beside

USAGE = "usage: airbayes merge DIR DIR [DIR ...] --out DIR"


@dataclasses.dataclass(frozen=True)
class MergeOptions:
    out: Path | None = None
    """Folder for the merged results: with figures, verdicts and report.html, as after a run. Must be given."""
    force: bool = False
    """Replace results that are already in that folder."""
    quiet: bool = False
    """Print errors only."""
    debug: bool = False
    """Show Python tracebacks."""


def merge_command(args: list[str]) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        folders: Annotated[
            tuple[Path, ...],
            tyro.conf.Positional,
            tyro.conf.arg(metavar="DIR DIR ...", help_behavior_hint="(two or more)"),
        ]
        """Results folders of one experiment that differ in seeds and first_seed only."""
        options: Annotated[MergeOptions, tyro.conf.arg(name="")] = MergeOptions()

    parsed = parse(
        Arguments,
        prog="airbayes merge",
        description="Put runs of one experiment together that were split by seed (--seeds, --first-seed).",
        args=args,
    )
    out = parsed.options.out
    if out is None or str(out) in ("", "."):
        raise AirbayesError(f"Name a folder for the merged results with --out.\n  {USAGE}")
    from airbayes.experiment.merge import merge_folders
    from airbayes.experiment.prediction_files import FOLDER as PREDICTIONS
    from airbayes.experiment.sample_files import FOLDER as SAMPLES
    from airbayes.experiment.store import STRANGE

    shared: list[int] = []
    seeds = merge_folders(list(parsed.folders), out, force=parsed.options.force, shared=shared)
    console = make_console(parsed.options.quiet)
    console.print(f"{out}: {plural(len(seeds), 'seed')} from {len(parsed.folders)} folders.", markup=False)
    if shared:
        console.print(
            f"{_seeds_are(shared)} in more than one of them, the same to the bit: each counts once. "
            f"For other seeds run it with --first-seed {seeds[-1] + 1}.",
            markup=False,
        )
    missing = sorted(set(range(seeds[0], seeds[-1] + 1)) - set(seeds))
    if missing:
        console.print(
            f"{_seeds_are(missing)} missing in between; config.toml names the seeds before the gap, "
            "results.nc has all.",
            markup=False,
        )
    with make_console(parsed.options.quiet, stderr=True).status("drawing figures and the page ..."):
        beside = _write_beside(out)
    folders = [name for name in (PREDICTIONS, SAMPLES, STRANGE) if (out / name).is_dir()]
    written = ["config.toml", "results.nc", "summary.json", "SHA256SUMS", *beside.names, *folders, beside.page.name]
    console.print(f"Written: {', '.join(written)}", markup=False)
    console.print(f"Report, for your browser: {beside.page}", markup=False, soft_wrap=True)
    return 0


def _seeds_are(seeds: list[int]) -> str:
    return f"Seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))} {'are' if len(seeds) > 1 else 'is'}"


def _write_beside(folder: Path) -> "Beside":
    from airbayes.experiment.store import CONFIG, read_dataset
    from airbayes.experiment.toml_io import load_config
    from airbayes.report.beside import write_beside

    return write_beside(folder, load_config(folder / CONFIG), read_dataset(folder))
