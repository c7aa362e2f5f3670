"""The help of every command, on a terminal of 80 columns."""

import pytest

from airbayes.cli.commands import COMMANDS
from airbayes.cli.main import main


@pytest.mark.parametrize("words", [*((each.name,) for each in COMMANDS), ("data", "simulate"), ("data", "inspect")])
def test_no_line_is_longer_than_the_terminal(words, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80 and not line.startswith("usage: ")] == []


def test_sentences_flow_whatever_the_lines_of_the_source(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["decide", "--help"])
    assert "known objects? Stored beside the run" in capsys.readouterr().out
