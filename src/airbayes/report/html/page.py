"""One file: the template, its style and scripts (each named by its hash in the security policy), and the data."""

import base64
import dataclasses
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

from airbayes import __version__
from airbayes.report.html.compare import compare_section
from airbayes.report.html.numbers import units_kept
from airbayes.report.html.palette import method_class, method_rules
from airbayes.report.html.parts import Section
from airbayes.report.html.runs import Run
from airbayes.report.html.sections import make_sections
from airbayes.report.html.summary import Summary, summarise
from airbayes.text import listed

if TYPE_CHECKING:
    from markupsafe import Markup

SCRIPTS = (
    "tools.js",
    "scales.js",
    "panel_lines.js",
    "panel_hover.js",
    "panel_reliability.js",
    "panel_heat.js",
    "panel_network.js",
    "panel_cloud.js",
    "figures.js",
    "page.js",
    "page_places.js",
    "page_print.js",
)


@dataclasses.dataclass(frozen=True)
class Part:
    """A run on the page; anchors carry its number where there are several."""

    run: Run
    summary: Summary
    sections: list[Section]
    prefix: str


def render_page(runs: Sequence[Run]) -> str:
    """The page as text; everything in it that is not ours is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    several = len(runs) > 1
    parts = [
        Part(run, summarise(run), make_sections(run), f"run{index + 1}-" if several else "")
        for index, run in enumerate(runs)
    ]
    compared = compare_section(list(runs)) if several else None
    groups = [("", [compared])] if compared else []
    groups += [(part.prefix, part.sections) for part in parts]
    figures = {
        f"{prefix}{section.name}-{index}": figure.spec()
        for prefix, sections in groups
        for section in sections
        for index, figure in enumerate(section.figures)
    }
    style = _asset("style.css") + method_rules()
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in SCRIPTS) + "\n})();\n"
    environment = Environment(
        loader=PackageLoader("airbayes.report.html", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["method_class"] = method_class
    environment.filters["with_code"] = with_code
    environment.filters["units_kept"] = units_kept
    environment.policies["json.dumps_kwargs"] = {
        "sort_keys": False,
        "allow_nan": False,
        "separators": (",", ":"),
        "ensure_ascii": False,
    }
    return environment.get_template("page.html").render(
        title=listed(run.name for run in runs),
        parts=parts,
        compared=compared,
        figures=figures,
        version=__version__,
        style=style,
        script=script,
        style_hash=_sha256(style),
        script_hash=_sha256(script),
    )


def with_code(text: str) -> "Markup":
    """What stands between `backticks` as code; every part is escaped, whoever wrote it."""
    from markupsafe import Markup

    parts = units_kept(text).split("`")
    if len(parts) % 2 == 0:  # one is left over: no code
        return Markup("{}").format(units_kept(text))
    return Markup("").join(Markup("<code>{}</code>" if i % 2 else "{}").format(each) for i, each in enumerate(parts))


def _asset(name: str) -> str:
    return (resources.files("airbayes.report.html") / "assets" / name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
