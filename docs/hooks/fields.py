"""Constructors and fields of classes in the Python reference, read from the source.

The reference knows the constructor of a class that writes one. Equinox modules, dataclasses and named tuples have
theirs made of their fields: here it is made in the same way. Below stands what the source says about a field:
the comment at the end of its line; where there is none, the first sentence of its type.
"""

import re
from pathlib import Path
from typing import Any

import griffe

MODULES = {"equinox.Module", "typing.NamedTuple"}
NUMBERS = {"Float": "float", "Int": "int"}  # what a converter makes an array of


class Fields(griffe.Extension):
    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        classes = list(_classes(pkg))
        writing = {cls.path for cls in classes if "__init__" in cls.members}
        for cls in classes:
            if _made_of_fields(cls):
                _describe(cls, written=any(each.path in writing for each in (cls, *_parents(cls))))


def _classes(module: griffe.Module):
    for member in list(module.members.values()):
        if isinstance(member, griffe.Module):
            yield from _classes(member)
        elif isinstance(member, griffe.Class):
            yield member


def _made_of_fields(cls: griffe.Class) -> bool:
    return _is_dataclass(cls) or any(path in MODULES for each in (cls, *_parents(cls)) for path in _bases(each))


def _is_dataclass(cls: griffe.Class) -> bool:
    return any(str(decorator.value).startswith("dataclass") for decorator in cls.decorators)


def _bases(cls: griffe.Class) -> list[str]:
    return [base.canonical_path for base in cls.bases if isinstance(base, griffe.Expr)]


def _parents(cls: griffe.Class) -> list[griffe.Class]:
    """Those of this package, nearest first."""
    found = []
    for path in _bases(cls):
        parent = _find(cls, path)
        if isinstance(parent, griffe.Class):
            found += [parent, *_parents(parent)]
    return found


def _find(near: griffe.Object, path: str) -> griffe.Object | None:
    try:
        found = near.modules_collection[path]
        return found.final_target if isinstance(found, griffe.Alias) else found
    except (KeyError, griffe.AliasResolutionError):
        return None


def _describe(cls: griffe.Class, *, written: bool) -> None:
    fields = {}
    for each in reversed([cls, *_parents(cls)]):
        fields |= {name: fields.get(name) for name in _own_fields(each)} | _own_fields(each)
    arguments = {field.name: _arguments(field) for field in fields.values()}
    taken = [field for field in fields.values() if arguments[field.name].get("init") != "False"]
    parameters = [_parameter(field, arguments[field.name]) for field in taken]
    if not written:
        parameters.sort(key=lambda parameter: parameter.kind is griffe.ParameterKind.keyword_only)
        own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
        constructor = griffe.Function("__init__", parameters=griffe.Parameters(own, *parameters), parent=cls)
        cls.set_member("__init__", constructor)
    shown = [field for field in fields.values() if not field.name.startswith("_")]
    if cls.docstring is None or any(field.docstring for field in shown):  # those stand there by themselves
        return
    lines = [_line_of(field, _said(field.name, cls), with_type=written) for field in shown]
    if any(lines):
        cls.docstring.parsed.append(griffe.DocstringSectionText("\n".join(filter(None, lines))))


def _line_of(field: griffe.Attribute, said: str, *, with_type: bool) -> str:
    """A field in the list; the signature has its type already, unless the constructor takes something else."""
    kind = f"`{field.annotation}`" if with_type else ""
    return f"- `{field.name}`: {', '.join(filter(None, (kind, said)))}" if kind or said else ""


def _said(name: str, cls: griffe.Class) -> str:
    """What the class says about a field, or the nearest parent that says something."""
    found = [each.members.get(name) for each in (cls, *_parents(cls))]
    declared = [member for member in found if isinstance(member, griffe.Attribute)]
    return next(filter(None, map(_comment, declared)), "") or next(filter(None, map(_of_its_type, declared)), "")


