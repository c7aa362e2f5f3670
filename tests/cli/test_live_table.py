"""The live table and the lines: what they show, that they fit, and that estimates are right for a steady run."""

import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from airbayes.cli.json_events import JsonReporter
from airbayes.cli.live_table import LiveTable, choose_rows, clock, number_range, window
from airbayes.cli.progress import LineReporter, make_reporter
from airbayes.cli.run import _loading
from airbayes.cli.run_state import RunState
from airbayes.cli.sweep_table import show_sweep
from airbayes.experiment.cells import enumerate_cells, group_by_variant
from airbayes.experiment.config import (
    ChannelConfig,
    ExperimentConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.engines.sweep import Sweep
from airbayes.experiment.engines.units import Unit
from airbayes.experiment.problem import Metrics
from airbayes.experiment.reporter import Reporter
from airbayes.experiment.results import CellResult, Divergence

CONFIG = ExperimentConfig(
    name="shown",
    methods=("dsgld", "cd_dsgld"),
    policies=("common",),
    seeds=2,
    problem=ProblemConfig(kind="softmax"),
    network=NetworkConfig(topologies=("full", "ring")),
    channel=ChannelConfig(snr_db=(0.0, 20.0)),
    sampling=SamplingConfig(steps=100, burn_in=50),
)
CELLS = enumerate_cells(CONFIG)  # 4 of dsgld, 8 of cd_dsgld
GROUPS = group_by_variant(CELLS)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def values(cells, mean_accuracy=0.7):
    return {
        "rms": np.full(len(cells), 0.5),
        "sample_accuracy": np.full(len(cells), 0.4),
        "sample_ece": np.full(len(cells), 0.3),
        "mean_accuracy": np.linspace(0.2, mean_accuracy, len(cells)),
        "mean_ece": np.full(len(cells), 0.1),
    }


def half_way(state: Reporter, *others, clock: Clock | None = None):
    """dsgld finished in 10 s, one cell diverged; cd_dsgld at step 40 after 8 s more."""
    told = [state, *others]
    first, second = GROUPS["dsgld"], GROUPS["cd_dsgld:common"]
    clock = clock or Clock()

    def tell(name, *args):
        for each in told:
            getattr(each, name)(*args)

    tell("begin", "dsgld", first, 100)
    tell("compiled", "dsgld", 1.5)
    clock.now += 10
    tell("snapshot", first, 100, values(first), np.array([False, False, False, True]))
    tell("advance", first, 100)
    done = [CellResult(cell, Metrics({"accuracy": 0.75, "ece": 0.05, "rms": 0.5}), {}) for cell in first[:3]]
    tell("finish", "dsgld", [*done, CellResult(first[3], None, {}, Divergence(7, 2, np.zeros((1, 1))))])
    tell("begin", "cd_dsgld:common", second, 100)
    tell("compiled", "cd_dsgld:common", 1.5)
    clock.now += 8
    tell("snapshot", second, 40, values(second), np.zeros(8, bool))
    tell("advance", second, 40)


def shown(state: RunState, width: int, height: int, colour: bool = False) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, height=height, force_terminal=colour, no_color=not colour)
    console.print(LiveTable(state))
    return stream.getvalue().splitlines()


def test_rates_and_estimates_of_a_steady_run():
    now = Clock()
    state = RunState(CONFIG, CELLS, now)
    assert math.isnan(state.eta_s())
    half_way(state, clock=now)
    assert state.rate() == pytest.approx(40 / 8)
    assert state.batch_eta_s() == pytest.approx(60 / 5)
    assert state.eta_s() == pytest.approx(12)
    assert state.done_share == pytest.approx((4 * 100 + 8 * 40) / 1200)
    state.advance(GROUPS["cd_dsgld:common"], 100)
    assert state.eta_s() == pytest.approx(0)


def test_methods_that_have_not_run_are_taken_to_be_as_slow_as_the_others():
    now = Clock()
    state = RunState(CONFIG, CELLS, now)
    state.begin("dsgld", GROUPS["dsgld"], 100)
    state.compiled("dsgld", 0.0)
    now.now += 10
    state.advance(GROUPS["dsgld"], 100)
    assert state.eta_s() == pytest.approx(20)  # eight cells after four that took ten seconds


