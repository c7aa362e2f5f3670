"""Which class of a data set becomes which class here."""

import difflib
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from airbayes.data.formats.common import at, checked_text, read_lines
from airbayes.errors import DataError
from airbayes.text import printable

MAX_BYTES = 1_000_000
EXAMPLE = "car=Car,Van pedestrian=Pedestrian"


def parse_classes(items: Sequence[str]) -> dict[str, str] | None:
    """Source class → class, from `car=Car,Van truck=Truck` or from one TOML file; None where nothing is given."""
    if not items:
        return None
    if len(items) == 1 and items[0].endswith(".toml"):
        return _from_toml(Path(items[0]))
    table: dict[str, list[str]] = {}
    for item in items:
        name, equals, sources = item.partition("=")
        if not equals or not name.strip():
            raise DataError(f"--classes {printable(item)!r}: write CLASS=SOURCE,SOURCE ..., for example {EXAMPLE}.")
        table.setdefault(name.strip(), []).extend(source.strip() for source in sources.split(",") if source.strip())
    return invert(table, "--classes")


def invert(table: Mapping[str, Sequence[str]], where: str = "classes") -> dict[str, str]:
    """Class → source classes, turned round; a source class may be named once, and no class may be empty."""
    mapping: dict[str, str] = {}
    for name, sources in table.items():
        if not sources:
            raise DataError(f"{where}: class {printable(name)!r} has no source class; write for example {EXAMPLE}.")
        for source in sources:
            if source in mapping:
                both = f"{printable(mapping[source])!r} and {printable(name)!r}"
                raise DataError(f"{where}: {printable(source)!r} is given to {both}.")
            mapping[checked_text(source, where)] = checked_text(name, where)
    return mapping


def check_known(mapping: Mapping[str, str], known: Collection[str], format_name: str) -> None:
    """Every source class must be one the data set has: a misspelt one would silently give no objects."""
    for source in mapping:
        if source not in known:
            near = difflib.get_close_matches(source, known, n=1, cutoff=0.5)
            listed = ", ".join(printable(name) for name in sorted(known)[:40])
            hint = f"Did you mean {printable(near[0])!r}?" if near else f"It has: {listed}."
            raise DataError(f"No class {printable(source)!r} in this {format_name} data. {hint}")


def _from_toml(path: Path) -> dict[str, str]:
    try:
        table = tomllib.loads("\n".join(read_lines(path, MAX_BYTES)))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{at(path)}: not valid TOML: {error}.") from None
    classes = table.get("classes")
    if not isinstance(classes, dict) or not classes:
        raise DataError(f'{at(path)}: no table [classes] with lines such as car = ["Car", "Van"].')
    for name, sources in classes.items():
        if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
            raise DataError(f'{at(path)}: {printable(name)} must be a list of names, such as ["Car", "Van"].')
    return invert(classes, at(path))
