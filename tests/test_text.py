"""Text for people."""

from airbayes.text import fitted, plural


def test_one_is_singular_and_many_have_their_thousands_marked():
    assert [plural(count, "cell") for count in (0, 1, 2, 12_345)] == ["0 cells", "1 cell", "2 cells", "12,345 cells"]


def test_long_lines_go_on_below_what_they_say(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = "short\n  inspect PATH  count classes, instances and points\n"
    assert fitted(text) == "short\n  inspect PATH  count classes, instances\n                and points\n"
