"""Titles of figures: whole, and of nothing that is not shown."""

from pathlib import Path

import pytest

from airbayes.experiment.store import read_dataset
from airbayes.report.accuracy_figure import accuracy_figure
from airbayes.report.iterations_figure import iterations_figure

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("draw", [lambda dataset: accuracy_figure(dataset, {}), iterations_figure])
def test_a_title_is_not_cut_in_a_figure_of_one_graph(draw):
    figure = draw(read_dataset(RESULTS / "paper-real").sel(topology=["ring"]))
    title = figure.findobj(lambda artist: "standard deviation" in text(artist) or "thin:" in text(artist))[0]
    box = title.get_window_extent()
    assert box.x0 > 0
    assert box.x1 < figure.bbox.x1


def test_dashed_lines_are_explained_where_there_are_some():
    titles = [iterations_figure(read_dataset(RESULTS / name)).get_suptitle() for name in ("paper-real", "paper")]
    assert ["dashed" in title for title in titles] == [False, True]


def text(artist) -> str:
    return artist.get_text() if hasattr(artist, "get_text") else ""
