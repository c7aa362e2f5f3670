"""Colours of the methods as style rules: those of every other figure, lighter ones where dark would not be seen."""

from airbayes.report.style import COLOURS, colour

ON_DARK = {
    "sgld": "#F2F2F2",
    "dsgld": "#4FB0E8",
    "dsghmc": "#8CCFF5",
    "dsgd": "#A8A8A8",
    "q_dsgd": "#E39BC4",
    "local_sgld": "#B892DC",
    "local_sgd": "#CDA27A",
    "cd_dsgld:optimal": "#F0803C",
    "cd_dsgld:truncated": "#F0B93A",
    "cd_dsgld:common": "#2CC89A",
}
OTHER = "m-other"


def method_class(variant: str | None) -> str:
    """The class of a method; one that is not ours gets the grey of all others, whatever it is called."""
    return f"m-{variant.replace(':', '-')}" if variant in COLOURS else OTHER


def method_rules() -> str:
    """A variable --c for every method, in both themes."""

    def rules(prefix: str, dark: bool) -> str:
        lines = [
            f"{prefix} .{method_class(name)}{{--c:{ON_DARK.get(name, '#bbbbbb') if dark else colour(name)}}}"
            for name in COLOURS
        ]
        return "\n".join([*lines, f"{prefix} .{OTHER}{{--c:{'#bbbbbb' if dark else '#555555'}}}"])

    dark = "\n".join(line for line in rules(':root:not([data-theme="light"])', True).splitlines())
    return "\n".join(
        [
            "",
            rules(":root", False),
            "@media screen and (prefers-color-scheme: dark) {",
            dark,
            "}",
            "@media screen {",
            rules(':root[data-theme="dark"]', True),
            "}",
            "",
        ]
    )
