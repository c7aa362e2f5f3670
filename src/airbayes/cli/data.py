"""`airbayes data`: simulate objects, look at a data set, convert it to an object set."""

import dataclasses
from pathlib import Path
from typing import Annotated, TypeVar

from rich.console import Console
from rich.text import Text

from airbayes.cli.arguments import parse
from airbayes.cli.mistakes import did_you_mean
from airbayes.cli.progress import make_console
from airbayes.data.object_file import save_objects
from airbayes.data.objects import ObjectSet
from airbayes.errors import AirbayesError
from airbayes.folders import check_writable
from airbayes.text import fitted, printable

USAGE = """\
airbayes data: point clouds of objects.

usage: airbayes data COMMAND ...

commands:
  simulate --out FILE.npz   objects from the lidar simulator
  inspect PATH              count classes, instances and points; draw a picture
  convert PATH FILE.npz     read any known format and write an object set

Each command lists its options with --help. Formats: docs/data.md.
"""
Options = TypeVar("Options")


@dataclasses.dataclass(frozen=True)
class LoadOptions:
    format: str = "auto"
    """Format of the data; auto looks at the names of files and folders."""
    classes: tuple[str, ...] = ()
    """Which source classes become which class: car=Car,Van truck=Truck ..., or one TOML file with a table [classes]."""
    min_points: int = 10
    """Leave out objects with fewer points."""
    max_objects: int | None = None
    """Stop after so many objects."""
    skip_bad: bool = False
    """Leave out what is malformed and count it, instead of stopping there."""


@dataclasses.dataclass(frozen=True)
class InspectOptions:
    picture: Path | None = None
    """Where to draw a gallery of the objects; NAME-gallery.png in this folder when left out."""
    no_picture: bool = False
    """Draw none."""
    debug: bool = False
    """Show Python tracebacks."""


@dataclasses.dataclass(frozen=True)
class ConvertOptions:
    force: bool = False
    """Replace the file if it is there."""
    debug: bool = False
    """Show Python tracebacks."""


@dataclasses.dataclass(frozen=True)
class SimulateOptions:
    out: Path
    """The object set to write, an .npz file."""
    per_class: int = 100
    """Objects of each class, in the scene `train`."""
    test_per_class: int = 0
    """Other objects of each class, in the scene `test`."""
    seed: int = 0
    """The same seed and settings give the same objects."""
    force: bool = False
    """Replace the file if it is there."""
    debug: bool = False
    """Show Python tracebacks."""


def data_command(args: list[str]) -> int:
    console = make_console()
    commands = {"simulate": _simulate, "inspect": _inspect, "convert": _convert}
    if not args or args[0] in ("-h", "--help"):
        console.out(fitted(USAGE), end="", highlight=False)
        return 0 if args else 2
    if args[0] not in commands:
        meant = did_you_mean(args[0], list(commands))
        raise AirbayesError(
            f"Unknown command {args[0]!r}.{meant} Commands: {', '.join(commands)}. See `airbayes data --help`."
        )
    return commands[args[0]](args[1:], console)


def _inspect(args: list[str], console: Console) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
        """A data set's folder, or an object set (.npz)."""
        load: Annotated[LoadOptions, tyro.conf.arg(name="")] = LoadOptions()
        options: Annotated[InspectOptions, tyro.conf.arg(name="")] = InspectOptions()

    given = _parse(Arguments, "inspect", "Count what is in a data set and draw some of it.", args)
    if given.options.picture and not given.options.no_picture:
        _check_picture(given.options.picture)
    objects, report = _load(given.path, given.load)
    from airbayes.cli.data_tables import print_objects, print_report

    print_objects(given.path, objects, console)
    print_report(report, console)
    if given.options.no_picture:
        return 0
    from airbayes.files import write_atomically
    from airbayes.report.gallery_figure import gallery_figure

    picture = given.options.picture or Path(f"{given.path.resolve().stem or 'objects'}-gallery.png")
    figure = gallery_figure(objects)
    replaced = ", in place of the one that was there" if picture.exists() else ""
    write_atomically(picture, lambda path: figure.savefig(path, dpi=150))
    console.print(f"Gallery: {picture}{replaced}", markup=False)
    return 0


