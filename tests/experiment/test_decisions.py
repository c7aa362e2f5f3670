"""The numbers of `decisions`: chosen on validation objects, measured on test objects, physical objects counted once."""

import dataclasses
import json
import re

import numpy as np
import pytest

from airbayes.errors import AirbayesError
from airbayes.experiment.cells import Cell
from airbayes.experiment.decisions import Promise, decisions, instead, one_view_each, why_never, write_decisions
from airbayes.experiment.prediction_files import CellPredictions, Part
from airbayes.metrics.selective import clopper_pearson_upper, threshold_for_risk


def made_part(count: int, seed: int, views: int = 1) -> Part:
    """A calibrated model of four classes: labels are drawn from its own probabilities."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(4, 0.15), count).astype(np.float32)
    labels = (probabilities.cumsum(axis=1) < rng.uniform(size=(count, 1))).sum(axis=1).clip(0, 3)
    information = rng.uniform(0, 0.01, count).astype(np.float32)
    group = (np.arange(count) // views).astype(np.int32)
    return Part(probabilities, labels.astype(np.int32), information, np.arange(count), group)


CELL = CellPredictions(made_part(1500, 0), made_part(800, 1))


def test_a_calibrated_model_keeps_its_promises_on_test_objects():
    """Measured shares lie within 5 standard errors of what calibration on 800 objects allows."""
    found = decisions(CELL, Promise(max_error=0.1, delta=0.1, coverage=0.9))
    threshold = found["threshold"]
    assert threshold["answers"] == "above"
    assert threshold["bound"] <= 0.1
    assert threshold["test_error"] < 0.1
    assert 0.4 < threshold["test_coverage"] < 0.95
    for kind, sets in found["sets"].items():
        low, high = sets["expected"]
        assert low < 0.9 < high
        assert low - 0.03 < sets["coverage"] < (1 if kind == "aps" else high + 0.03)
        assert sum(sets["share_of_size"]) == pytest.approx(1)
        sizes = sum(size * share for size, share in enumerate(sets["share_of_size"]))
        assert sets["mean_size"] == pytest.approx(sizes)
    assert found["sets"]["lac"]["mean_size"] < found["sets"]["aps"]["mean_size"]
    assert found["uncertainty"]["entropy"]["wrong"] > found["uncertainty"]["entropy"]["right"]
    curve = found["risk_coverage"]
    assert len(curve["risk"]) == len(curve["coverage"]) == 200
    assert curve["coverage"][-1] == 1
    assert curve["risk"][-1] == pytest.approx(1 - found["accuracy"])


def test_nothing_is_chosen_on_test_objects():
    other = decisions(CellPredictions(made_part(900, 7), CELL.validation))
    first = decisions(CELL)
    for name in ("value", "bound", "validation_answered", "validation_wrong"):
        assert other["threshold"][name] == first["threshold"][name]
    assert {k: v["quantile"] for k, v in other["sets"].items()} == {k: v["quantile"] for k, v in first["sets"].items()}
    assert other["accuracy"] != first["accuracy"]


def test_there_is_no_doubt_of_wrong_answers_where_none_is_wrong():
    test = made_part(40, 1)
    for labels, none, some in (
        (test.predicted, "wrong", "right"),
        ((test.predicted + 1) % test.probabilities.shape[1], "right", "wrong"),
    ):
        predictions = CellPredictions(dataclasses.replace(test, labels=labels), made_part(40, 2))
        for means in decisions(predictions)["uncertainty"].values():
            assert means[none] is None
            assert means[some] == means["all"]


def test_views_of_one_object_count_once():
    """Every object twenty times: what is promised must not look twenty times as well known."""
    few = made_part(60, 3)
    again = Part(**{f.name: np.repeat(getattr(few, f.name), 20, axis=0) for f in dataclasses.fields(few)})
    for field in dataclasses.fields(few):
        np.testing.assert_array_equal(getattr(one_view_each(again), field.name), getattr(few, field.name))
    one, many = decisions(CellPredictions(few, few)), decisions(CellPredictions(again, again))
    assert many["threshold"] == one["threshold"]
    for kind in ("lac", "aps"):  # the u of randomised APS are others
        for name in ("quantile", "expected", "coverage", "mean_size"):
            assert many["sets"][kind][name] == pytest.approx(one["sets"][kind][name])
    confidence, wrong = again.confidence.astype(float), again.predicted != again.labels
    careless = threshold_for_risk(confidence, wrong, 0.05, 0.1)  # the mutant: views taken for objects
    assert careless.value < np.inf
    assert one["threshold"]["answers"] == "never"


def test_views_are_drawn_and_weighed():
    part = made_part(90, 5, views=3)
    views = one_view_each(part)
    assert len(views) == 30
    assert len(set((views.index % 3).tolist())) == 3  # not always the first
    found = decisions(CellPredictions(part, made_part(500, 6)), Promise(max_error=0.5))
    assert found["objects"]["test_instances"] == 30
    assert found["threshold"]["answers"] == "always"
    assert found["threshold"]["test_error"] == pytest.approx(np.mean(part.predicted != part.labels))


def test_without_validation_objects_nothing_is_promised():
    found = decisions(dataclasses.replace(CELL, validation=None))
    assert found["threshold"] is None
    assert found["sets"] is None
    assert found["risk_coverage"]["aurc"] == decisions(CELL)["risk_coverage"]["aurc"]


def test_the_file_is_plain_json_also_where_numbers_are_infinite(tmp_path):
    few = CellPredictions(made_part(5, 0), made_part(5, 1))
    found = decisions(few)
    assert found["threshold"]["value"] is None
    assert found["sets"]["lac"]["quantile"] is None
    assert found["sets"]["lac"]["mean_size"] == 4
    path = write_decisions(tmp_path, ("a", "b", "c", "</script>"), {Cell("dsgd", None, "ring", None, 0): found})
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert content["cells"][0]["cell"]["method"] == "dsgd"
    assert content["class_names"][3] == "</script>"
    with pytest.raises(AirbayesError, match=r"--max-error 5"):
        Promise(max_error=5.0)
    assert clopper_pearson_upper(0, 5, 0.1 / 11) > 0.05


def test_never_says_which_of_the_two_it_is():
    assert why_never(32, 92, 0.05, None) == "32 validation instances; 5 % needs 92 even without an error"
    assert why_never(92, 92, 0.05, 0.1301) == (
        "too many errors on the 92 validation instances (5 % needs 92 even without an error); "
        "at most 14 % wrong answers can be promised (--max-error 0.14)"
    )


@pytest.mark.parametrize("count", [1, 2, 7, 60, 800])
def test_the_rate_that_is_offered_instead_is_promised_when_it_is_asked_for(count):
    cell = CellPredictions(CELL.test, made_part(count, 3))
    refused = decisions(cell, Promise(max_error=1e-4))["threshold"]
    assert refused["answers"] == "never"
    said = re.search(r"--max-error ([\d.]+)", instead(refused["least_error"]))
    assert (said is None) == (refused["least_error"] is None)
    if said:
        rate = float(said[1])
        assert refused["least_error"] <= rate < 1
        assert decisions(cell, Promise(max_error=rate))["threshold"]["answers"] != "never"
