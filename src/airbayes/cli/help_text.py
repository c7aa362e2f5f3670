"""What tyro's help looks like here: sentences that flow, no defaults that say nothing, usage within the terminal.

Without colours where NO_COLOR is set, which tyro does not know.

tyro has no settings for these, so three of its functions are replaced while it works. A release that does not have one
of them, or has it in another form, only gives an uglier help.
"""

import contextlib
import dataclasses
import importlib
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

Function = Callable[..., Any]
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@contextlib.contextmanager
def own_help(description: str) -> Iterator[None]:
    """Within it, tyro shows help our way; `description` is that of the command."""
    with (
        _replaced("tyro._strings", "remove_single_line_breaks", lambda _: _flow(description)),
        _replaced("tyro._arguments", "generate_argument_helptext", _telling_defaults),
        _replaced("tyro._backends._tyro_help_formatting", "format_help", _plain_and_short),
    ):
        yield


@contextlib.contextmanager
def _replaced(module: str, name: str, make: Callable[[Function], Function]) -> Iterator[None]:
    try:
        holder = importlib.import_module(module)
        before = getattr(holder, name)
    except (ImportError, AttributeError):
        yield
        return
    setattr(holder, name, make(before))
    try:
        yield
    finally:
        setattr(holder, name, before)


def _flow(description: str) -> Function:
    """tyro keeps the line breaks of docstrings wherever the next line is indented, and never breaks the description."""

    def flow(text: str) -> str:
        room = shutil.get_terminal_size().columns
        return textwrap.fill(text, room, break_on_hyphens=False) if text == description else " ".join(text.split())

    return flow


def _telling_defaults(before: Function) -> Function:
    """No "(default: False)" of a switch, no "(default: none)": what happens without an option is in its sentence."""

    def helptext(arg: Any, *rest: Any, **named: Any) -> Any:
        with contextlib.suppress(AttributeError, TypeError):
            field = arg.field
            silent = field.default is None or field.default is False or field.default == ()
            hint = "" if silent else "(on unless given)" if field.default is True else None
            if hint is not None and field.argconf.help_behavior_hint is None:
                argconf = dataclasses.replace(field.argconf, help_behavior_hint=hint)
                arg = dataclasses.replace(arg, field=dataclasses.replace(field, argconf=argconf))
        return before(arg, *rest, **named)

    return helptext


def _plain_and_short(before: Function) -> Function:
    """No colours against NO_COLOR; a usage line that is longer than the terminal goes on, indented, on the next."""

    def format_help(*given: Any, **named: Any) -> list[str]:
        usage, *others = before(*given, **named)
        if os.environ.get("NO_COLOR"):
            usage, *others = (ANSI.sub("", line) for line in (usage, *others))
        return [*_wrapped(usage, shutil.get_terminal_size().columns), *others]

    return format_help


def _wrapped(usage: str, room: int) -> list[str]:
    lines = [""]
    for part in re.findall(r"\[[^\[\]\s]+ [^\[\]\s]+\]|\S+", usage):  # "[--out PATH]" stays together
        longer = f"{lines[-1]} {part}" if lines[-1] else part
        if len(ANSI.sub("", longer)) > room and lines[-1].strip():
            lines.append(f"       {part}")
        else:
            lines[-1] = longer
    return lines
