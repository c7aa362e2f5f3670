"""Experiment files: TOML in and out, strict about names and types, all complaints at once."""

import dataclasses
import difflib
import re
import tomllib
import typing
from os import PathLike
from pathlib import Path
from typing import Any

from airbayes.errors import ConfigError
from airbayes.experiment.config import ExperimentConfig
from airbayes.files import read_limited
from airbayes.text import printable

MAX_BYTES = 1_000_000  # an experiment file is a page of text
LISTED = 50  # problems that an error names
OWN_PARTS = ("methods", "policies")  # of which people write their own


def load_config(path: str | PathLike[str]) -> ExperimentConfig:
    """Read an experiment file. Every wrong name and type in it is reported, not just the first."""
    path = Path(path)
    try:
        text = read_limited(path, MAX_BYTES, ConfigError).decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text (byte {error.start}). Is it a TOML file?") from error
    return _beside(parse_config(text, str(path)), path.parent)


def _beside(config: ExperimentConfig, folder: Path) -> ExperimentConfig:
    """Edge lists that lie beside the experiment file are found from anywhere."""
    names = tuple(
        str(folder / name) if name.endswith(".csv") and (folder / name).exists() else name
        for name in config.network.topologies
    )
    return dataclasses.replace(config, network=dataclasses.replace(config.network, topologies=names))


def parse_config(text: str, source: str = "<text>") -> ExperimentConfig:
    """A configuration from the text of an experiment file."""
    try:
        table = tomllib.loads(text)
    except (ValueError, TypeError, RecursionError) as error:  # also numbers of 5,000 digits, and brackets 1,000 deep
        said = str(error)
        if place := re.search(r"\(at line (\d+), column \d+\)$", said):
            line = text.split("\n")[int(place[1]) - 1].strip()
            said += f": {line}"
            if bare := re.fullmatch(r"([\w.]+)\s*=\s*([^\W\d][\w./-]*)", line):
                said += f'. Text stands in quotes: {bare[1]} = "{bare[2]}"'
        raise ConfigError(f"{source} is not valid TOML: {printable(said, 200)}") from error
    problems: list[str] = []
    config = _build(ExperimentConfig, table, "", problems)
    if problems:
        more = [f"and {len(problems) - LISTED:,} more."] if len(problems) > LISTED else []
        raise ConfigError([f"{source}: {printable(problem, 300)}" for problem in [*problems[:LISTED], *more]])
    return config


def retyped(config: ExperimentConfig, problems: list[str]) -> ExperimentConfig:
    """One that Python made, held to what a file is held to: complaints are appended, defaults stand in."""
    return _build(ExperimentConfig, dataclasses.asdict(config), "", problems)


def dump_config(config: ExperimentConfig) -> str:
    """The complete configuration as TOML; loading it gives an equal configuration."""
    import tomli_w

    return tomli_w.dumps(dataclasses.asdict(config))


def changed_fields(old: ExperimentConfig, new: ExperimentConfig) -> list[str]:
    """Dotted names of the fields that differ, with both values."""

    def walk(a: Any, b: Any, prefix: str) -> list[str]:
        lines: list[str] = []
        for field in dataclasses.fields(a):
            x, y = getattr(a, field.name), getattr(b, field.name)
            if dataclasses.is_dataclass(x):
                lines += walk(x, y, f"{prefix}{field.name}.")
            elif x != y:
                lines.append(f"{prefix}{field.name}: {said(x)} → {said(y)}")
        return lines

    return walk(old, new, "")


def said(value: Any) -> str:
    """As people write it: lists without brackets and quotes."""
    if isinstance(value, tuple):
        return ", ".join(map(said, value)) or "none"
    return printable(value, 300) if isinstance(value, str) and value else repr(value)


