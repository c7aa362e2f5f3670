"""`airbayes new`: an experiment file and parts of your own to start from; both run as they are."""

import dataclasses
import inspect
import re
import shlex
from pathlib import Path
from typing import Annotated

from airbayes.cli.arguments import parse
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError
from airbayes.folders import make_folder


@dataclasses.dataclass(frozen=True)
class NewOptions:
    preset: str | None = None
    """Begin with the settings of a preset instead of a small study of a minute."""
    out: Path = Path()
    """Folder for the files; this one when left out."""
    force: bool = False
    """Replace files that are there."""
    debug: bool = False
    """Show Python tracebacks."""


def new_command(args: list[str]) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
        """Name of the experiment: a letter (a to z, A to Z), then such letters, digits, '_' or '-'."""
        options: Annotated[NewOptions, tyro.conf.arg(name="")] = NewOptions()

    given = parse(
        Arguments,
        prog="airbayes new",
        description="Write NAME.toml, an experiment with every setting explained, and NAME_parts.py, a channel, power "
        "policy, sampler and graph of your own (docs/plugins.md). Both run as they are.",
        args=args,
    )
    name, options = given.name, given.options
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,60}", name):
        raise AirbayesError(
            f"{name!r} names files: begin with a letter from a to z or A to Z; then such letters, digits, '_' or '-', "
            "61 characters at most; for example my-study."
        )
    parts = f"{name.replace('-', '_')}_parts.py"
    files = {options.out / f"{name}.toml": _experiment(name, options.preset), options.out / parts: _parts(parts)}
    for path in files:
        if path.exists() and not options.force:
            raise AirbayesError(f"{path} is there already. Use another name, or --force to replace it.")
    from airbayes.files import write_text

    make_folder(options.out)
    for path, text in files.items():
        write_text(path, text)
    experiment, own = files
    toml = shlex.quote(str(experiment))
    make_console().print(
        f"Written: {experiment} and {own}. Try them:\n"
        f"  airbayes run {toml} --dry-run\n  airbayes run {toml}\n  python {shlex.quote(str(own))}",
        markup=False,
        soft_wrap=True,
    )
    return 0


def _experiment(name: str, preset_name: str | None) -> str:
    from airbayes.experiment.presets import preset
    from airbayes.experiment.template import commented_toml

    config = preset(preset_name) if preset_name else _small()
    intro = f"airbayes run {name}.toml. Every setting is here; deleted ones get their defaults, docs/experiments.md."
    return commented_toml(dataclasses.replace(config, name=name), intro)


def _small():
    from airbayes.experiment.config import ChannelConfig, ExperimentConfig, NetworkConfig, SamplingConfig

    return ExperimentConfig(
        methods=("dsgld", "cd_dsgld"),
        policies=("optimal", "common"),
        network=NetworkConfig(topologies=("full", "ring")),
        channel=ChannelConfig(snr_db=(0.0, 20.0, 40.0)),
        sampling=SamplingConfig(eta=5e-4, steps=3000, burn_in=1000, thin=10, chains=4),
    )


def _parts(file_name: str) -> str:
    """The source of the template, under its new name. It is read, not imported: that would load JAX."""
    import airbayes.templates

    path = Path(inspect.getfile(airbayes.templates)).parent / "parts.py"
    return path.read_text(encoding="utf-8").replace("NAME_parts.py", file_name)