def _own_fields(cls: griffe.Class) -> dict[str, griffe.Attribute]:
    """What the class itself declares with a type; properties and class variables are no fields."""
    if not (_is_dataclass(cls) or _bases(cls)):
        return {}
    for name, member in cls.members.items():
        if isinstance(member, griffe.Attribute):
            _return_to_declaration(member, name, cls)
    return {
        name: member
        for name, member in cls.members.items()
        if isinstance(member, griffe.Attribute)
        and member.annotation is not None
        and "property" not in member.labels
        and "AbstractVar[" not in str(member.annotation)  # subclasses declare it
        and not ("class-attribute" in member.labels and "instance-attribute" not in member.labels)
        and re.match(rf"\s*{re.escape(name)}\s*:", _line(member))
    }


def _return_to_declaration(member: griffe.Attribute, name: str, cls: griffe.Class) -> None:
    """Where a constructor assigns `self.name`, griffe tells that line; what is said stands at the declaration."""
    declaration = re.compile(rf"\s*{re.escape(name)}\s*:")
    if member.annotation is None or declaration.match(_line(member)):
        return
    for number in range(cls.lineno or 1, (member.lineno or 1)):
        if declaration.match(_line(member, number)):
            member.lineno = member.endlineno = number
            return


def _arguments(field: griffe.Attribute) -> dict[str, griffe.Expr | str]:
    """Of `eqx.field(...)` or `dataclasses.field(...)`; a plain value is the default."""
    value = field.value
    if isinstance(value, griffe.ExprCall) and re.fullmatch(r"((eqx|dataclasses)\.)?field", str(value.function)):
        return {part.name: part.value for part in value.arguments if isinstance(part, griffe.ExprKeyword)}
    return {} if value is None else {"default": value}


def _parameter(field: griffe.Attribute, arguments: dict[str, griffe.Expr | str]) -> griffe.Parameter:
    kinds = griffe.ParameterKind
    default = arguments.get("default")
    if "default_factory" in arguments:
        default = f"{arguments['default_factory']}()"
    return griffe.Parameter(
        field.name,
        annotation=_accepted(field, arguments.get("converter")),
        kind=kinds.keyword_only if str(arguments.get("kw_only")) == "True" else kinds.positional_or_keyword,
        default=default,
    )


def _accepted(field: griffe.Attribute, converter: griffe.Expr | str | None) -> griffe.Expr | str | None:
    """What may be passed: what the converter takes, where it says so."""
    if not isinstance(converter, griffe.Expr):
        return field.annotation
    function = _find(field, converter.canonical_path) if isinstance(converter, griffe.ExprName) else None
    if isinstance(function, griffe.Function) and function.parameters[0].annotation is not None:
        return function.parameters[0].annotation
    number = NUMBERS.get(str(field.annotation).partition("[")[0])
    return field.annotation if number is None else f"{number} | {field.annotation}"


def _line(field: griffe.Attribute, number: int | None = None) -> str:
    path = field.filepath
    assert isinstance(path, Path)  # a list of folders is that of a package without a file
    return field.lines_collection[path][(number or field.lineno or 1) - 1]


def _comment(field: griffe.Attribute) -> str:
    comment = re.search(r"  # (?!noqa|type:|pyright)(.*)$", _line(field, field.endlineno))
    return _text(comment[1]) if comment else ""


def _of_its_type(field: griffe.Attribute) -> str:
    for name in _names(field.annotation):
        kind = _find(field, name)
        if kind is not None and kind.docstring:
            return re.split(r"(?<=\.)\s|\n\n", kind.docstring.value)[0].replace("\n", " ").rstrip(".")
    return ""


def _names(annotation: griffe.Expr | str | None) -> list[str]:
    parts = annotation.iterate(flat=True) if isinstance(annotation, griffe.Expr) else []
    return [part.canonical_path for part in parts if isinstance(part, griffe.ExprName)]


def _text(comment: str) -> str:
    """Mathematics is not markup."""
    return re.sub(r"([*_\[\]<>|])", r"\\\1", comment) if "`" not in comment else comment
