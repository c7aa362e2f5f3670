"""Every verdict of every claim, on results whose differences are known."""

import io
import json

import numpy as np
import pytest
from report.made_results import diverge, drop_runs, made_results, set_accuracy
from rich.console import Console

from airbayes.errors import ResultsError
from airbayes.report.chance import num_classes
from airbayes.report.claims import band_snrs, claims_table, combine, missing_for_claims, write_claims
from airbayes.report.claims_show import show_claims


def scored(dataset, gains="optimal"):
    return {record.claim: record for record in claims_table(dataset) if record.gains == gains}


def verdicts(dataset, gains="optimal"):
    return {name: record.verdict for name, record in scored(dataset, gains).items()}


BETTER = {"C1": "holds", "C2": "does not hold", "C3": "holds", "C4": "holds"}
WORSE = {"C1": "does not hold", "C2": "holds", "C3": "does not hold", "C4": "does not hold"}


def test_a_method_that_is_better_everywhere_and_one_that_is_worse():
    assert verdicts(made_results((0.8, 0.7), (0.05, 0.15))) == BETTER
    assert verdicts(made_results((0.7, 0.8), (0.15, 0.05))) == WORSE


def test_the_paper_as_it_claims():
    """Worse at low SNR on star and ring, better elsewhere."""
    dataset = made_results((0.8, 0.7), (0.05, 0.15))
    for graph in ("star", "ring"):
        for snr in (0.0, 5.0):
            set_accuracy(dataset, "cd_dsgld:optimal", 0.5, topology=graph, snr_db=snr)
    assert verdicts(dataset) == dict.fromkeys(BETTER, "holds")


def test_no_difference_is_undecided():
    assert verdicts(made_results((0.8, 0.8), (0.05, 0.05))) == dict.fromkeys(BETTER, "undecided")


def test_effects_are_the_known_differences():
    record = scored(made_results((0.8, 0.7), (0.05, 0.15)))["C1"]
    assert [effect.topology for effect in record.effects] == ["full", "star", "ring"]
    for effect in record.effects:
        assert effect.difference == pytest.approx(-0.10, abs=1e-6)
        assert (effect.cd_mean, effect.q_mean) == pytest.approx((0.05, 0.15), abs=1e-6)
        assert effect.low is not None
        assert effect.high is not None
        assert -0.11 <= effect.low < -0.10 < effect.high <= -0.09
        assert (effect.seeds, effect.seeds_total, effect.snr_db) == (8, 8, (25.0, 30.0))
        assert effect.leans == "for"


def test_pairing_by_seed_decides():
    """The seeds differ by ±0.2 in both methods, the methods by 0.1: unpaired, the interval would include 0."""
    dataset = made_results((0.8, 0.7))
    assert float(dataset.accuracy.loc[{"method": "cd_dsgld:optimal"}].std()) > 0.1
    assert verdicts(dataset)["C3"] == "holds"
    shuffled = dataset.copy(deep=True)
    order = np.random.default_rng(1).permutation(8)
    shuffled["accuracy"].loc[{"method": "q_dsgd"}] = dataset.accuracy.loc[{"method": "q_dsgd"}].isel(seed=order).values
    assert verdicts(shuffled)["C3"] == "undecided"


def test_the_band_is_averaged_per_seed():
    """+0.3 at 25 dB and −0.1 at 30 dB: the band's mean is +0.1 in every seed."""
    dataset = made_results((0.7, 0.7), spread=0.0)
    set_accuracy(dataset, "cd_dsgld:optimal", 1.0, snr_db=25.0)
    set_accuracy(dataset, "cd_dsgld:optimal", 0.6, snr_db=30.0)
    record = scored(dataset)["C3"]
    assert record.verdict == "holds"
    assert [effect.difference for effect in record.effects] == pytest.approx([0.1] * 3, abs=1e-6)


