"""Tables and figures from results as they come: narrow terminals, diverged graphs."""

import dataclasses
import io

import numpy as np
import pytest
import xarray as xr
from report.html_pages import faulty_run, partly_faulty_run
from report.made_results import made_results, set_accuracy
from rich.console import Console

from airbayes.experiment.cells import Cell
from airbayes.experiment.config import ChannelConfig, ExperimentConfig
from airbayes.experiment.dataset import STATUS_CODES, to_dataset
from airbayes.experiment.problem import Metrics
from airbayes.experiment.results import CellResult, Divergence
from airbayes.report.files import show_tables, write_report_files
from airbayes.report.gaussian_figure import gaussian_figure
from airbayes.report.tables import cells_csv, law_tables, snr_tables

SNRS = tuple(float(snr) for snr in range(0, 41, 5))
CONFIG = ExperimentConfig(name="made-up", policies=("common",), evaluations=2, channel=ChannelConfig(snr_db=SNRS))


def result(method: str, topology: str, snr_db: float | None, value: float | None) -> CellResult:
    cell = Cell(method, "common" if method == "cd_dsgld" else None, topology, snr_db, 0)
    history = {"rms": np.ones((2, 5))}
    if value is None:
        return CellResult(cell, None, history, Divergence(7, 0, np.zeros((1, 1))))
    names = [f"{kind}_{who}" for kind in ("w2", "mean_error", "cov_error") for who in ("agent", "network")]
    arrays = {
        "sampled_mean": (("agent", "param"), np.zeros((5, 2))),
        "sampled_cov": (("agent", "param", "param2"), np.tile(np.eye(2), (5, 1, 1))),
        "posterior_mean": (("param",), np.zeros(2)),
        "posterior_cov": (("param", "param2"), np.eye(2)),
    }
    return CellResult(cell, Metrics(dict.fromkeys(names, value), {}, arrays), history)


@pytest.mark.parametrize(("rhat", "says"), [(1.3, "in 1 of 2 sampled cells (worst 1.30)"), (1.0, "")])
def test_chains_that_have_not_mixed_are_counted(rhat, says):
    ends = [result("dsgld", graph, None, 0.5) for graph in ("full", "star")]
    for each, value in zip(ends, (rhat, 1.01), strict=True):
        assert each.metrics is not None
        each.metrics.scalars["rhat"] = value
    out = io.StringIO()
    show_tables(to_dataset(CONFIG, ends), CONFIG, Console(file=out, width=200))
    assert says in out.getvalue()
    assert ("R-hat is above" in out.getvalue()) == bool(says)


@pytest.mark.parametrize(
    ("least", "most", "step", "says"),
    [
        (
            0.0,
            3.0,
            0.0,
            "learned alone in 1 of 2 cells (star): not one coordinate fits into a block of some agent, and so",
        ),
        (0.0, 3.0, 0.1, ""),
        (0.0, 0.0, 0.1, "learned alone in 1 of 2 cells (star): not one coordinate fits into a block of any agent."),
        (1.0, 3.0, 0.0, ""),
    ],
)
def test_one_silent_agent_stops_the_exchange_of_all_unless_the_consensus_step_is_given(least, most, step, says):
    ends = [result("q_dsgd", graph, 10.0, 0.5) for graph in ("full", "star")]
    for each, kept in zip(ends, ((1.0, 2.0), (least, most)), strict=True):
        assert each.metrics is not None
        each.metrics.scalars.update(kept_min=kept[0], kept_max=kept[1])
    config = dataclasses.replace(CONFIG, digital=dataclasses.replace(CONFIG.digital, consensus_step=step))
    out = io.StringIO()
    show_tables(to_dataset(config, ends), config, Console(file=out, width=400))
    assert says in out.getvalue()
    assert ("learned alone" in out.getvalue()) == bool(says)


def test_a_run_with_diverged_cells_says_what_to_do_and_never_to_take_a_larger_step():
    ends = [result("dsgld", "full", None, 0.5), result("dsgld", "ring", None, None)]
    assert ends[0].metrics is not None
    ends[0].metrics.scalars["rhat"] = 1.3
    out = io.StringIO()
    show_tables(to_dataset(CONFIG, ends), CONFIG, Console(file=out, width=400))
    assert "1 of 2 cells diverged" in out.getvalue()
    assert "Take more steps before" in out.getvalue()
    assert "larger step" not in out.getvalue()


@pytest.mark.parametrize(("method", "option"), [("dsgld", "--sampling.eta"), ("dsghmc", "--momentum.eta")])
def test_the_step_that_was_too_large_is_named(method, option):
    out = io.StringIO()
    ends = [result(method, "full", None, None), result(method, "star", None, 0.5)]
    show_tables(to_dataset(CONFIG, ends), CONFIG, Console(file=out, width=400))
    assert f"Take a smaller one ({option}), or --sampling.drift tamed." in out.getvalue()
    tamed = dataclasses.replace(CONFIG, sampling=dataclasses.replace(CONFIG.sampling, drift="tamed"))
    show_tables(to_dataset(CONFIG, ends), tamed, Console(file=out, width=400))
    assert f"Take a smaller one ({option}).\n" in out.getvalue()  # it has that drift


