"""Text for people."""

from airbayes.text import fitted, listed, percent, plural


def test_one_is_singular_and_many_have_their_thousands_marked():
    assert [plural(count, "cell") for count in (0, 1, 2, 12_345)] == ["0 cells", "1 cell", "2 cells", "12,345 cells"]


def test_names_in_a_sentence():
    assert [listed("abc"[:count]) for count in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_a_share_in_percent_as_asked_for_or_to_a_digit():
    assert [percent(share, None) for share in (0.05, 0.001, 0.07, 1 - 0.001)] == ["5 %", "0.1 %", "7 %", "99.9 %"]
    assert [percent(share, 1) for share in (0.05, None, float("nan"))] == ["5.0 %", "–", "–"]
    assert percent(0.456) == "46 %"


def test_long_lines_go_on_below_what_they_say(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = "short\n  inspect PATH  count classes, instances and points\n"
    assert fitted(text) == "short\n  inspect PATH  count classes, instances\n                and points\n"
