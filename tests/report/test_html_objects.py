"""Stored predictions on the page: clouds of test objects, whose points are private unless simulated."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from report.html_pages import RESULTS, small_run

from airbayes.data.object_file import save_objects
from airbayes.experiment.cells import Cell
from airbayes.experiment.lidar_data import source_objects
from airbayes.experiment.prediction_files import CellPredictions, Part, write_predictions
from airbayes.experiment.run_source import checksum
from airbayes.report.html import Run
from airbayes.report.html.sections.objects import EACH, objects_section

VARIANT = Cell("cd_dsgld", "common", "full", 30.0, 0)
CLASSES = 6


def made_part(count: int, index: np.ndarray) -> Part:
    """Object i is class i mod 6, called so with growing confidence; every fifth is called the next class."""
    labels = np.arange(count) % CLASSES
    called = np.where(np.arange(count) % 5 == 4, (labels + 1) % CLASSES, labels)
    confidence = np.linspace(0.3, 0.99, count)
    probabilities = np.repeat(((1 - confidence) / (CLASSES - 1))[:, None], CLASSES, axis=1)
    probabilities[np.arange(count), called] = confidence
    return Part(
        probabilities.astype(np.float32),
        labels.astype(np.int32),
        np.full(count, 0.1, np.float32),
        index.astype(np.int64),
        np.arange(count, dtype=np.int32),
    )


@pytest.fixture
def simulated(tmp_path, monkeypatch) -> Run:
    """A tiny simulated study with stored predictions."""
    monkeypatch.setenv("AIRBAYES_CACHE", str(tmp_path / "cache"))
    run = small_run()
    lidar = dataclasses.replace(
        run.config.lidar, source="simulated", classes=(), per_class=1, test_per_class=3, validation_per_class=1
    )
    config = dataclasses.replace(run.config, lidar=lidar, network=dataclasses.replace(run.config.network, agents=1))
    objects = source_objects(config, 0)
    test = np.flatnonzero(objects.scene == "test")
    write_predictions(tmp_path, {VARIANT: CellPredictions(made_part(len(test), test), None)})
    return dataclasses.replace(run, config=config, folder=tmp_path)


def test_surest_and_least_sure_objects_with_their_own_points(simulated):
    section = objects_section(simulated)
    assert section is not None
    panels = section.figures[0].frames["0"]
    assert [panel["title"].partition(":")[0] for panel in panels] == [
        *["sure and right"] * EACH,
        *["sure and wrong"] * EACH,
        *["least sure"] * EACH,
    ]
    assert "99\u00a0% sure" in panels[0]["under"]
    assert panels[0]["probabilities"][0][2] is True
    assert "called" in panels[EACH]["under"]
    objects = source_objects(simulated.config, 0)
    last = int(np.flatnonzero(objects.scene == "test")[-1])  # the surest
    cloud = objects.cloud(last)
    drawn = np.array(panels[0]["points"]).reshape(-1, 3) / 100
    assert len(drawn) == min(len(cloud), 220)
    assert np.ptp(drawn[:, 2]) == pytest.approx(np.ptp(cloud[:, 2]), abs=0.3)


def test_points_of_a_set_are_drawn_only_when_asked_for(simulated, tmp_path):
    path: Path = tmp_path / "mine.npz"
    save_objects(path, source_objects(simulated.config, 0))
    lidar = dataclasses.replace(simulated.config.lidar, source=str(path))
    mine = dataclasses.replace(simulated, config=dataclasses.replace(simulated.config, lidar=lidar))
    assert objects_section(mine) is None
    assert objects_section(dataclasses.replace(mine, objects=True)) is not None
    assert objects_section(dataclasses.replace(simulated, objects=False)) is None


def test_a_set_that_changed_or_is_gone_is_not_shown_as_the_test_objects(simulated, tmp_path):
    path: Path = tmp_path / "mine.npz"
    objects = source_objects(simulated.config, 0)
    save_objects(path, objects)
    config = dataclasses.replace(
        simulated.config, lidar=dataclasses.replace(simulated.config.lidar, source="elsewhere/mine.npz")
    )
    dataset = simulated.dataset.assign_attrs(source_sha256=checksum(path))
    mine = dataclasses.replace(simulated, config=config, dataset=dataset, objects=True)
    (tmp_path / "elsewhere").mkdir()
    place = path.rename(tmp_path / "elsewhere" / "mine.npz")  # beside the results, seen from any folder
    section = objects_section(mine)
    assert section is not None
    assert section.figures
    moved = dataclasses.replace(objects, points=objects.points + np.float32(1))
    for change in (lambda: save_objects(place, moved), place.unlink):
        change()
        section = objects_section(mine)
        assert section is not None
        assert not section.figures
        assert "mine.npz, was not found, or has another checksum" in section.text
        assert "`airbayes report RUN --objects`" in section.text
    assert objects_section(dataclasses.replace(mine, objects=None)) is None  # nobody asked


def test_other_simulated_objects_are_not_shown_either(simulated):
    other = dataclasses.replace(simulated, dataset=simulated.dataset.assign_attrs(simulator_hash="0" * 64))
    section = objects_section(other)
    assert section is not None
    assert not section.figures
    assert "simulates others" in section.text


def test_without_predictions_there_are_none_and_who_asked_for_them_is_told():
    assert objects_section(small_run(RESULTS / "paper")) is None
    section = objects_section(dataclasses.replace(small_run(), objects=True))
    assert section is not None
    assert not section.figures
    assert "stores no predictions" in section.text
