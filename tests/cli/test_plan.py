"""`airbayes plan` as people use it."""

import json

import pytest
from cli.test_cli import run
from rich.console import Console

from airbayes.cli.plan import BUDGET_ONLY
from airbayes.cli.plan_ranges import PLAN_RANGES, option_name
from airbayes.cli.plan_tables import si


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
        (
            ["ring", "--distance-m", "9", "--exponent", "3"],
            "--exponent 3: without effect on free space.",
        ),  # the default
        (["ring", "--snr-db", "9", "--carrier-hz", "5.9e9"], "--carrier-hz: without effect"),
        (["ring", "--noise-figure-db", "9"], "Add --distance-m"),
        (["ring", "--out", ""], "--out is empty"),
        (["ring@link_outage=0.3"], "'ring@link_outage=0.3': a plan knows no faults. Plan ring;"),
        (["ring", "--tx-dbm", "5000"], "--tx-dbm 5000.0 must be at least -200 and at most 120."),
        (["ring", "--rms", "1e200"], "--rms 1e+200 must be above 0 and at most 1,000,000."),
        (["ring", "--params", "1" + 21 * "0"], "must be at least 1 and at most 1,000,000,000,000."),
        (["ring", "--start-rms", "-1"], "--start-rms -1.0 must be at least 0"),
        (["ring", "--value-bits", "1"], "--value-bits 1 must be at least 2 and at most 16."),
        (["ring", "--value-bits", "64"], "--value-bits 64 must be at least 2 and at most 16."),
        (["random_geometric", "--graph-seed", "-1"], "--graph-seed -1 must be at least 0"),
        (["ring", "--snr-db", "300"], "--snr-db 300.0 must be at least -200 and at most 200."),
        (["ring", "--snr-db"], "--snr-db needs a value"),
        (["ring", "--distance-m", "1e-3"], "A link of 0.001 m at 2.4e+09 Hz would gain 19.9 dB"),
        (["roads.txt"], "'roads.txt' is not the name of a graph, and an edge list is a file named *.csv"),
        (["roads.csv", "--agents", "9"], "--agents 9: without effect on roads.csv, only on named graphs"),
        (["roads.csv", "--agents", "5"], "--agents 5: without effect on roads.csv"),
        (["ring", "--graph-seed", "3"], "--graph-seed 3: without effect on ring, only on random graphs"),
        (["empty.csv"], "empty.csv holds no edge; write two agent indices a line"),
        (
            ["ring", "--geometry", "places.csv"],
            "places.csv has 3 positions and ring 5 agents, counted from 0;",
        ),
        (["roads.csv", "--geometry", "places.csv"], "places.csv has 3 positions and roads.csv 4 agents"),
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


@pytest.mark.parametrize("end", ["low", "high"])
def test_numbers_at_the_ends_of_their_ranges_are_planned_or_refused(end, capsys):
    """With all others as they are by default; nothing overflows."""
    for name, limits in PLAN_RANGES.items():
        if name in ("agents", "side_m"):  # a million agents take a while
            continue
        kind = int if name in ("params", "value_bits", "graph_seed") else float
        budget = ["--distance-m", "100"] if name in BUDGET_ONLY else []
        budget += ["--path-loss", "log-distance"] if name == "exponent" else []
        words = ["plan", "ring", option_name(name), str(kind(getattr(limits, end))), *budget, "--json"]
        assert run(*words) in (0, 2), words
        text = capsys.readouterr()
        assert json.loads(text.out)["points"] if text.out else text.err.startswith("error: "), words


def test_a_geometry_that_does_not_fit_names_file_graph_and_agent(tmp_path, capsys):
    (tmp_path / "places.csv").write_text("0,0,0\n1,100,0\n2,100,900\n3,50,50\n")
    assert run("plan", "ring", "--geometry", str(tmp_path / "places.csv")) == 2
    assert "places.csv has 4 positions and ring 5 agents, counted from 0; add agent 4." in capsys.readouterr().err
    assert run("plan", "line", "--agents", "2", "--geometry", str(tmp_path / "places.csv")) == 2
    assert "has 4 positions and line 2 agents, counted from 0; drop agents 2 to 3." in capsys.readouterr().err


def test_numbers_as_people_write_them(capsys):
    assert run("plan", "star", "--agents", "100000", "--snr-db", "-5", "--params", "1", "--tx-dbm", "-3") == 0
    text = capsys.readouterr().out
    for expected in ("1 to 99,999", "2e-05", "1−2e-05", "−57.0 dB", "−5 dB", "in 1 channel use, 1 µs"):
        assert expected in text
    assert "One iteration at −3 dBm an agent, 1 MHz: " in text  # what the energy rests on
    assert run("plan", "grid", "--agents", "10000", "--snr-db", "20") == 0
    assert "−0.000 " not in capsys.readouterr().out
    assert run("plan", "ring", "--distance-m", "0.05", "--carrier-hz", "6e9") == 0
    assert "0.05 m" in capsys.readouterr().out
    written = {
        0.0041: "4.1 ms",
        0.9996: "1 s",
        999.4: "999 s",
        999.6: "1 ks",
        1000.0: "1 ks",
        -0.9996: "-1 s",
        0.0: "0 s",
    }
    assert {value: si(value, "s") for value in written} == written


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("graph", ["star", "random_geometric"])
def test_nothing_is_cut_on_a_narrow_terminal(graph, width, monkeypatch, capsys):
    monkeypatch.setattr("airbayes.cli.plan.make_console", lambda stderr=False: Console(width=width, stderr=stderr))
    assert run("plan", graph, "--agents", "30", "--snr-db", "0", "20", "--rms", "0.9") == 0
    text = capsys.readouterr().out
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    wanted = ["power-limited", "|eigenvalue|", "transition,", "latency", graph, "agents", "weight", "room: gap"]
    for whole in wanted + (["12,256,500"] if width == 80 else []):
        assert whole in text