def test_a_batch_is_done_when_the_next_one_is_compiled():
    state = RunState(CONFIG, CELLS)
    first, second = GROUPS["dsgld"][:2], GROUPS["dsgld"][2:]
    state.begin("dsgld", GROUPS["dsgld"], 100)
    state.compiled("dsgld", 0.0)
    state.advance(first, 100)
    assert state.cells[first[0]].status == "running"  # its results are being computed
    state.compiled("dsgld", 0.0)
    state.advance(second, 50)
    assert [state.cells[cell].status for cell in GROUPS["dsgld"]] == ["done", "done", "running", "running"]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_live_table_on_a_terminal_and_lines_elsewhere(terminal, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    console = Console(file=stream, width=90, height=30, force_terminal=terminal)
    with make_reporter(console, CONFIG, tmp_path) as reporter:
        half_way(reporter)
    text = stream.getvalue()
    assert ("cells done" in text) == terminal
    assert ("dsgld: 4 cells, 100 steps" in text) != terminal
    assert (text.count("\x1b[?25l"), text.count("\x1b[?25h")) == ((1, 1) if terminal else (0, 0))  # the cursor is back
    assert len((tmp_path / "events.jsonl").read_text().splitlines()) == 4 + 4 + 8


def test_a_terminal_that_cannot_draw_gets_lines(monkeypatch, capsys):
    """A run and a sweep; the first line too, which elsewhere is drawn over."""
    monkeypatch.setenv("TERM", "dumb")
    console = Console(stderr=True, force_terminal=True, width=120)
    with _loading(CONFIG, console), show_sweep(console) as show:
        Sweep([Unit(0, (0,), "dsgld")], 0, 100, show)
    assert capsys.readouterr().err == (
        "shown: loading JAX and checking the configuration ...\n"
        "units: 1 queued, 0 running, 0 done, 0 failed, 0 resumed; time left: not known yet\n"
    )


def test_a_run_that_goes_on_is_timed_from_where_it_stood():
    now = Clock()
    state = RunState(CONFIG, CELLS, now)
    cells = GROUPS["dsgld"]
    state.begin("dsgld", cells, 100)
    state.compiled("dsgld", 0.0)
    state.resumed(cells, 60)
    now.now += 4
    state.advance(cells, 80)
    assert state.rate() == pytest.approx(5)
    assert state.batch_eta_s() == pytest.approx(4)


def test_one_row_a_cell_and_the_numbers_that_count():
    state = RunState(CONFIG, CELLS)
    half_way(state)
    text = shown(state, 100, 40)
    assert "4 of 12 cells done, 1 diverged" in text[0]
    rows = [line.split() for line in text if line.startswith(("dsgld", "cd_dsgld"))]
    assert len(rows) == 12
    assert rows[0] == ["dsgld", "full", "0", "done", "0.750", "0.050", "0.500"]
    assert rows[3][:4] == ["dsgld", "ring", "1", "diverged"]
    # Before burn-in a sampler is judged by its current sample, not by a mean over nothing.
    assert rows[4][:8] == ["cd_dsgld:common", "full", "0", "dB", "0", "40", "%", "0.400"]
    state.snapshot(GROUPS["cd_dsgld:common"], 60, values(range(8)), np.zeros(8, bool))
    assert state.cells[GROUPS["cd_dsgld:common"][-1]].numbers["accuracy"] == 0.7


@pytest.mark.parametrize(("height", "rows"), [(40, 12), (13, 6), (11, 4), (8, 2)])
def test_fewer_rows_where_the_terminal_is_low(height, rows):
    state = RunState(CONFIG, CELLS)
    half_way(state)
    found = choose_rows(state, height - 6)
    assert len(found) == rows
    assert sum(len(row.cells) for row in found) == 12
    assert len(shown(state, 100, height)) <= height


def test_a_window_stays_at_the_row_at_work():
    state = RunState(CONFIG, CELLS)
    half_way(state)
    rows = choose_rows(state, 100)
    assert window(rows, 12) == (rows, 0)
    part, hidden = window(rows, 4)
    assert (len(part), hidden) == (3, 9)
    assert any(row.status == "running" for row in part)


@pytest.mark.parametrize("width", [200, 100, 80, 60, 40, 25, 12])
def test_no_line_is_wider_than_the_terminal(width):
    state = RunState(CONFIG, CELLS)
    half_way(state)
    text = shown(state, width, 24)
    assert max(map(len, text)) <= width
    assert len(text) <= 24
    if width >= 80:
        assert "steps/s" in text[1]
        assert not any("…" in line for line in text)
    if width >= 40:
        assert any("40 %" in line for line in text)


def test_colours_only_where_wanted(monkeypatch):
    state = RunState(CONFIG, CELLS)
    half_way(state)
    assert "\x1b[" in "".join(shown(state, 80, 24, colour=True))
    monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    Console(file=stream, width=80, height=24, force_terminal=True).print(LiveTable(state))
    assert not any(code in stream.getvalue() for code in ("\x1b[3", "\x1b[1;3"))  # 30 to 37 are colours


def test_plain_lines_and_verbose_ones():
    for verbose, count in ((False, 0), (True, 12)):
        stream = io.StringIO()
        state = RunState(CONFIG, CELLS)
        half_way(state, LineReporter(Console(file=stream, width=120), state, verbose=verbose))
        text = stream.getvalue()
        assert "dsgld: 3 cells ok, 1 diverged in " in text
        assert "dsgld ring ideal seed 1: agent 2 diverged at step 7" in text
        assert text.count(": step ") == count
        assert "\x1b" not in text


def test_lines_say_how_long_the_batch_and_all_of_it_take(monkeypatch):
    monkeypatch.setattr("airbayes.cli.progress.LINE_EVERY", -1.0)
    out, now = io.StringIO(), Clock()
    state = RunState(CONFIG, CELLS, now)
    lines = LineReporter(Console(file=out, width=120), state)
    half_way(state, lines, clock=now)
    first, last = [line for line in out.getvalue().splitlines() if ": step " in line]
    assert first.startswith("dsgld: step 100 of 100, 10.0 steps/s, 0:00 left, 0:20 for all")
    assert last.startswith(
        "cd_dsgld:common: step 40 of 100, 5.00 steps/s, 0:12 left, accuracy 0.400"
    )  # nothing comes after it
    state = RunState(CONFIG, CELLS, now)
    lines = LineReporter(Console(file=out, width=120), state)
    cells = GROUPS["cd_dsgld:common"]
    for each in (state, lines):  # two of eight cells at a time
        each.begin("cd_dsgld:common", cells, 100)
        each.compiled("cd_dsgld:common", 0.0)
    now.now += 5
    for each in (state, lines):
        each.advance(cells[:2], 50)
    words = out.getvalue().splitlines()[-1]
    assert words.startswith("cd_dsgld:common: step 50 of 100 of 2 cells, 10.0 steps/s, 0:05 left, 0:55 for all")


def test_events_are_strict_json_lines():
    stream, now = io.StringIO(), Clock()
    state = RunState(CONFIG, CELLS, now)
    half_way(state, JsonReporter(state, stream), clock=now)
    events = [json.loads(line, parse_constant=pytest.fail) for line in stream.getvalue().splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds == ["begin", "compiled", "progress", "finish", "begin", "compiled", "progress"]
    assert events[3]["cells"][3]["status"] == "diverged"
    assert events[3]["cells"][0]["metrics"]["accuracy"] == 0.75
    last = events[-1]
    assert (last["step"], last["steps"], len(last["cells"])) == (40, 100, 8)
    assert (last["left_s"], last["left_all_s"]) == pytest.approx((12, 12))
    assert (events[2]["left_s"], events[2]["left_all_s"]) == pytest.approx((0, 20))
    assert last["cells"][0]["topology"] == "full"
    assert last["cells"][0]["metrics"]["mean_accuracy"] == pytest.approx(0.2)


def test_short_forms():
    assert [clock(s) for s in (0.0, 6.2, 750.0, 11_100.0, math.nan)] == ["0:00", "0:07", "12:30", "3:05:00", ""]
    assert [number_range(v) for v in ([], [0.5], [0.01, 0.2], [12.3, 4567.0])] == [
        "",
        "0.500",
        "0.010…0.200",
        "12.3…4,567",
    ]


def test_cells_that_failed_are_shown_and_not_waited_for():
    time = Clock()
    state = RunState(CONFIG, CELLS, time)
    out = io.StringIO()
    lines = LineReporter(Console(file=out, width=120), state)
    half_way(state, clock=time)
    left = state.eta_s()
    lost = GROUPS["cd_dsgld:common"]
    for each in (state, lines):
        each.failed(lost, "RuntimeError: out of memory\nin a kernel")
    assert "cd_dsgld:common: 8 cells failed: RuntimeError: out of memory; the others go on" in out.getvalue()
    assert left > 0
    assert not state.eta_s() > 0
    shown = io.StringIO()
    Console(file=shown, width=120, height=40).print(LiveTable(state))
    assert ", 8 failed" in shown.getvalue().splitlines()[0]
    assert [row.status for row in choose_rows(state, 40)].count("failed") == 8
