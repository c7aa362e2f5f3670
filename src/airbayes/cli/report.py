"""`airbayes report`: finished runs as one page for the browser."""

import dataclasses
from pathlib import Path
from typing import Annotated

from airbayes.cli.arguments import parse
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError
from airbayes.folders import check_results_folder, check_writable

USAGE = "usage: airbayes report DIR [DIR ...] [--out FILE] [--open]"


@dataclasses.dataclass(frozen=True)
class ReportOptions:
    out: Path | None = None
    """File to write (.html); report.html in the folder, or for several folders in the current one, when left out."""
    open: bool = False
    """Show the page in the browser."""
    objects: bool = False
    """Draw a few test objects as point clouds, with their points in the page; when left out, only simulated ones."""
    no_objects: bool = False
    """Draw none, not even simulated ones."""
    quiet: bool = False
    """Print errors only."""
    debug: bool = False
    """Show Python tracebacks."""


def report_command(args: list[str]) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        folders: Annotated[
            tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR ...", help_behavior_hint="(one or more)")
        ]
        """Results folders; several are compared on one page."""
        options: Annotated[ReportOptions, tyro.conf.arg(name="")] = ReportOptions()

    parsed = parse(
        Arguments,
        prog="airbayes report",
        description="Write report.html: figures to look into, explained, in one file that needs no network.",
        args=args,
    )
    folders, options = parsed.folders, parsed.options
    if not folders:
        raise AirbayesError(f"Name the results folder to show.\n  {USAGE}")
    for folder in folders:
        check_results_folder(folder, "results.nc")
    if options.objects and options.no_objects:
        raise AirbayesError("--objects and --no-objects exclude each other; give one.")
    drawn = True if options.objects else False if options.no_objects else None
    out = options.out or (folders[0] / "report.html" if len(folders) == 1 else Path("report.html"))
    if out.suffix.lower() not in ("", ".html", ".htm"):
        raise AirbayesError(
            f"--out {out}: the page is HTML; name it {out.with_suffix('.html').name}. The browser prints it as PDF."
        )
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise AirbayesError(f"--out {out}: need a file in a folder that exists.")
    check_writable(out.absolute().parent)
    console = make_console(options.quiet)
    with make_console(options.quiet, stderr=True).status("making the page ..."):
        from airbayes.report.html import read_run, write_report

        write_report([read_run(folder, drawn) for folder in folders], out)
    console.print(f"Written: {out}", markup=False, soft_wrap=True)
    if options.open:
        import webbrowser

        if not webbrowser.open(out.absolute().as_uri()):
            console.print("No browser was found; open the file yourself.", markup=False)
    return 0
