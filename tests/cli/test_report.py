"""`airbayes report`: files, messages, exit codes."""

from pathlib import Path

import pytest

from airbayes.cli.main import main

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["report", *args])
    return int(stop.value.code or 0)


def test_one_page_of_several_runs(tmp_path, capsys):
    out = tmp_path / "both.html"
    folds = [str(RESULTS / "paper-real-folds"), str(RESULTS / "paper-real-folds-yaw")]
    assert run(*folds, "--out", str(out)) == 0
    assert capsys.readouterr().out.split() == ["Written:", str(out)]
    assert "2 runs compared" in out.read_text(encoding="utf-8")


def test_what_cannot_be_shown_is_said(tmp_path, capsys):
    assert run() == 2
    assert "usage: airbayes report" in capsys.readouterr().err
    assert run(str(tmp_path)) == 2
    assert "it has no results.nc" in capsys.readouterr().err
    assert run(str(RESULTS / "paper-real"), "--out", str(tmp_path / "no" / "where.html")) == 2
    assert "need a file in a folder that exists" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
