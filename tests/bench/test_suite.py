"""The command runs, writes what it found, and says what is wrong with its input."""

import dataclasses
import json
import math
from typing import get_args

import pytest

from airbayes.bench import suite
from airbayes.bench.loops import CompiledLoop
from airbayes.bench.pointnet_case import make_case
from airbayes.bench.rows import Row, against
from airbayes.bench.scaling import scale, scale_agents
from airbayes.bench.sizes import quick_sizes
from airbayes.bench.step_parts import make_samplers
from airbayes.bench.table import entries, markdown, number
from airbayes.bench.timing import Timing
from airbayes.cli.bench import BenchMethod, bench_command
from airbayes.errors import ConfigError, ResultsError
from airbayes.network import ring

FIELDS = {field.name for field in dataclasses.fields(Row)} | {"met"}


def silent(text: str) -> None: ...


def check_json(found: dict) -> None:
    assert found["schema"] == 1
    assert {"device", "backend", "threads", "jax", "python", "airbayes", "date"} <= set(found["machine"])
    assert found["rows"]
    for row in found["rows"]:
        assert set(row) == FIELDS
        numbers = [row[name] for name in ("ours", "peer", "ratio")]
        if row["skipped"]:
            assert numbers == [None, None, None], row
        else:
            assert row["ours"] is not None, row
            assert row["repeats"] >= 1, row
            assert all(value is None or math.isfinite(value) for value in numbers), row
            assert (row["peer"] is None) == (row["peer_name"] == ""), row
    names = [(row["group"], row["name"]) for row in found["rows"]]
    assert len(set(names)) == len(names), "each row has a name of its own"


def test_quick_run_of_two_sections(tmp_path, capsys):
    assert bench_command(["--quick", "--only", "c", "a", "--repeats", "2", "--out", str(tmp_path / "b")]) == 0
    found = json.loads((tmp_path / "b" / "bench.json").read_text(encoding="utf-8"))
    check_json(found)
    assert found["complete"] is True
    assert {name: found["settings"][name] for name in ("only", "repeats", "quick")} == {
        "only": ["c", "a"],
        "repeats": 2,
        "quick": True,
    }
    assert [row["group"] for row in found["rows"]] == sorted(row["group"] for row in found["rows"])
    page = (tmp_path / "b" / "bench.md").read_text(encoding="utf-8")
    shown = capsys.readouterr().out
    for row in found["rows"]:
        assert row["name"] in page
    assert "bench.json" in shown
    assert "steps/s" in shown
    assert not list((tmp_path / "b").glob(".*")), "no temporary file is left"


@pytest.mark.long
def test_steps_and_limits_run(tmp_path):
    sizes = dataclasses.replace(quick_sizes(), clouds=2, methods=("cd_dsgld common",), matmul=64, copy_bytes=4096)
    rows = suite.run_suite(sizes, ["b", "e"], tmp_path, silent)
    check_json(json.loads((tmp_path / "bench.json").read_text(encoding="utf-8")))
    ours = {row.name: row.ours for row in rows}
    for part in ("whole step", "gradient", "mixing", "power control", "noise"):
        assert ours[f"cd_dsgld common: {part}"]
    rest, step = ours["cd_dsgld common: all but the gradient"], ours["cd_dsgld common: whole step"]
    assert rest is not None
    assert step is not None
    assert ours["cd_dsgld common: not gradient"] == pytest.approx(rest / step)
    assert ours["gradient, 1 cell: compile"]
    # Not below 1: a ceiling measured on so small a product, on a busy machine, bounds nothing.
    (share,) = [row for row in rows if row.name == "gradient, 1 cell: utilisation"]
    floor, measured = ours["gradient, 1 cell: floor"], float(share.note.removesuffix(" ms measured"))
    assert share.ours is not None
    assert floor is not None
    assert share.ours == pytest.approx(floor / measured, rel=0.01)


