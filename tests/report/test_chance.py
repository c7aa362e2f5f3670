"""Which runs guess: seed by seed, and by the accuracy that does not depend on what the test set holds most of."""

import pytest
from report.made_results import diverge, made_results, set_accuracy

from airbayes.report.accuracy_figure import accuracy_figure
from airbayes.report.chance import accuracy_name, collapse_floor, collapsed_runs


def test_a_seed_that_guesses_is_found_although_the_mean_is_high():
    dataset = made_results((0.8, 0.7), spread=0.001)
    set_accuracy(dataset, "q_dsgd", 0.17, topology="ring", snr_db=10.0, seed=3)
    found = collapsed_runs(dataset)
    assert int(found.sum()) == 1
    assert bool(found.sel({"method": "q_dsgd", "topology": "ring", "snr_db": 10.0, "seed": 3}))


def test_balanced_accuracy_decides_where_it_is_stored():
    dataset = made_results((0.8, 0.2), spread=0.001)
    assert accuracy_name(dataset) == "accuracy"
    assert collapsed_runs(dataset).sel({"method": "q_dsgd"}).all()
    dataset["balanced_accuracy"] = 0 * dataset.accuracy + 0.5
    assert accuracy_name(dataset) == "balanced_accuracy"
    assert not collapsed_runs(dataset).any()


def test_diverged_runs_do_not_guess():
    dataset = made_results((0.8, 0.2), spread=0.001)
    diverge(dataset, "q_dsgd")
    assert not collapsed_runs(dataset).any()


@pytest.mark.parametrize(("classes", "floor"), [(6, 0.30), (4, 0.35), (None, 0.30)])
def test_the_floor_lies_above_chance(classes, floor):
    dataset = made_results()
    dataset.attrs["num_classes"] = classes
    assert collapse_floor(dataset) == pytest.approx(floor)


def test_points_of_the_figure_are_hollow_if_one_seed_guesses():
    dataset = made_results((0.8, 0.7), spread=0.001)
    set_accuracy(dataset, "q_dsgd", 0.17, topology="ring", snr_db=10.0, seed=3)
    dataset["nll"] = dataset.accuracy
    for name in ("accuracy", "ece", "nll"):
        dataset[f"{name}_per_agent"] = dataset[name].expand_dims({"agent": 2}, -1)
    axes = accuracy_figure(dataset, {}).axes  # three rows of three graphs
    hollow = [line for each in axes for line in each.get_lines() if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata().tolist() for line in hollow] == [[10.0]]  # pyright: ignore[reportAttributeAccessIssue]
    assert hollow[0].axes is axes[5]  # ECE on the ring