def test_one_graph_against_a_claim_settles_it_and_one_undecided_leaves_it_open():
    dataset = made_results((0.8, 0.7))
    set_accuracy(dataset, "cd_dsgld:optimal", 0.3, topology="ring")
    assert verdicts(dataset)["C3"] == "does not hold"
    level = made_results((0.8, 0.7))
    level["accuracy"].loc[{"method": "cd_dsgld:optimal", "topology": "ring"}] = level.accuracy.loc[
        {"method": "q_dsgd", "topology": "ring"}
    ].values
    record = scored(level)["C3"]
    assert record.verdict == "undecided"
    assert [effect.verdict for effect in record.effects] == ["holds", "holds", "undecided"]


def test_c2_looks_at_star_and_ring_only():
    dataset = made_results((0.6, 0.7))
    set_accuracy(dataset, "cd_dsgld:optimal", 0.95, topology="full")
    assert verdicts(dataset)["C2"] == "holds"


def test_each_power_policy_is_scored_by_itself():
    dataset = made_results((0.8, 0.7), gains=("optimal", "common"))
    set_accuracy(dataset, "cd_dsgld:common", 0.32)
    assert verdicts(dataset, "optimal")["C3"] == "holds"
    assert verdicts(dataset, "common")["C3"] == "does not hold"
    assert [record.gains for record in claims_table(dataset)] == ["optimal"] * 4 + ["common"] * 4


# Collapsed and diverged runs


def test_a_collapsed_model_does_not_win_by_its_calibration():
    dataset = made_results((0.8, 0.7))
    set_accuracy(dataset, "cd_dsgld:optimal", 1 / 6)
    record = scored(dataset)["C1"]
    assert record.verdict == "vacuous"
    assert all((effect.seeds, effect.vacuous, effect.runs) == (0, 16, 16) for effect in record.effects)
    assert "16 of 16 runs on ring (25, 30 dB)" in " ".join(record.reasons)
    assert verdicts(dataset)["C4"] == "does not hold"  # its accuracy loses


@pytest.mark.parametrize("method", ["cd_dsgld:optimal", "q_dsgd"])
@pytest.mark.parametrize(("accuracy", "verdict"), [(0.299, "vacuous"), (0.301, "holds")])
def test_both_methods_must_exceed_the_accuracy(method, accuracy, verdict):
    dataset = made_results()
    set_accuracy(dataset, method, accuracy)
    assert verdicts(dataset)["C1"] == verdict


def test_with_few_classes_the_accuracy_must_also_be_above_chance():
    dataset = made_results()
    dataset.attrs["num_classes"] = 3
    set_accuracy(dataset, "q_dsgd", 0.40)
    assert verdicts(dataset)["C1"] == "vacuous"


def test_a_vacuous_graph_leaves_the_claim_open():
    dataset = made_results()
    set_accuracy(dataset, "cd_dsgld:optimal", 0.2, topology="ring")
    record = scored(dataset)["C1"]
    assert [effect.verdict for effect in record.effects] == ["holds", "holds", "vacuous"]
    assert record.verdict == "undecided"


def test_vacuous_runs_leave_seeds_out_of_the_calibration_only():
    dataset = made_results(seeds=9)
    set_accuracy(dataset, "cd_dsgld:optimal", 0.2, seed=0, topology="ring", snr_db=25.0)
    effect = scored(dataset)["C1"].effects[2]
    assert (effect.seeds, effect.vacuous, effect.vacuous_snr_db) == (9, 1, (25.0,))
    set_accuracy(dataset, "cd_dsgld:optimal", 0.2, seed=[0, 1], topology="ring")
    effect = scored(dataset)["C1"].effects[2]
    assert (effect.seeds, effect.seeds_total, effect.verdict) == (7, 9, "undecided")
    assert scored(dataset)["C3"].effects[2].seeds == 9


