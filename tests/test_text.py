"""Text for people."""

from airbayes.text import plural


def test_one_is_singular_and_many_have_their_thousands_marked():
    assert [plural(count, "cell") for count in (0, 1, 2, 12_345)] == ["0 cells", "1 cell", "2 cells", "12,345 cells"]
