"""`airbayes plan` as people use it."""

import json

import pytest
from cli.test_cli import run
from rich.console import Console


def test_tables_picture_and_json(tmp_path, capsys):
    (tmp_path / "roads.csv").write_text("0,1\n1,2\n2,3\n")
    out = tmp_path / "plan"
    assert run("plan", "ring", str(tmp_path / "roads.csv"), "--snr-db", "0", "30", "--out", str(out)) == 0
    text = capsys.readouterr().out
    for expected in ("29.0 dB", "collapse", "exact", "slower mixing", "1,012", "the weakest one"):
        assert expected in text
    assert "[/]" not in text
    assert {path.name for path in out.iterdir()} == {"plan.json", "plan.png", "plan.svg"}
    facts = json.loads((out / "plan.json").read_text(), parse_constant=pytest.fail)
    assert [graph["agents"] for graph in facts["graphs"]] == [5, 4]
    assert [point["paper"] for point in facts["points"][:2]] == ["collapse", "exact"]
    assert (out / "plan.svg").read_text().startswith("<?xml")


def test_the_weakest_link_decides(tmp_path, capsys):
    (tmp_path / "places.csv").write_text("0,0,0\n1,100,0\n2,100,900\n")
    args = ["--agents", "3", "--path-loss", "log-distance", "--json"]
    assert run("plan", "line", *args, "--geometry", str(tmp_path / "places.csv")) == 0
    near_and_far = json.loads(capsys.readouterr().out)
    assert run("plan", "line", *args, "--distance-m", "900") == 0
    far = json.loads(capsys.readouterr().out)
    assert near_and_far["points"] == far["points"]
    assert near_and_far["links"]["line"]["snr_db"][0] > near_and_far["links"]["line"]["snr_db"][1]


def test_agents_in_one_place_are_named(tmp_path, capsys):
    (tmp_path / "places.csv").write_text("0,5,5\n1,100,0\n2,100,0\n")
    assert run("plan", "line", "--agents", "3", "--geometry", str(tmp_path / "places.csv")) == 2
    assert "Agents 1 and 2 are linked and stand in the same place" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["rong"], "ring"),
        (["ring", "--snr-db", "3", "--distance-m", "3"], "--snr-db and --distance-m each say"),
        (["ring", "--side-m", "100"], "no positions"),
        (["full", "--agents", "1"], "nothing to plan"),
        (["ring", "--eta", "0", "--params", "0"], "2 errors"),
        (["ring", "--distance-m", "0"], "--distance-m 0.0 must be above 0"),
        (["ring", "--rms", "0"], "--rms 0.0 must be above 0"),
        (["ring", "--snr-db", "10", "nan"], "--snr-db nan is not a finite number"),
        (["ring", "--distance-m", "9", "--noise-figure-db", "nan"], "--noise-figure-db nan"),
        (["ring", "--distance-m", "9", "--exponent", "4"], "Add --path-loss log-distance"),
        (["ring", "--snr-db", "9", "--carrier-hz", "5.9e9"], "--carrier-hz: without effect"),
        (["ring", "--noise-figure-db", "9"], "Add --distance-m"),
        (["ring", "--out", ""], "--out is empty"),
        (["roads.csv", "--agents", "9"], "--agents 9: without effect on roads.csv, only on named graphs"),
        (["ring", "--graph-seed", "3"], "--graph-seed 3: without effect on ring, only on random graphs"),
        (["empty.csv"], "empty.csv holds no edge; write two agent indices a line"),
        (["ring", "--geometry", "places.csv"], "places.csv has 3 positions, but ring has 5 agents. Use --agents 3"),
        (["roads.csv", "--geometry", "places.csv"], "but roads.csv has 4 agents. Give a position to each."),
    ],
)
def test_bad_input_is_one_clear_message(args, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roads.csv").write_text("0,1\n1,2\n2,3\n")
    (tmp_path / "places.csv").write_text("0,0,0\n1,100,0\n2,100,900\n")
    (tmp_path / "empty.csv").write_text("")
    assert run("plan", *args) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("graph", ["star", "random_geometric"])
def test_nothing_is_cut_on_a_terminal_of_80_columns(graph, monkeypatch, capsys):
    monkeypatch.setattr("airbayes.cli.plan.make_console", lambda stderr=False: Console(width=80, stderr=stderr))
    assert run("plan", graph, "--agents", "30", "--snr-db", "0", "20") == 0
    text = capsys.readouterr().out
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    for whole in ("power-limited", "|eigenvalue|", "transition,", "39,220,800", "latency"):
        assert whole in text