def test_diverged_runs_count_as_chance():
    """Half of the seeds at 1/6, half at 0.8 or so, against 0.7: dropped they would make the claim hold."""
    dataset = made_results((0.8, 0.7), seeds=16, spread=0.0)
    diverge(dataset, "cd_dsgld:optimal", topology="ring", seed=list(range(8)))
    record = scored(dataset)["C3"]
    ring = record.effects[2]
    assert ring.difference == pytest.approx((0.8 + 1 / 6) / 2 - 0.7, abs=1e-6)
    assert (ring.cd_diverged, ring.q_diverged, ring.seeds) == (16, 0, 16)
    assert ring.verdict == "does not hold"
    assert "CD-DSGLD diverged in 16 runs on ring" in " ".join(record.reasons)
    # Their calibration is not scored: the other eight seeds are.
    calibration = scored(dataset)["C1"].effects[2]
    assert (calibration.seeds, calibration.vacuous, calibration.verdict) == (8, 16, "holds")


def test_diverged_q_dsgd_counts_as_chance_too():
    dataset = made_results((0.5, 0.7), spread=0.0)
    diverge(dataset, "q_dsgd", topology="full")
    effect = scored(dataset)["C3"].effects[0]
    assert (effect.difference, effect.q_diverged) == (pytest.approx(0.5 - 1 / 6, abs=1e-6), 16)
    assert scored(dataset)["C1"].effects[0].verdict == "vacuous"


def test_chance_of_two_classes_does_not_score_the_calibration_of_diverged_runs():
    dataset = made_results((0.95, 0.9), spread=0.0)
    dataset.attrs["num_classes"] = 2
    diverge(dataset, "cd_dsgld:optimal")
    assert verdicts(dataset)["C1"] == "vacuous"


# C4: every point of the axis


def test_c4_needs_every_point_of_the_axis():
    dataset = made_results()
    record = scored(dataset)["C4"]
    assert record.verdict == "holds"
    assert [effect.snr_db for effect in record.effects if effect.metric == "ece"] == [
        (s,) for s in (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0)
    ]
    set_accuracy(dataset, "cd_dsgld:optimal", 0.32, topology="full", snr_db=15.0)
    assert verdicts(dataset)["C4"] == "does not hold"


def test_c4_leaves_vacuous_points_out_of_the_calibration_half():
    """At 0 dB Q-DSGD collapses: CD-DSGLD wins on accuracy there and nothing is said of calibration."""
    dataset = made_results()
    set_accuracy(dataset, "q_dsgd", 1 / 6, topology="full", snr_db=0.0)
    record = scored(dataset)["C4"]
    assert record.verdict == "holds"
    assert [effect.verdict for effect in record.effects if effect.metric == "ece"] == ["vacuous"] + ["holds"] * 6
    assert "8 of 56 runs on full (0 dB)" in " ".join(record.reasons)
    set_accuracy(dataset, "q_dsgd", 1 / 6, topology="full")
    assert verdicts(dataset)["C4"] == "undecided"  # nothing at all is known of calibration


def test_c4_stays_within_the_axis_of_the_figure():
    dataset = made_results(snrs=(-10.0, 0.0, 15.0, 30.0, 40.0))
    for snr in (-10.0, 40.0):
        set_accuracy(dataset, "cd_dsgld:optimal", 0.1, snr_db=snr)
    assert verdicts(dataset)["C4"] == "holds"
    assert verdicts(dataset)["C3"] == "holds"


# Studies that are smaller than the paper's


def test_few_seeds_show_size_and_direction_but_no_verdict():
    for seeds in (1, 2, 7):
        record = scored(made_results(seeds=seeds))["C3"]
        assert record.verdict == "undecided"
        assert "a verdict needs 8" in " ".join(record.reasons)
        for effect in record.effects:
            assert effect.difference == pytest.approx(0.1, abs=1e-6)
            assert effect.leans == "for"
            assert (effect.low is None) == (seeds == 1)
    assert scored(made_results(seeds=8))["C3"].reasons == ()


