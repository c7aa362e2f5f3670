"""Options of a command from its words, the same way for all: `parse` turns a dataclass into help and values.

Two rules are ours: what may be left out shows the type of what is given; a list names the entry that is wrong.
"""

import contextlib
import dataclasses
import io
import sys
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from airbayes.cli.help_options import help_of, options_of
from airbayes.cli.help_text import own_help
from airbayes.cli.mistakes import WIDE, columns, plain
from airbayes.errors import AirbayesError

if TYPE_CHECKING:
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

Arguments = TypeVar("Arguments")
KINDS = {float: "a number", int: "a whole number", str: "a text", Path: "a path"}  # of the entries of a list


def parse(
    kind: type[Arguments], *, prog: str, description: str, args: list[str], default: Arguments | None = None
) -> Arguments:
    """The dataclass `kind` filled from `args`; help ends the program, a mistake is an error like any other."""
    import tyro

    with_default: dict[str, Any] = {} if default is None else {"default": default}

    def read(args: list[str]) -> Arguments:
        with _own_rules(), own_help(description):
            return tyro.cli(
                kind,
                prog=prog,
                description=description,
                args=args,
                config=(tyro.conf.FlagCreatePairsOff,),
                **with_default,
            )

    box = io.StringIO()
    try:
        with contextlib.redirect_stderr(box):
            given = read(args)
        sys.stderr.write(box.getvalue())  # warnings
        return given
    except SystemExit as end:
        if not end.code:
            raise
    box = io.StringIO()
    # Once more, with room: the words are said as they are in all other errors.
    with columns(WIDE), contextlib.redirect_stderr(box), contextlib.suppress(SystemExit):
        read(args)
    raise AirbayesError(plain(box.getvalue(), prog, lambda: list(options_of(help_of(read)))))


def _own_rules() -> "ConstructorRegistry":
    from tyro.constructors import ConstructorRegistry

    registry = ConstructorRegistry()
    registry.primitive_rule(_optional)
    registry.primitive_rule(_several)
    return registry


def _optional(info: "PrimitiveTypeInfo") -> "PrimitiveConstructorSpec | None":
    """X | None, with None for "left out" only: it cannot be typed."""
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

    if info.type_origin not in (typing.Union, types.UnionType):
        return None
    given = [kind for kind in typing.get_args(info.type) if kind is not types.NoneType]
    if len(given) != 1 or len(typing.get_args(info.type)) != 2:
        return None
    inner = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(given[0], info.markers))
    if not isinstance(inner, PrimitiveConstructorSpec):
        return None
    return dataclasses.replace(
        inner,
        is_instance=lambda value: value is None or inner.is_instance(value),
        str_from_instance=lambda value: ["none"] if value is None else inner.str_from_instance(value),
    )


def _several(info: "PrimitiveTypeInfo") -> "PrimitiveConstructorSpec | None":
    """tuple[X, ...] of numbers, names or paths."""
    from tyro.constructors import PrimitiveConstructorSpec

    held = typing.get_args(info.type)
    if info.type_origin is not tuple or len(held) != 2 or held[1] is not ... or held[0] not in KINDS:
        return None
    kind: type = held[0]
    name = kind.__name__.upper()

    def read(words: list[str]) -> tuple:
        values = []
        for word in words:
            try:
                values.append(kind(word))
            except ValueError:
                raise ValueError(f"{word!r} is not {KINDS[kind]}.") from None
        return tuple(values)

    return PrimitiveConstructorSpec(
        nargs="*",
        metavar=f"[{name} [{name} ...]]",
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, tuple) and all(isinstance(x, (int, kind)) for x in value),
        str_from_instance=lambda value: [str(x) for x in value] or ["none"],
    )
