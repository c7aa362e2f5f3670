"""Tables that fit: broken between words, with less columns, or as lists, but with every word and number whole."""

import io

import pytest
from rich.console import Console
from rich.table import Table

from airbayes.cli.fitted_table import print_fitted

HEADERS = ("graph", "weight w", "gap", "2nd |eigenvalue|", "SNR")
CELLS = ("ring", "0.4000", "0.553", "0.447", "29.0 dB")


def shown(width: int, *spare: str) -> str:
    table, text = Table(*HEADERS, title="Mixing"), io.StringIO()
    table.add_row(*CELLS)
    print_fitted(table, Console(file=text, width=width), spare)
    return text.getvalue()


@pytest.mark.parametrize("width", [120, 50, 47, 42, 30, 20])
def test_every_word_and_number_is_whole(width):
    text = shown(width, "gap")
    assert max(map(len, text.splitlines())) <= width
    words = {word.strip(":.,") for word in text.split()}
    wanted = " ".join(HEADERS[1:] + CELLS).replace("0.553", "")
    assert {word.strip(",") for word in wanted.split()} <= words
    assert "29.0 dB" in text  # a number and its unit are one


def test_columns_are_left_out_in_their_order_and_only_for_want_of_room():
    assert "Left out" not in shown(80, "gap", "weight w")
    assert "Left out for want of room: gap.\n" in shown(41, "gap", "weight w")
    assert "0.553" not in shown(41, "gap", "weight w")
    assert "0.4000" in shown(41, "gap", "weight w")
    assert "Left out for want of room: gap, weight w." in " ".join(shown(34, "gap", "weight w").split())


def test_what_cannot_be_left_out_becomes_a_list():
    assert shown(30).splitlines() == [
        "Mixing",
        "ring",
        "  weight w: 0.4000",
        "  gap: 0.553",
        "  2nd |eigenvalue|: 0.447",
        "  SNR: 29.0 dB",
    ]