def _build(cls: type, table: dict[str, Any], prefix: str, problems: list[str]) -> Any:
    """A dataclass from a TOML table; complaints are appended, defaults fill the gaps."""
    hints = typing.get_type_hints(cls)
    for name in table:
        if name not in hints:
            hint = _meant_setting(name, prefix) if len(problems) < LISTED and len(name) < 100 else None
            hint = f"Did you mean {hint}?" if hint else f"Known: {', '.join(hints)}."
            problems.append(f"unknown setting {prefix}{name}. {hint}")
    values = {}
    for name, kind in hints.items():
        if name not in table:
            continue
        if dataclasses.is_dataclass(kind):
            if isinstance(table[name], dict):
                values[name] = _build(typing.cast(type, kind), table[name], f"{prefix}{name}.", problems)
            else:
                problems.append(f"{prefix}{name} = {table[name]!r} must be a table, [{prefix}{name}].")
        else:
            before = len(problems)
            value = _value(kind, table[name], f"{prefix}{name}", problems)
            if len(problems) == before:  # a wrong value is reported and its default stands in
                values[name] = value
    return cls(**values)


def _meant_setting(name: str, prefix: str) -> str | None:
    """The full name of a setting that may be meant: the same in another section first, then the nearest in this one,
    then the nearest of all."""
    known = setting_names(ExperimentConfig)
    same = [each for each in known if each.rpartition(".")[2] == name]
    if same:
        return " or ".join(same)
    here = [each for each in known if each.rpartition(".")[0] == prefix.rstrip(".")]
    for names in (here, known):
        last = {each.rpartition(".")[2]: each for each in reversed(names)}
        if near := difflib.get_close_matches(name, last, n=1):
            return last[near[0]]
    return None


def setting_names(cls: type, prefix: str = "") -> list[str]:
    """Dotted names of all settings, sections among them."""
    names = []
    for name, kind in typing.get_type_hints(cls).items():
        names.append(prefix + name)
        if dataclasses.is_dataclass(kind):
            names += setting_names(typing.cast(type, kind), f"{prefix}{name}.")
    return names


def _value(kind: Any, value: Any, name: str, problems: list[str]) -> Any:
    """One setting, converted where nothing is lost (int to float, list to tuple)."""
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if isinstance(value, list | tuple):
            return tuple(_value(options[0], item, f"{name}[{i}]", problems) for i, item in enumerate(value))
        problems.append(f"{name} = {value!r} must be a list, for example [{_entries(options[0], value)}].")
    elif origin is typing.Literal:
        if value in options:
            return value
        near = difflib.get_close_matches(str(value)[:100].lower(), map(str, options), n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        if not near and name.partition("[")[0] in OWN_PARTS:
            hint = " Parts of your own run from Python: docs/plugins.md."
        problems.append(f"{name} = {value!r} must be one of {', '.join(map(str, options))}.{hint}")
    elif kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1e300:
        return float(value)
    elif isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool):
        return value
    else:
        own = name.startswith("network.topologies[")
        fix = " A graph of your own is named by its file, 'edges.csv', one edge a line." if own else ""
        said = f"{name} = {value!r} must be of type {kind.__name__}, not {type(value).__name__}."
        problems.append(said + (fix or _rewritten(kind, value)))
    return value


def _entries(kind: Any, value: Any) -> str:
    """What stands in the list that was meant: numbers that were written as one text are numbers."""
    words = re.split(r"[\s,;]+", value.strip(" []()")) if isinstance(value, str) and kind in (int, float) else []
    return ", ".join(words) if words and all(_is(kind, word) for word in words) else repr(value)


def _rewritten(kind: Any, value: Any) -> str:
    """The same number as it should be written, where it is one."""
    if isinstance(value, str) and kind in (int, float) and _is(kind, value):
        return f" Write it without quotes: {value.strip()}"
    if kind is int and isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f" Write it without a point or exponent: {int(value)}"
    return ""


def _is(kind: Any, word: str) -> bool:
    try:
        kind(word)
    except ValueError:
        return False
    return True