def test_only_seeds_of_both_methods_count():
    dataset = made_results(seeds=9)
    drop_runs(dataset, "q_dsgd", seed=[0, 1])
    effect = scored(dataset)["C3"].effects[0]
    assert (effect.seeds, effect.seeds_total, effect.verdict) == (7, 9, "undecided")


def test_a_seed_counts_only_if_it_ran_at_every_snr_of_the_band():
    dataset = made_results(seeds=9)
    drop_runs(dataset, "cd_dsgld:optimal", seed=[0, 1], snr_db=25.0)
    for claim in ("C1", "C3"):
        effect = scored(dataset)[claim].effects[0]
        assert (effect.seeds, effect.runs, effect.vacuous) == (7, 14, 0)
        assert effect.difference is not None
        assert np.isfinite(effect.difference)


def test_the_small_study_uses_what_it_has():
    record = scored(made_results(snrs=(0.0, 10.0, 30.0)))
    assert {effect.snr_db for effect in record["C1"].effects} == {(30.0,)}
    assert {effect.snr_db for effect in record["C2"].effects} == {(0.0,)}
    assert len(record["C4"].effects) == 6


@pytest.mark.parametrize(
    ("band", "snrs", "used"),
    [
        ("low", (-10.0, 0.0, 5.0, 6.0), (0.0, 5.0)),
        ("low", (-10.0, 10.0), (-10.0,)),
        ("low", (10.0,), ()),
        ("high", (20.0, 25.0, 30.0, 40.0), (25.0, 30.0)),
        ("high", (20.0, 40.0), (40.0,)),
        ("whole", (-10.0, 0.0, 10.0, 30.0, 40.0), (0.0, 10.0, 30.0)),
        ("whole", (-5.0, 10.0, 35.0), (-5.0, 10.0, 35.0)),
        ("whole", (10.0, 30.0), ()),
    ],
)
def test_bands(band, snrs, used):
    assert band_snrs(band, snrs) == used


def test_missing_bands_and_graphs_are_not_measured():
    middle = made_results(snrs=(10.0, 20.0, float("inf")))
    assert verdicts(middle) == dict.fromkeys(BETTER, "not measured")
    assert "25 dB or more" in " ".join(scored(middle)["C1"].reasons)
    ring = scored(made_results(graphs=("ring", "grid")))
    assert [effect.verdict for effect in ring["C1"].effects] == ["not measured", "not measured", "holds"]
    assert ring["C1"].verdict == "undecided"
    assert ring["C1"].reasons == ("the study has no full graph", "the study has no star graph")
    assert ring["C4"].verdict == "not measured"


def test_missing_methods_are_named():
    with pytest.raises(ResultsError, match="lack q_dsgd"):
        claims_table(made_results().isel(method=[0]))
    with pytest.raises(ResultsError, match="cd_dsgld with gains optimal or common"):
        claims_table(made_results(gains=("truncated",)))
    with pytest.raises(ResultsError, match="lack the variable ece"):
        claims_table(made_results().drop_vars("ece"))
    with pytest.raises(ResultsError, match=r"lack a radio network without faults .* with nothing that fails\."):
        claims_table(made_results(graphs=("ring", "ring@gain_std=0.1")))
    with pytest.raises(ResultsError, match="lack a radio network without faults"):
        claims_table(made_results(graphs=("ring@gain_std=0.1",)))
    assert missing_for_claims(made_results()) == []


def test_scenarios_are_left_out_and_the_other_graphs_scored():
    graphs = ("full", "star", "ring", "ring@away=0.3")
    assert verdicts(made_results(graphs=graphs)) == verdicts(made_results(graphs=graphs[:3]))
    wholly = made_results(graphs=graphs)
    wholly.attrs["config_toml"] = (
        '[network]\ntopologies = ["full", "star", "ring", "ring@away=0.3"]\nlink_outage = 0.1\n'
        '[problem]\nkind = "softmax"\nclasses = 6\n'
    )
    with pytest.raises(ResultsError, match="lack a radio network without faults"):
        claims_table(wholly)