def test_graphs_outside_the_fault_scenarios_have_the_figures_of_other_runs(tmp_path):
    run, faults = partly_faulty_run(), faulty_run()
    names = write_report_files(run.dataset, run.config, tmp_path)
    assert {"faults.png", "fig2.png", "iterations.png"} <= set(names)
    assert {"fig2.png", "iterations.png"}.isdisjoint(write_report_files(faults.dataset, faults.config, tmp_path))


def test_a_scenario_whose_rate_is_zero_is_drawn(tmp_path):
    run = faulty_run()
    names = ["ring", "ring@link_outage=0", "star"]
    write_report_files(run.dataset.assign_coords(topology=names), run.config, tmp_path)
    assert (tmp_path / "faults.png").stat().st_size > 10_000


@pytest.fixture
def dataset():
    """The ring diverged everywhere; the others have W2 = 1 + SNR/1000."""
    results = [result("dsgld", graph, None, None if graph == "ring" else 0.5) for graph in ("full", "star", "ring")]
    results += [
        result("cd_dsgld", graph, snr, None if graph == "ring" else 1 + snr / 1000)
        for graph in ("full", "star", "ring")
        for snr in SNRS
    ]
    return to_dataset(CONFIG, results)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_value_is_cut_at_any_width(dataset, width):
    console = Console(width=width, record=True, file=io.StringIO())
    tables = snr_tables(dataset, "w2_agent", "W2", width)
    for table in tables:
        console.print(table)
    text = console.export_text()
    assert "…" not in text
    for snr in SNRS:
        assert f"{1 + snr / 1000:.3f}" in text
    assert text.count("diverged") == len(SNRS) + 1
    assert (len(tables) == 1) == (width >= 200)
    assert text.count("DSGLD ") - text.count("CD-DSGLD ") == 3, text  # beside `ideal`, and nowhere else


def test_an_ece_of_guesses_has_a_star():
    """The best number of the table was that of the worst model."""
    made = made_results((0.17, 0.7), (0.003, 0.15), seeds=1, graphs=("full",), snrs=(0.0, 30.0))
    set_accuracy(made, "cd_dsgld:optimal", 0.8, snr_db=30.0)
    out = io.StringIO()
    for metric in ("accuracy", "ece"):
        (table,) = snr_tables(made, metric, metric, 200)
        Console(file=out, width=200).print(table)
    assert out.getvalue().count("*0.003") == 1
    assert out.getvalue().count("*") == 2  # and the note
    assert "* a seed is near chance" in out.getvalue()


def test_a_negative_snr_has_a_minus(dataset):
    console = Console(width=200, record=True, file=io.StringIO())
    for table in snr_tables(dataset.assign_coords(snr_db=-dataset.snr_db), "w2_agent", "W2", 200):
        console.print(table)
    assert f"−{SNRS[-1]:g} dB" in console.export_text()


def test_no_number_of_the_exact_law_is_cut(dataset):
    """Of 0.0044 a terminal of 60 columns showed 0.00…"""
    names = ("w2_agent_predicted", "w2_network", "w2_network_predicted", "rhat", "ess")
    console = Console(width=60, record=True, file=io.StringIO())
    for table in law_tables(dataset.assign(dict.fromkeys(names, dataset.w2_agent * 0 + 0.0044)), 60):
        console.print(table)
    text = console.export_text()
    assert "…" not in text
    assert text.count("method  topology") == 2, text  # no name is broken: R-hat and ESS stand below
    assert text.count("0.0044") == 2 * 3  # the ring diverged


def test_a_figure_is_drawn_although_one_graph_diverged(dataset, tmp_path):
    figure = gaussian_figure(dataset, {"full": 16.0, "star": 21.0, "ring": 22.0})
    figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 10_000
    assert "10 of 30 cells diverged and count in no mean" in figure.get_suptitle()


def test_ellipses_are_of_the_first_seed_that_did_not_diverge(dataset):
    """A row of empty panels stood there."""
    later = dataset.assign_coords(seed=[3])
    lost = dataset.copy(deep=True)
    lost["status"] = lost.status.where(lost.status == 0, STATUS_CODES["diverged"])
    for name in ("posterior_mean", "posterior_cov", "sampled_mean", "sampled_cov"):
        lost[name] = lost[name] * np.nan
    both: xr.Dataset = xr.concat([lost, later], "seed")  # pyright: ignore[reportAssignmentType]
    figure = gaussian_figure(both, {})
    titles = [axes.get_title() for axes in figure.axes]
    assert sum("agent 0, seed 3, at 10 dB" in title for title in titles) == 2


def test_titles_of_ellipses_are_whole(dataset):
    figure = gaussian_figure(dataset.sel(topology=["full", "star"]).assign_coords(seed=[10]), {})
    figure.draw_without_rendering()
    boxes = [axes.title.get_window_extent() for axes in figure.axes if "seed" in axes.get_title()]
    assert len(boxes) == 2
    assert boxes[0].x1 < boxes[1].x0
    assert boxes[1].x1 < figure.bbox.x1


def test_csv_has_a_row_per_cell(dataset):
    lines = cells_csv(dataset).splitlines()
    assert len(lines) == 1 + 3 + 3 * len(SNRS)
    assert lines[0].startswith("method,topology,snr_db,seed,status,")
    assert sum(",diverged," in line for line in lines) == 1 + len(SNRS)
