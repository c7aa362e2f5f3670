"""The section on strange objects: its curves and numbers, and what a damaged or missing folder costs."""

import dataclasses
import json
import re

import numpy as np
import pytest
from report.html_pages import HOSTILE, SCRIPT, small_run

from airbayes.experiment.cells import Cell
from airbayes.experiment.strange_files import SCORES, StrangeScores, write_strange
from airbayes.report.html import render_page
from airbayes.report.html.sections.strange import AT, _noticed, _spread, strange_section, strange_words

CELLS = (Cell("cd_dsgld", "common", "full", 30.0, 0), Cell("q_dsgd", None, "full", 30.0, 0))


def made_run(folder, classes=None, shift: float = 3.0):
    rng = np.random.default_rng(0)
    known, strange = rng.normal(size=(5, 200)), rng.normal(size=(5, 80))
    found = {cell: StrangeScores(known, strange + shift * index) for index, cell in enumerate(CELLS)}
    worse = dataclasses.replace(CELLS[1], snr_db=0.0)
    write_strange(folder, classes or {"sign": 80}, found | {worse: StrangeScores(known, strange - 9)})
    return dataclasses.replace(small_run(), folder=folder)


def test_curves_and_numbers_are_those_of_the_best_link(tmp_path):
    section = strange_section(made_run(tmp_path))
    assert section is not None
    (figure,) = section.figures
    assert set(figure.frames) == {str(index) for index in range(len(SCORES))}
    caught, *spread = figure.frames["1"]
    assert [series.get("method") for series in caught["series"]] == ["cd_dsgld:common", "q_dsgd", None]
    assert [panel["series"][1]["method"] for panel in spread] == ["cd_dsgld:common", "q_dsgd"]
    for panel in spread:
        assert all(sum(series["y"]) == pytest.approx(1, abs=0.02) for series in panel["series"])
    (table,) = section.tables
    rows = {row[0].method: str(row[2]) for row in table.rows}  # pyright: ignore[reportAttributeAccessIssue]
    assert float(rows["q_dsgd"].split()[0]) > 0.95  # 30 dB, not 0 dB
    assert float(rows["cd_dsgld:common"].split()[0]) == pytest.approx(0.5, abs=0.1)
    assert "sign (80); known: 200 test objects" in section.notes[0]
    several = dataclasses.replace(made_run(tmp_path), dataset=small_run().dataset.isel(seed=[0, 0]))
    section = strange_section(several)
    assert section is not None
    assert "at 30\N{NO-BREAK SPACE}dB, seed 0, agent 0" in section.notes[0]  # whose, where there are several
    assert "for CD-DSGLD common of seed 0, AUROC" in strange_words(several)
    single = dataclasses.replace(several, dataset=small_run().dataset.isel(seed=[0]))
    assert "for CD-DSGLD common, AUROC" in strange_words(single)
    assert "NaN" not in json.dumps(figure.spec(), allow_nan=False)


def test_brackets_of_a_table_stay_whole(tmp_path):
    """(49 %) was cut after its number."""
    assert re.search(r"<td[^>]*>(<span>)?0\.\d{3} \(\d+\u00a0%\)", render_page([made_run(tmp_path)]))


def test_the_curve_is_the_share_found_at_each_share_of_false_alarms():
    known, strange = np.arange(10.0), np.array([8.5, 9.5, 4.5, -1.0])
    found = dict(zip(AT.round(3), _noticed(known, strange), strict=True))
    assert found[0.0] == pytest.approx(0.25)  # above all known ones: 9.5 alone
    assert found[0.1] == pytest.approx(0.5)
    assert found[0.5] == pytest.approx(0.75)
    assert found[1.0] == 1.0
    same = np.zeros(7)
    np.testing.assert_allclose(_noticed(same, same), AT)  # equal scores tell nothing


def test_one_far_score_does_not_press_the_others_together():
    """Energies of a sampler lay in the last of 24 bins, for one object lay far below."""
    known = np.concatenate([[-250.0], np.linspace(-5, -1, 999)])
    strange = np.linspace(-4, 0, 1000)
    scores = StrangeScores(np.tile(known, (len(SCORES), 1)), np.tile(strange, (len(SCORES), 1)))
    panel = _spread("cd_dsgld:common", scores, 0)
    assert min(panel["series"][0]["x"]) > -6
    for series in panel["series"]:
        assert sum(series["y"]) == pytest.approx(1, abs=0.003)  # none is lost
        assert sum(share > 0 for share in series["y"]) > 15


def test_class_names_stay_text(tmp_path):
    text = render_page([made_run(tmp_path, {HOSTILE: 40, SCRIPT: 30, "`<b>`": 10})])
    assert "<img src=x" not in text
    assert "<code>&lt;b&gt;</code>" in text
    assert text.count("<script") == 2


def test_without_scores_there_is_no_section(tmp_path):
    assert strange_section(small_run()) is None
    run = made_run(tmp_path)
    assert strange_section(run) is not None
    next((tmp_path / "strange").glob("*.npz")).write_bytes(b"")
    assert strange_section(run) is None
