"""Tables for terminals of 80 columns: light, and no word or number in them is cut."""

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

BETWEEN = 2  # blanks between two columns


def print_fitted(table: Table, console: Console) -> None:
    """Where there is little room cells take several lines; the title is a line of its own, not broken to the table."""
    if table.title:
        console.print(table.title, style="bold")
    table.title = None
    table.box, table.show_edge, table.pad_edge, table.collapse_padding = SIMPLE_HEAD, False, False, True
    for column, width in zip(table.columns, _widths(table, console.width), strict=True):
        column.width, column.overflow = width, "fold"
    console.print(table, crop=False)


def _widths(table: Table, room: int) -> list[int]:
    """All that each column would like; less, down to its longest word, where that is too much together."""
    texts = [[_plain(cell) for cell in (column.header, *column.cells)] for column in table.columns]
    widths = [max(map(cell_len, column)) for column in texts]
    least = [max((cell_len(word) for text in column for word in text.split()), default=0) for column in texts]
    least[0] = cell_len(texts[0][0])  # names, which may be long, are folded
    while sum(widths) + BETWEEN * (len(widths) - 1) > room:
        spare = [width - need for width, need in zip(widths, least, strict=True)]
        if max(spare) <= 0:
            break
        widths[spare.index(max(spare))] -= 1
    return widths


def _plain(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
