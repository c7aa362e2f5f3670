"""The help of every command, on a terminal of 80 columns."""

import re
import sys

import pytest

from airbayes.cli.commands import COMMANDS
from airbayes.cli.main import main


@pytest.mark.parametrize("words", [*((each.name,) for each in COMMANDS), ("data", "simulate"), ("data", "inspect")])
def test_no_line_is_longer_than_the_terminal(words, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    # What a switch or an option is without being given is said by its sentence.
    assert not re.search(r"\(default: (none|False|True)?\)", shown)


@pytest.mark.parametrize("words", [["--help"], ["data", "--help"], ["completion", "--help"], ["run", "--list"]])
def test_what_is_written_by_hand_fits_a_narrow_terminal(words, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main(words)
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 60] == []


def test_sentences_flow_whatever_the_lines_of_the_source(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["decide", "--help"])
    assert "known objects? Stored beside the run" in capsys.readouterr().out


def test_settings_with_a_value_show_it_and_switches_that_are_on_say_so(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["run", "gaussian", "--help"])
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "η, step size. (default: 0.0005)" in shown
    assert "--no-saved-predictions" in shown
    assert "(on unless given)" in shown


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_no_color_is_followed(no_color, coloured, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", no_color)
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    assert ("\x1b[36m" in capsys.readouterr().out) == coloured
