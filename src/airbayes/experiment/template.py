"""A configuration as a TOML file in which every setting is there and explained, with the help of the command line."""

import ast
import dataclasses
import inspect
import textwrap

from airbayes.experiment import config as config_module
from airbayes.experiment.config import ExperimentConfig

WIDTH = 118


def commented_toml(config: ExperimentConfig, intro: str = "") -> str:
    """It reads back as this very configuration."""
    helps = _helps()
    parts = [_comment(intro)] if intro else []
    tables = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            lines = [f"[{field.name}]"]
            for inner in dataclasses.fields(value):
                lines.append(_comment(helps[type(value).__name__, inner.name]))
                lines.append(_line(inner.name, getattr(value, inner.name)))
            tables.append("\n".join(lines))
        else:
            parts.append(_comment(helps[type(config).__name__, field.name]))
            parts.append(_line(field.name, value))
    return "\n".join(parts) + "\n\n" + "\n\n".join(tables) + "\n"


def _line(name: str, value) -> str:
    """One line, lists too."""
    import tomli_w

    if isinstance(value, tuple):
        each = [tomli_w.dumps({"x": item}).strip().removeprefix("x = ") for item in value]
        return f"{name} = [{', '.join(each)}]"
    return tomli_w.dumps({name: value}).strip()


def _comment(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, initial_indent="# ", subsequent_indent="# ")


def _helps() -> dict[tuple[str, str], str]:
    """(class, field) → the text under the field, which Python does not keep but the source does."""
    found = {}
    for node in ast.parse(inspect.getsource(config_module)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for field, below in zip(node.body, [*node.body[1:], None], strict=True):
            if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
                continue
            text = below.value if isinstance(below, ast.Expr) else None
            is_text = isinstance(text, ast.Constant) and isinstance(text.value, str)
            found[node.name, field.target.id] = str(text.value) if is_text else field.target.id  # pyright: ignore
    return found
