"""`airbayes export`: a trained run for other programs."""

import dataclasses
from pathlib import Path
from typing import Annotated

from airbayes.cli.arguments import parse
from airbayes.cli.predict import MOST_TRUSTED, ModelOptions
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError
from airbayes.folders import check_results_folder, check_writable
from airbayes.text import plural, printable


def export_command(args: list[str]) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """Results folder of a PointNet run with stored samples (--saved-samples)."""
        out: Path | None = None
        """Folder to write; RUN/export when left out."""
        force: bool = False
        """Replace an export that is there."""
        debug: bool = False
        """Show Python tracebacks."""
        model: Annotated[ModelOptions, tyro.conf.arg(name="")] = MOST_TRUSTED

    given = parse(
        Arguments,
        prog="airbayes export",
        description="Samples of θ by name (npz) and the predictive mean as an ONNX model, checked against the run.",
        args=args,
    )
    from airbayes.export.check import load_runtime

    load_runtime()  # first: without it there is nothing to wait for
    from airbayes.experiment.trained import Wanted, open_trained
    from airbayes.export.bundle import FILES, MANIFEST, export_trained

    out = given.out or given.run / "export"
    check_results_folder(given.run, "config.toml")
    check_writable(out)
    if (out / MANIFEST).exists() and not given.force:
        raise AirbayesError(f"{out} holds an export. Use another --out, or --force to replace it.")
    foreign = sorted({path.name for path in out.iterdir()} - {*FILES, MANIFEST}) if out.is_dir() else []
    if foreign and not given.force:
        raise AirbayesError(f"{out} holds other files, such as {printable(foreign[0])}. Use another --out, or --force.")
    trained = open_trained(given.run, Wanted(**dataclasses.asdict(given.model)))
    console = make_console()
    console.print(f"Model: {printable(str(trained), 200)}", markup=False)
    manifest = export_trained(given.run, trained, out)
    checked = manifest["checked"]
    worst = max(checked["largest_difference"].values())
    text = f"onnxruntime agrees with the run on {plural(checked['clouds'], 'cloud')}: largest difference {worst:.1e}"
    console.print(f"{text}, {checked['tolerance']:g} allowed.", markup=False)
    names = ", ".join([*manifest["files"], MANIFEST])
    console.print(f"Written to {printable(str(out), 400)}: {names}", markup=False)
    return 0