def _convert(args: list[str], console: Console) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
        """A data set's folder, or an object set (.npz)."""
        out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.npz")]
        """The object set to write, an .npz file."""
        load: Annotated[LoadOptions, tyro.conf.arg(name="")] = LoadOptions()
        options: Annotated[ConvertOptions, tyro.conf.arg(name="")] = ConvertOptions()

    given = _parse(Arguments, "convert", "Read a data set of any known format and write an object set.", args)
    _check_target(given.out, given.options.force)
    objects, report = _load(given.path, given.load)
    _write(given.out, objects)
    from airbayes.cli.data_tables import print_objects, print_report

    print_objects(given.out, objects, console)
    print_report(report, console)
    return 0


def _simulate(args: list[str], console: Console) -> int:
    import tyro

    from airbayes.data.simulator import SimulatorConfig, simulate
    from airbayes.experiment.ranges import RANGES

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        options: Annotated[SimulateOptions, tyro.conf.arg(name="")]
        simulator: SimulatorConfig = dataclasses.field(default_factory=SimulatorConfig)

    given = _parse(Arguments, "simulate", "Draw objects from the lidar simulator and write an object set.", args)
    options = given.options
    _check_target(options.out, options.force)
    counts = {"train": options.per_class, "test": options.test_per_class}
    most = int(RANGES["lidar.per_class"].high)
    if not all(0 <= count <= most for count in counts.values()) or not any(counts.values()):
        given_counts = f"--per-class {options.per_class} --test-per-class {options.test_per_class}"
        raise AirbayesError(f"{given_counts}: at least 0 and at most {most:,}, and not both 0.")
    with make_console(stderr=True).status("simulating ..."):
        objects = simulate(given.simulator, counts, options.seed)
    _write(options.out, objects)
    from airbayes.cli.data_tables import print_objects

    print_objects(options.out, objects, console)
    return 0


def _load(path: Path, options: LoadOptions):
    from airbayes.data.formats import load, parse_classes

    with make_console(stderr=True).status(Text(f"reading {printable(path.name)} ...")):
        return load(
            path,
            options.format,
            classes=parse_classes(options.classes),
            min_points=options.min_points,
            skip_bad=options.skip_bad,
            max_objects=options.max_objects,
        )


def _check_target(path: Path, force: bool) -> None:
    """Before hours of reading: can the result be written there?"""
    if path.suffix.lower() != ".npz":
        example = path.parent / (path.stem.strip(".") or "objects")
        raise AirbayesError(f"{path}: an object set is an .npz file; write for example {example}.npz.")
    if path.exists() and not force:
        raise AirbayesError(f"{path} exists. Use another name, or --force to replace it.")
    _check_folder(path)


def _check_picture(path: Path) -> None:
    from matplotlib.backend_bases import FigureCanvasBase

    if path.suffix.lower().removeprefix(".") not in FigureCanvasBase.get_supported_filetypes():
        raise AirbayesError(f"--picture {path}: no kind of picture; end its name in .png, .svg or .pdf.")
    _check_folder(path)


def _check_folder(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise AirbayesError(f"{path}: there is no folder {path.absolute().parent}.")
    check_writable(path.absolute().parent, "Choose another place.")


def _write(path: Path, objects: ObjectSet) -> None:
    from airbayes.files import write_atomically

    write_atomically(path, lambda temporary: save_objects(temporary, objects))


def _parse(kind: type[Options], name: str, description: str, args: list[str]) -> Options:

    return parse(
        kind,
        prog=f"airbayes data {name}",
        description=description,
        args=args,
    )
