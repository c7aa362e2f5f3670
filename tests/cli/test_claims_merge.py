"""`airbayes merge` and `airbayes claims` as people use them: exit codes, messages, files."""

import dataclasses
import json

import pytest
from experiment.made_folder import STUDY, write_made

from airbayes.cli.main import main
from airbayes.experiment.config import SamplingConfig


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    code = stop.value.code
    return 0 if code is None else int(code)


@pytest.fixture
def parts(tmp_path):
    write_made(tmp_path / "a", 0, 2)
    write_made(tmp_path / "b", 2, 1)
    return tmp_path


def test_merge_then_claims(parts, tmp_path, capsys):
    out = tmp_path / "all"
    assert run("merge", str(parts / "a"), str(parts / "b"), "--out", str(out)) == 0
    shown = capsys.readouterr().out
    assert "3 seeds from 2 folders" in shown
    assert str(out / "report.html") in shown
    files = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert {"cells.csv", "fig2.png", "claims.json", "report.html", "SHA256SUMS"} <= files  # as after a run
    line = shown[shown.index("Written: ") : shown.index("Report, for your browser")]
    assert set(line.removeprefix("Written: ").replace(",", " ").split()) == files
    (out / "claims.json").unlink()
    assert run("claims", str(out)) == 0
    text = capsys.readouterr().out
    assert "C1 at high SNR CD-DSGLD is better calibrated undecided" in " ".join(text.split())
    assert "only 3 seeds scored; a verdict needs 8" in text
    content = json.loads((out / "claims.json").read_text())
    assert content["seeds"] == [0, 1, 2]
    assert [(record["gains"], record["claim"]) for record in content["claims"]] == [
        ("optimal", claim) for claim in ("C1", "C2", "C3", "C4")
    ]
    assert {record["verdict"] for record in content["claims"]} == {"undecided"}
    assert run("run", str(out / "config.toml"), "--out", str(out)) == 0
    assert "already holds this experiment" in capsys.readouterr().out


def test_claims_of_several_folders_quietly(parts, capsys):
    assert run("claims", str(parts / "a"), str(parts / "b"), "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert (parts / "a" / "claims.json").exists()
    assert (parts / "b" / "claims.json").exists()


def test_claims_says_what_is_missing(tmp_path, capsys):
    write_made(tmp_path / "g", 0, 1, dataclasses.replace(STUDY, methods=("dsgld",)), diverged=(0,))
    assert run("claims", str(tmp_path / "g")) == 2
    message = capsys.readouterr().err
    assert str(tmp_path / "g") in message
    assert "lack q_dsgd, cd_dsgld with gains optimal or common, the variable accuracy" in message
    assert not (tmp_path / "g" / "claims.json").exists()
    assert run("claims", str(tmp_path / "nowhere")) == 2
    assert "nowhere. Give a results folder" in capsys.readouterr().err
    assert run("claims") == 2


def test_merge_refuses_other_experiments_and_asks_for_a_folder(parts, tmp_path, capsys):
    write_made(tmp_path / "c", 5, 1, dataclasses.replace(STUDY, sampling=SamplingConfig(eta=0.5)))
    assert run("merge", str(parts / "a"), str(tmp_path / "c"), "--out", str(tmp_path / "x")) == 2
    assert "sampling.eta: 0.001 → 0.5" in capsys.readouterr().err
    assert run("merge", str(parts / "a"), str(parts / "b")) == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["merge", "claims"])
def test_help(command, capsys):
    assert run(command, "--help") == 0
    assert "Results folders" in " ".join(capsys.readouterr().out.split())
