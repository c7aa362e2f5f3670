"""Rows as a table for people: in the terminal, and as Markdown for a page."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from airbayes.bench.rows import Row

HEADINGS = ("benchmark", "ours", "median", "peer", "ratio", "target", "unit")


def show_tables(rows: list[Row], titles: dict[str, str]) -> list[Table]:
    """One table per section, in the order of the rows."""
    tables = []
    for group in dict.fromkeys(row.group for row in rows):
        table = Table(box=SIMPLE_HEAD, title=Text(titles.get(group, group)), title_justify="left", pad_edge=False)
        table.add_column(HEADINGS[0], overflow="fold")
        for heading in HEADINGS[1:-1]:
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column(HEADINGS[-1], no_wrap=True)
        for row in (row for row in rows if row.group == group):
            name, *cells = entries(row)
            if row.skipped:
                table.add_row(Text(name), Text("skipped", style="yellow"), *[""] * 4, "")
                table.add_row(Text(f"  {row.skipped}", style="dim"), *[""] * 6)
            else:
                style = {True: "green", False: "red", None: ""}[row.met()]
                table.add_row(Text(name), *(Text(cell, style=style if cell == cells[4] else "") for cell in cells))
        tables.append(table)
    return tables


def markdown(rows: list[Row], titles: dict[str, str], machine: dict[str, Any]) -> str:
    """The same as a page, with the machine at its top."""
    lines = ["# airbayes bench", ""]
    lines += [f"- {name}: {value}" for name, value in machine.items() if value is not None]
    for group in dict.fromkeys(row.group for row in rows):
        lines += ["", f"## {titles.get(group, group)}", "", "| " + " | ".join(HEADINGS) + " |"]
        lines += ["|---|" + "---:|" * (len(HEADINGS) - 2) + "---|"]
        for row in (row for row in rows if row.group == group):
            name, *cells = entries(row)
            name = f"{name} (skipped: {row.skipped})" if row.skipped else name
            lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in (name, *cells)) + " |"]
    return "\n".join(lines) + "\n"


def entries(row: Row) -> tuple[str, ...]:
    """The cells of one row, in the order of HEADINGS."""
    target = ""
    if row.at_least is not None:
        target = f"≥ {row.at_least:g}"
    elif row.at_most is not None:
        target = f"≤ {row.at_most:g}"
    if row.met() is False:
        target += " missed"
    values = (row.ours, row.ours_median, row.peer, row.ratio)
    return (row.name, *(number(value) for value in values), target, row.unit)


def number(value: float | None) -> str:
    """Three significant digits, thousands with commas."""
    if value is None:
        return ""
    if value != 0 and not 1e-3 <= abs(value) < 1e9:
        return f"{value:.2e}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 4
    return f"{value:,.{digits}f}"