def test_number_of_classes():
    dataset = made_results()
    assert num_classes(dataset) == 6
    dataset.attrs = {"class_names": "car\nvan\nbus\nbike"}
    assert num_classes(dataset) == 4
    dataset.attrs = {"config_toml": '[problem]\nkind = "mlp"\nclasses = 3\n'}
    assert num_classes(dataset) == 3
    dataset.attrs = {"config_toml": '[problem]\nkind = "linear"\nclasses = 3\n'}
    with pytest.raises(ResultsError, match="num_classes"):
        num_classes(dataset)


def test_combine():
    assert combine(["holds", "holds"]) == "holds"
    assert combine(["holds", "undecided", "does not hold"]) == "does not hold"
    assert combine(["holds", "vacuous"]) == "undecided"
    assert combine(["not measured"]) == "not measured"


# What is shown and written


def shown(dataset, width=120) -> str:
    out = io.StringIO()
    show_claims(claims_table(dataset), Console(file=out, width=width, highlight=False))
    return out.getvalue()


def test_shown_in_words():
    dataset = made_results(gains=("optimal", "common"))
    diverge(dataset, "cd_dsgld:optimal", topology="ring", snr_db=30.0, seed=3)
    set_accuracy(dataset, "q_dsgd", 1 / 6, topology="full", snr_db=0.0)
    text = shown(dataset)
    assert "C1 at high SNR CD-DSGLD is better calibrated holds holds" in " ".join(text.split())
    assert "CD-DSGLD optimal against Q-DSGD" in text
    assert "CD-DSGLD common against Q-DSGD" in text
    assert "−0.100 [−0.1" in text
    assert "(1 div)" in text
    assert "C4: ECE vacuous at 0 dB; holds at 5, 10, 15, 20, 25, 30 dB." in text
    assert "diverged in 1 run on ring" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_shown_for_one_seed_nothing_measured_and_a_narrow_terminal():
    text = shown(made_results(seeds=1))
    assert "undecided (for)" in text
    assert "C1, C2, C3, C4: only 1 seed scored; a verdict needs 8, sizes are shown." in text  # there is no interval
    assert "only 2 seeds scored; a verdict needs 8, sizes and intervals are shown." in shown(made_results(seeds=2))
    assert "not measured" in shown(made_results(snrs=(10.0,)))
    assert all(len(line) <= 60 for line in shown(made_results(), width=60).splitlines())


def test_balanced_accuracy_is_called_so(tmp_path):
    dataset = made_results()
    assert "balanced" not in shown(dataset)
    dataset["balanced_accuracy"] = dataset.accuracy
    text = shown(dataset)
    assert "balanced accuracy" in text
    assert "C4: balanced accuracy holds at 0, 5" in text
    assert all(len(line) <= 80 for line in shown(dataset, width=80).splitlines())
    write_claims(tmp_path, dataset, claims_table(dataset))
    (record, *_) = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert record["accuracy"] == "balanced_accuracy"
    assert {effect["metric"] for effect in record["effects"]} == {"ece"}


def test_written_as_json(tmp_path):
    dataset = made_results(seeds=1)
    diverge(dataset, "q_dsgd", topology="full")
    records = claims_table(dataset)
    write_claims(tmp_path, dataset, records)
    content = json.loads((tmp_path / "claims.json").read_text())
    assert content["rules"]["chance_accuracy"] == pytest.approx(1 / 6)
    assert [record["claim"] for record in content["claims"]] == ["C1", "C2", "C3", "C4"]
    assert content["claims"][0]["effects"][0] == {
        **content["claims"][0]["effects"][0],
        "topology": "full",
        "metric": "ece",
        "verdict": "vacuous",
        "difference": None,
        "q_diverged": 2,
    }
    assert [path.name for path in tmp_path.iterdir()] == ["claims.json"]
