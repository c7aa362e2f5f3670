"""Titles of figures: whole, and of nothing that is not shown."""

from pathlib import Path

import numpy as np
import pytest

from airbayes.experiment.dataset import STATUS_CODES
from airbayes.experiment.store import read_dataset
from airbayes.report.accuracy_figure import accuracy_figure
from airbayes.report.iterations_figure import iterations_figure
from airbayes.report.style import LABELS

RADIOS = ("cd_dsgld:optimal", "cd_dsgld:common", "q_dsgd")
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


@pytest.mark.parametrize("draw", [lambda dataset: accuracy_figure(dataset, {}), iterations_figure])
def test_diverged_cells_are_counted_and_in_no_mean(draw):
    dataset = read_dataset(RESULTS / "paper")
    assert "diverged" not in draw(dataset).get_suptitle()
    dataset["status"] = dataset.status.copy()
    where = {"method": "q_dsgd", "topology": "ring", "snr_db": 30.0}
    dataset.status.loc[where | {"seed": 0}] = STATUS_CODES["diverged"]
    for name in ("accuracy_per_agent", "sample_accuracy_over_steps"):
        dataset[name] = dataset[name].copy()
    dataset.accuracy_per_agent.loc[where | {"seed": 0}] = np.nan  # it has no metrics, only its history
    dataset.sample_accuracy_over_steps.loc[where | {"seed": 0}] = -1e6
    figure = draw(dataset)
    assert "1 of 528 cells diverged and count in no mean" in figure.get_suptitle()
    drawn = [np.asarray(line.get_ydata(), float) for axes in figure.axes[:3] for line in axes.lines]
    assert min(np.nanmin(values) for values in drawn if len(values)) >= 0


def test_the_points_of_one_snr_stand_in_the_middle_beside_each_other():
    """The axis ran from the predicted transition, 9.61 dB, to the points at 10.00 dB on its edge."""
    dataset = read_dataset(RESULTS / "paper").sel(snr_db=[10.0, np.inf], topology=["ring"])
    figure = accuracy_figure(dataset, {"ring": 9.61})
    axes = figure.axes[0]
    low, high = axes.get_xlim()
    assert low < 7
    assert high > 12
    assert axes.get_xticks().tolist() == [10.0]
    far = accuracy_figure(dataset, {"ring": -3.42}).axes[-1]  # beyond the axis of any other graph
    assert [tick.get_text() for tick in far.get_xticklabels()] == ["10", "\N{MINUS SIGN}3.4"]
    names = [LABELS[name] for name in RADIOS]
    drawn = [np.asarray(line.get_xdata(), float)[0] for line in axes.lines if str(line.get_label()) in names]
    assert len(drawn) == len(set(drawn)) == len(RADIOS)
    assert "bars: ± standard deviation" in figure.get_suptitle()


@pytest.mark.parametrize("draw", [lambda dataset: accuracy_figure(dataset, {}), iterations_figure])
def test_a_long_name_of_a_graph_stays_over_its_column(draw):
    dataset = read_dataset(RESULTS / "paper").sel(topology=["star", "ring"])
    names = ["nets/a_very_long_name_of_a_network_on_the_factory_site_2026.csv", r"$\frac{.csv"]
    figure = draw(dataset.assign_coords(topology=names))
    figure.draw_without_rendering()
    first, second = (axes.title.get_window_extent() for axes in figure.axes[:2])
    assert first.x0 > 0
    assert first.x1 < second.x0


def text(artist) -> str:
    return artist.get_text() if hasattr(artist, "get_text") else ""
