"""The section on decisions: its numbers are those of `decisions`, and old folders have none."""

import dataclasses
import json

import numpy as np
import pytest
from experiment.made_folder import write_made
from report.html_pages import small_run

from airbayes.experiment.cells import Cell
from airbayes.experiment.decisions import decisions
from airbayes.experiment.prediction_files import read_predictions, write_predictions
from airbayes.experiment.strange_files import StrangeScores, write_strange
from airbayes.report.html.runs import read_run
from airbayes.report.html.sections import SECTIONS
from airbayes.report.html.sections.decisions import ENOUGH, decisions_section
from airbayes.report.html.summary import summarise


def test_curves_and_table_are_those_of_the_first_seed(tmp_path):
    folder = write_made(tmp_path / "made", 3, 2)
    section = decisions_section(read_run(folder))
    assert section is not None
    (figure,) = section.figures
    assert set(figure.frames) == {"0|0", "0|1", "1|0", "1|1"}
    (panel,) = figure.frames["1|0"]
    assert {series["method"] for series in panel["series"]} == {"cd_dsgld:optimal", "q_dsgd"}
    cell = Cell("q_dsgd", None, "ring", 0.0, 3)
    record = decisions(read_predictions(folder)[cell])
    (curve,) = (series for series in panel["series"] if series["method"] == "q_dsgd")
    assert curve["y"][-1] == pytest.approx(1 - record["accuracy"], abs=1e-3)
    table, doubt = section.tables
    assert table.caption.startswith("full, 30\N{NO-BREAK SPACE}dB")
    assert any("tables stay at full, 30\N{NO-BREAK SPACE}dB" in note for note in section.notes)
    first = decisions(read_predictions(folder)[Cell("q_dsgd", None, "full", 30.0, 3)])
    row = next(row for row in table.rows if row[0].method == "q_dsgd")  # pyright: ignore[reportAttributeAccessIssue]
    assert row[1] == f"{first['risk_coverage']['aurc']:.3f}"
    (means,) = (row[1:] for row in doubt.rows if row[0].method == "q_dsgd")  # pyright: ignore[reportAttributeAccessIssue]
    doubts = first["uncertainty"]
    assert means[2:4] == tuple(f"{doubts['mutual_information'][which]:.3f}" for which in ("right", "wrong"))
    assert row[2] == "never"  # four validation objects promise nothing
    low, high = first["sets"]["lac"]["expected"]
    assert row[5] == f"{100 * first['sets']['lac']['coverage']:.1f} % ({100 * low:.0f} to {100 * high:.0f} %)"
    assert min(curve["x"]) == pytest.approx(min(0.5, ENOUGH / record["objects"]["test"]), abs=1e-3)
    assert len(curve["x"]) > 1  # a curve also of the five test objects here
    assert "NaN" not in json.dumps(figure.spec(), allow_nan=False)
    assert decisions_section in SECTIONS
    asks = "airbayes decide RUN --strange FILE"
    assert any(asks in note for note in section.notes)
    write_strange(
        folder, {"sign": 5}, {Cell("q_dsgd", None, "full", 30.0, 3): StrangeScores(np.zeros((5, 4)), np.ones((5, 5)))}
    )
    section = decisions_section(read_run(folder))
    assert section is not None
    assert not any(asks in note for note in section.notes)  # asked and answered


def test_the_minute_on_top_says_whether_it_may_answer_alone(tmp_path):
    run = read_run(write_made(tmp_path / "made", 3, 2))
    for record in run.decisions.values():
        record["threshold"]["least_error"] = 0.1301
    said = " ".join(summarise(run).findings)
    assert "answer alone (full, 30\N{NO-BREAK SPACE}dB, first seed, agent 0)? No, at most 5 % wrong answers" in said
    assert "validation instances; 5 % needs 92 even without an error; at most 14 %" in said
    assert "; at most 14 % wrong answers can be promised (`airbayes decide RUN --max-error 0.14`)." in said
    assert "90 % were wanted" in said
    assert "Agent 0 is right in" not in said  # the agents are alike
    for record in run.decisions.values():
        record["accuracy"], record["accuracy_of_agents"] = 0.8, (0.37, 0.81)
    assert " Agent 0 is right in 80 % of cases, the agents in 37 to 81 %." in " ".join(summarise(run).findings)
    assert not any("answer alone" in each for each in summarise(small_run()).findings)


def test_page_and_command_speak_of_the_same_model(tmp_path):
    """`decide` takes the full graph wherever it stands in the configuration; so do the minute and the tables."""
    run = read_run(write_made(tmp_path / "made", 3, 2))
    turned = dataclasses.replace(run, dataset=run.dataset.isel(topology=slice(None, None, -1)))
    assert turned.topologies[0] == "ring"
    assert "answer alone (full, 30" in " ".join(summarise(turned).findings)
    section = decisions_section(turned)
    assert section is not None
    assert section.figures[0].controls[0].start == 1
    assert section.tables[0].caption.startswith("full, 30")


def test_runs_without_predictions_have_no_such_section():
    assert decisions_section(small_run()) is None


def test_predictions_that_are_no_numbers_cost_the_section_and_not_the_page(tmp_path):
    folder = write_made(tmp_path / "made", 3, 1)
    assert decisions_section(read_run(folder)) is not None
    broken = {}
    for cell, each in read_predictions(folder).items():
        nothing = np.full_like(each.test.probabilities, np.nan)
        broken[cell] = dataclasses.replace(each, test=dataclasses.replace(each.test, probabilities=nothing))
    write_predictions(folder, broken)
    assert decisions_section(read_run(folder)) is None