@pytest.mark.long
def test_methods_and_blocks_can_be_chosen(tmp_path):
    asked = ["--quick", "--only", "d", "b", "--blocks", "parameters", "--methods", "dsgd", "--repeats", "1"]
    assert bench_command([*asked, "--quiet", "--out", str(tmp_path)]) == 0
    names = [row["name"] for row in json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))["rows"]]
    assert {name.split(":")[0].split(" ")[0] for name in names} == {"dsgd", "parameters"}


def test_the_methods_on_offer_are_those_of_section_b():
    case = make_case(3, 2, 16)
    assert get_args(BenchMethod) == tuple(make_samplers(case, ring(3), 20.0))


def test_agents_are_compared_with_the_reference_size():
    sizes = dataclasses.replace(quick_sizes(), network_sizes=(20, 40), reference_size=20, features=5)
    rows = {row.name: row for row in scale_agents("random geometric", sizes, silent)}
    small, large = rows["random geometric, agents 20"], rows["random geometric, agents 40"]
    assert small.ratio == 1.0
    assert large.ours is not None
    assert small.ours is not None
    assert large.ratio == pytest.approx(large.ours / small.ours)
    assert (small.at_most, large.at_most) == (None, 1.3)
    assert rows["random geometric, agents 40: memory"].ours


def test_what_does_not_fit_is_skipped_before_it_is_made():
    def make(count: int) -> CompiledLoop:
        raise AssertionError("made although it does not fit")

    too_much = {"unit": "s", "scale": 1.0, "expected": lambda count: 10**18}
    (row,) = scale("agents", (5,), 5, make, quick_sizes(), silent, **too_much)
    assert row.skipped.startswith("needs about 931322574.6 GiB of memory, ")
    assert row.ours is None


def test_an_interrupted_run_keeps_its_finished_sections(tmp_path, monkeypatch):
    def fails(sizes, tell):
        yield Row("x", "half", "s", 1.0, repeats=1)
        raise KeyboardInterrupt

    good = suite.Section("g", "good", lambda sizes, tell: iter([Row("g", "whole", "s", 1.0, repeats=1)]))
    monkeypatch.setattr(suite, "SECTIONS", {"g": good, "x": suite.Section("x", "bad", fails)})
    with pytest.raises(KeyboardInterrupt):
        suite.run_suite(quick_sizes(), ["g", "x"], tmp_path, silent)
    found = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in found["rows"]] == ["whole"]
    assert found["complete"] is False


def test_wrong_input_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no section 'z'; choose from a, b, c, d, e"):
        suite.run_suite(quick_sizes(), ["z"], tmp_path, silent)
    with pytest.raises(ConfigError, match="repeats must be at least 1, got 0"):
        bench_command(["--quick", "--repeats", "0", "--out", str(tmp_path)])
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=r"it is a file\. Choose another folder with --out"):
        suite.run_suite(quick_sizes(), ["a"], tmp_path / "file", silent)


def test_ratio_is_times_faster_and_targets_are_judged():
    row = against("g", "n", Timing(0.5, 0.6, 3), "peer", Timing(2.0, 2.5, 3), at_least=4.0)
    assert (row.ours, row.peer, row.ratio, row.met()) == (500.0, 2000.0, 4.0, True)
    assert dataclasses.replace(row, at_least=5.0).met() is False
    assert Row("g", "n", "share", 0.2, at_most=0.15).met() is False
    assert Row("g", "n", "share", at_most=0.15, skipped="why").met() is None
    per_cell = against("g", "n", Timing(0.5, 0.6, 3), "peer", Timing(2.0, 2.5, 3), scale=1e3 / 10, peer_scale=1e3)
    assert per_cell.ratio == pytest.approx(40.0)


def test_table_and_json_hold_any_number():
    row = Row("g", "a | b", "s", math.inf, 1e-7, 12345.6, 1)
    assert row.as_json()["ours"] is None
    assert "a \\| b" in markdown([row], {}, {"device": "x"})
    assert entries(row)[3:5] == ("1.00e-07", "12,346")
    assert [number(value) for value in (None, 0.0, 0.15, 1.5, 99.96, 1e12)] == [
        "",
        "0.0000",
        "0.1500",
        "1.50",
        "100.0",
        "1.00e+12",
    ]
