"""What a journal keeps, passes over and refuses, without running anything."""

import json
from pathlib import Path

import numpy as np
import pytest
from experiment.made_folder import STUDY

from airbayes.errors import ResultsError
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import enumerate_cells
from airbayes.experiment.config import ExperimentConfig, SamplingConfig
from airbayes.experiment.journal import Journal
from airbayes.experiment.ready import prepare
from airbayes.experiment.store import prepare_folder
from airbayes.records import MANIFEST, _digest

CELLS = enumerate_cells(STUDY)[:2]


def saved(folder: Path, told: list[str]) -> Journal:
    journal = Journal(folder, tell=told.append)
    assert not journal.begin(STUDY)
    for step in (200, 400, 600, 800, 1000):
        journal.save(CELLS, step, {"theta": np.full(3, step)}, [])
    return journal


def test_the_last_three_states_are_kept_and_a_bad_one_is_passed_over(tmp_path: Path):
    told: list[str] = []
    journal = saved(tmp_path, told)
    place = journal.place(CELLS)
    assert sorted(path.name for path in place.iterdir()) == ["step-000000600", "step-000000800", "step-000001000"]
    newest = place / "step-000001000" / "000.npy"
    newest.write_bytes(newest.read_bytes()[:-1])
    manifest = place / "step-000000800" / MANIFEST  # as a newer release would write it, with a right checksum
    content = json.loads(manifest.read_text()) | {"version": 2}
    del content["sha256"]
    manifest.write_text(json.dumps(content | {"sha256": _digest(content)}))
    found = journal.latest(CELLS)
    assert found is not None
    assert found.step == 600
    np.testing.assert_array_equal(found.leaves[0], np.full(3, 600))
    assert len(told) == 2
    assert "step-000001000" in told[0]
    assert "version 2; this airbayes reads version 1" in told[1]


def test_states_that_were_passed_over_do_not_crowd_out_new_ones(tmp_path: Path):
    told: list[str] = []
    journal = saved(tmp_path, told)
    place = journal.place(CELLS)
    for state in place.iterdir():
        (state / "000.npy").unlink()
    assert journal.latest(CELLS) is None
    assert len(told) == 3
    journal.save(CELLS, 200, {"theta": np.full(3, 200)}, [])  # from the start again
    journal.save(CELLS, 400, {"theta": np.full(3, 400)}, [])
    assert sorted(path.name for path in place.iterdir()) == ["step-000000200", "step-000000400"]
    found = journal.latest(CELLS)
    assert found is not None
    assert found.step == 400
    assert len(told) == 3


def test_a_state_that_does_not_fit_is_told_and_computed_again(tmp_path: Path):
    """As one that a release with other arrays in its state has left."""
    told: list[str] = []
    journal = Journal(tmp_path, tell=told.append)
    config = ExperimentConfig(methods=("dsgld",), sampling=SamplingConfig(steps=20, burn_in=10))
    cells = enumerate_cells(config)[:1]
    journal.begin(config)
    builder = Builder(config)
    journal.save(cells, 10, prepare(builder, cells).carry, [{"rms": np.zeros((1, 5))}])
    assert prepare(builder, cells, journal).begin == 10
    assert told == []
    journal.save(cells, 12, {"theta": np.zeros(3)}, [])
    assert prepare(builder, cells, journal).begin == 0
    assert told == ["The state of dsgld saved at step 12 has not the arrays of this release: 1 cell from step 0 again."]


def test_a_run_begun_by_a_newer_release_is_refused(tmp_path: Path):
    journal = saved(tmp_path, [])
    path = journal.folder / "begun" / MANIFEST
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(ResultsError, match=r"version 2.*--force"):
        journal.begin(STUDY)


def test_a_place_where_nobody_can_write_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "run", Path("/proc/nowhere/run")):  # root, too, is refused there
        with pytest.raises(ResultsError, match=r"Cannot write to .*--out"):
            prepare_folder(place, STUDY)
