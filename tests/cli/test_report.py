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
    assert "it is empty" in capsys.readouterr().err
    assert run(str(RESULTS / "paper-real"), "--out", str(tmp_path / "no" / "where.html")) == 2
    assert "need a file in a folder that exists" in capsys.readouterr().err
    assert run(str(RESULTS / "paper-real"), "--out", str(tmp_path / "page.pdf")) == 2
    assert "name it page.html" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("flags", "drawn"), [([], None), (["--objects"], True), (["--no-objects"], False)])
def test_whether_objects_are_drawn_is_a_flag(flags, drawn, tmp_path, monkeypatch):
    asked = []
    (tmp_path / "results.nc").write_text("")
    monkeypatch.setattr("airbayes.report.html.read_run", lambda folder, objects: asked.append(objects))
    monkeypatch.setattr("airbayes.report.html.write_report", lambda runs, out: out)
    assert run(str(tmp_path), *flags) == 0
    assert asked == [drawn]


def test_both_flags_are_one_too_many(tmp_path, capsys):
    (tmp_path / "results.nc").write_text("")
    assert run(str(tmp_path), "--objects", "--no-objects") == 2
    assert "exclude each other" in capsys.readouterr().err
