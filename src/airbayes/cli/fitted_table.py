"""Tables for terminals of 80 columns and fewer: light, and no word or number in them is cut."""

import re
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

BETWEEN = 2  # blanks between two columns
MOST_NAME = 16  # columns that a name may claim; a longer one, such as a path, is folded
# A number and its unit are one word.
WORD = re.compile(r"−?\d[\d,.]* (?:dBm?|%|[pnµmkMGT]?(?:s|J|Hz|bit|m|B))(?!\S)|\S+")


def print_fitted(table: Table, console: Console, spare: Sequence[str] = ()) -> None:
    """Where there is little room cells take several lines, broken between words; where that is not enough, the columns
    named by `spare` are left out, the first one first; in the end every row becomes a list. The title is a line of its
    own, not broken to the table."""
    if table.title:
        console.print(table.title, style="bold")
    table.title = None
    table, left_out = _leave_out(table, console.width, spare)
    if _width(_least(table)) > console.width:
        _print_lists(table, console)
    else:
        table.box, table.show_edge, table.pad_edge, table.collapse_padding = SIMPLE_HEAD, False, False, True
        for column, width in zip(table.columns, _widths(table, console.width), strict=True):
            column.width, column.overflow = width, "fold"
        console.print(table, crop=False)
    if left_out:
        console.print(f"Left out for want of room: {', '.join(left_out)}.")


def _leave_out(table: Table, room: int, spare: Sequence[str]) -> tuple[Table, list[str]]:
    """The table as it fits, and what it lacks."""
    left_out = []
    for name in spare:
        if _width(_least(table)) <= room:
            break
        columns = [column for column in table.columns if _plain(column.header) != name]
        table = Table(*(_plain(column.header) for column in columns))
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*row)
        left_out.append(name)
    return table, left_out


def _print_lists(table: Table, console: Console) -> None:
    """One line a cell, after the name of its column."""
    for row in zip(*(column.cells for column in table.columns), strict=True):
        name, *cells = (cell if isinstance(cell, Text) else Text(str(cell)) for cell in row)
        console.print(name, style="bold")
        for column, cell in zip(table.columns[1:], cells, strict=True):
            if cell.plain:
                console.print(Text(f"  {_plain(column.header)}: ").append_text(cell))


def _widths(table: Table, room: int) -> list[int]:
    """All that each column would like; less, down to its longest word, where that is too much together."""
    widths = [max(map(cell_len, texts)) for texts in _texts(table)]
    least = _least(table)
    while _width(widths) > room:
        spare = [width - need for width, need in zip(widths, least, strict=True)]
        widths[spare.index(max(spare))] -= 1
    return widths


def _least(table: Table) -> list[int]:
    """The longest word of every column; names, which may be long, count in part."""
    texts = _texts(table)
    least = [max((cell_len(word) for text in column for word in WORD.findall(text)), default=0) for column in texts]
    least[0] = max(cell_len(texts[0][0]), min(least[0], MOST_NAME))
    return least


def _width(widths: list[int]) -> int:
    return sum(widths) + BETWEEN * (len(widths) - 1)


def _texts(table: Table) -> list[list[str]]:
    """The header and the cells of every column."""
    return [[_plain(cell) for cell in (column.header, *column.cells)] for column in table.columns]


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
