"""What is in the page, without a browser."""

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from experiment.made_folder import STUDY, write_made
from report.html_pages import (
    HOSTILE,
    RESULTS,
    SCRIPT,
    SMALL,
    faulty_run,
    hostile_run,
    lost_run,
    partly_faulty_run,
    small_run,
)

from airbayes.experiment.dataset import STATUS_CODES
from airbayes.experiment.store import read_dataset
from airbayes.experiment.toml_io import load_config
from airbayes.network import grid, line, ring
from airbayes.report.html import make_run, render_page
from airbayes.report.html.compare import compare_section
from airbayes.report.html.findings import _linear_findings
from airbayes.report.html.glossary import MEANINGS
from airbayes.report.html.numbers import decibels, interval, units_kept, value_range
from airbayes.report.html.runs import read_run
from airbayes.report.html.sections.accuracy import accuracy_section, scores_section
from airbayes.report.html.sections.claims import claims_section
from airbayes.report.html.sections.communication import communication_section
from airbayes.report.html.sections.convergence import convergence_section
from airbayes.report.html.sections.faults import faults_section
from airbayes.report.html.sections.gaussian import gaussian_section, posterior_width, width_words
from airbayes.report.html.sections.mixing import mixing_section
from airbayes.report.html.sections.network import _layout, network_section
from airbayes.report.html.sections.power import power_section
from airbayes.report.html.sections.reliability import reliability_section
from airbayes.report.html.sections.setup import setup_section
from airbayes.report.html.sections.transition import crossing, crossing_words, transition_section
from airbayes.report.html.summary import _warnings, summarise
from airbayes.report.style import LABELS, short


class Page(HTMLParser):
    """Elements, scripts and texts of a page, as a browser reads it."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.words: list[str] = []
        self.open: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in self.inside:
            self.inside[tag].append("")
            self.open = tag

    def handle_endtag(self, tag):
        if tag == self.open:
            self.open = None

    def handle_data(self, data):
        if self.open:
            self.inside[self.open][-1] += data
        else:
            self.words.append(data)

    @property
    def figures(self) -> dict:
        return json.loads(self.inside["script"][0])

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.fixture(scope="module")
def small() -> Page:
    return Page(render_page([small_run()]))


def test_sections_of_a_classification_study(small):
    anchors = [attrs.get("id") for tag, attrs in small.tags if tag == "section"]
    wanted = ["accuracy", "claims", "reliability", "scores", "confusion", "network", "transition", "power"]
    assert [name for name in anchors if name] == [*wanted, "communication", "convergence", "mixing", "setup"]


def test_only_lines_that_are_drawn_are_explained():
    """Every method has a radio, and the objects it learned from are elsewhere: no dashed line, no predicted one."""
    accuracy, transition = accuracy_section(small_run()), transition_section(small_run())
    assert accuracy is not None
    assert transition is not None
    assert not any("ashed" in note or "otted" in note for note in accuracy.notes)
    assert "dotted" not in transition.text
    assert "predicted" not in transition.tables[0].head
    assert {len(row) for row in transition.tables[0].rows} == {len(transition.tables[0].head)}
    assert "No prediction from before" in transition.notes[1]

    simulated = small_run(RESULTS / "paper")
    accuracy, transition = accuracy_section(simulated), transition_section(simulated)
    assert accuracy is not None
    assert transition is not None
    assert "Dashed: ideal links, no radio. Dotted upright: the SNR below" in accuracy.notes[1]
    assert "The dotted line" in transition.text
    assert "predicted" in transition.tables[0].head


def one_snr(folder: Path, snr: float):
    run = make_run(folder, load_config(folder / "config.toml"), read_dataset(folder).sel(snr_db=[snr]))
    vars(run)["transitions"] = dict.fromkeys(run.topologies, snr + 2.7)
    return run


def test_a_single_snr_is_spoken_of_and_drawn_as_such():
    """It said "the further right" of one SNR and "bands" of bars, and the transition lay in the next panel."""
    run = one_snr(RESULTS / "paper", 20.0)
    section = accuracy_section(run)
    assert section is not None
    assert section.notes[0] == "Bars: 95 % interval of the mean over 8 seeds; faint dots: single seeds."
    assert "further right" not in section.text
    for panel in section.figures[0].frames[""]:
        first, last = panel["x"]["range"]
        assert panel["upright"][0]["x"] == pytest.approx(22.7)
        assert first < 20 < 22.7 < last
    reliability = reliability_section(run)
    assert reliability is not None
    (note,) = reliability.notes
    assert note.startswith("All agents and seeds together; accuracy and ECE are means")
    assert "SNR" not in note


def test_a_linear_run_at_one_snr_says_its_distance_once():
    run = one_snr(RESULTS / "paper", 20.0)
    run = dataclasses.replace(run, dataset=run.dataset.assign(w2_agent=run.dataset.ece))
    assert _linear_findings(run)[0].endswith("from the exact posterior at 20\u00a0dB.")


def test_a_linear_run_leaves_fault_scenarios_out_of_its_distances_as_its_table_does():
    run = partly_faulty_run()
    away = run.dataset.topology == "ring@away=0.5"
    run = dataclasses.replace(run, dataset=run.dataset.assign(w2_agent=run.dataset.ece.where(~away, 1e6)))
    found = _linear_findings(run)
    assert found[0].startswith("Outside the fault scenarios, CD-DSGLD")
    assert found == _linear_findings(dataclasses.replace(run, dataset=run.dataset.assign(w2_agent=run.dataset.ece)))


def test_a_linear_run_without_a_radio_says_its_distance_and_nothing_of_lines_it_lacks():
    """The minute was silent about it, and dashes, uprights and a consensus distance were explained where none was."""
    full = small_run(RESULTS / "paper")
    dataset = full.dataset.sel({"method": ["dsgld"], "snr_db": [np.inf]})
    dataset = dataset.assign(w2_agent=dataset.ece).drop_vars("disagreement_over_steps")
    config = dataclasses.replace(
        full.config, methods=("dsgld",), problem=dataclasses.replace(full.config.problem, kind="linear")
    )
    run = make_run(full.folder, config, dataset)
    assert _linear_findings(run)[0].startswith("Without a radio: DSGLD is 0.1")
    distance, convergence = gaussian_section(run), convergence_section(run)
    assert distance is not None
    assert convergence is not None
    assert not any(word in distance.text + " ".join(distance.notes) for word in ("Dashed", "upright"))
    assert "onsensus" not in convergence.text
    whole = convergence_section(full)
    assert whole is not None
    assert "consensus distance" in whole.text


def test_a_run_that_diverged_everywhere_says_what_to_try():
    run = small_run()
    status = run.dataset.status.where(run.dataset.status == 0, STATUS_CODES["diverged"])
    found = _warnings(dataclasses.replace(run, dataset=run.dataset.assign(status=status)))
    assert found[0].startswith("Every cell diverged")
    assert found[0].endswith("A smaller step (`sampling.eta`) keeps chains from it.")  # the drift is tamed already
    plain = dataclasses.replace(run.config, sampling=dataclasses.replace(run.config.sampling, drift="plain"))
    assert (
        'or `sampling.drift = "tamed"` keeps'
        in _warnings(dataclasses.replace(run, config=plain, dataset=run.dataset.assign(status=status)))[0]
    )
    assert not any("Read differences" in each or "no mean" in each for each in found)


def test_policies_of_one_law_are_not_a_comparison():
    run = small_run()
    (words,) = [words for words in _warnings(run) if "chance" in words]
    assert words.startswith("CD-DSGLD optimal and CD-DSGLD common are one sampler where every gain is 1 (")
    assert "(full, star, ring at 30\u00a0dB)" in words
    below = dataclasses.replace(run, dataset=run.dataset.sel(snr_db=[0.0]))
    alone = dataclasses.replace(run, dataset=run.dataset.drop_sel(method="cd_dsgld:optimal"))
    assert "chance" not in " ".join(_warnings(below) + _warnings(alone))


def test_bands_are_explained_where_there_are_some():
    run = small_run()
    section = power_section(run)
    assert section is not None
    panels = [panel for frame in section.figures[0].frames.values() for panel in frame]
    drawn = any("low" in series for panel in panels for series in panel["series"])
    assert drawn == ("bands reach" in section.notes[-1])
    run = dataclasses.replace(run, dataset=run.dataset.drop_vars("power_used_mean_per_agent", errors="ignore"))
    section = power_section(run)
    assert section is not None
    assert section.notes[-1] == ""


def test_gains_near_1_where_the_power_is_used_up_are_explained():
    """The model guessed at 0 dB, and the page drew a gain of 0.995 without a word."""
    run = small_run()
    alone = dataclasses.replace(run, dataset=run.dataset.drop_sel(method="cd_dsgld:optimal"))
    for each, explained in ((run, True), (alone, False)):
        power, network = power_section(each), network_section(each)
        assert power is not None
        assert network is not None
        assert any("shrink the model" in note for note in power.notes) == explained
        assert any("has shrunk" in note for note in network.notes) == explained


def test_the_axis_of_r_hat_has_no_room_for_what_it_cannot_be():
    low, high = value_range([1.0, 1.1], 1.0, None, True)
    assert 0.95 < low < 1
    assert 1.15 < high < 1.3


def test_numbers_and_their_units_stay_on_one_line():
    assert units_kept("95 % of 3 dB, 0.43 nats; 2 nations") == "95\u00a0% of 3\u00a0dB, 0.43\u00a0nats; 2 nations"
    assert "right in 74\u00a0% of cases" in render_page([small_run(RESULTS / "paper")])


def test_numbers_are_those_of_the_results(small):
    run = small_run()
    panels = small.figures["accuracy-0"]["frames"][""]
    (panel,) = [each for each in panels if each["title"] == "ECE · star"]
    (series,) = [each for each in panel["series"] if each["method"] == "q_dsgd"]
    stored = run.dataset.ece.sel({"method": "q_dsgd", "topology": "star"}).mean("seed").values
    assert series["x"] == [0, 30]
    assert series["y"] == pytest.approx(stored.tolist(), rel=1e-8)  # rounded once, by the page
    assert small.figures["confusion-0"]["frames"]["0|1"][0]["names"][0] == "car"


def test_bars_of_a_reliability_diagram_give_back_the_ece(small):
    """Σ share·|right − sure| over the bins is the ECE, for one agent; with five it is at most their mean."""
    (panel,) = [p for p in small.figures["reliability-0"]["frames"]["0|1"] if p["method"] == "q_dsgd"]
    pooled = sum(
        share * abs(right - sure)
        for share, right, sure in zip(panel["count"], panel["right"], panel["sure"], strict=True)
        if share
    )
    ece = float(small_run().dataset.ece.sel({"method": "q_dsgd", "topology": "full", "snr_db": 30.0}).mean())
    assert 0.8 * ece <= pooled <= ece + 2e-3


def test_policy_names_every_script_and_style_and_nothing_else(small):
    (policy,) = [attrs["content"] for tag, attrs in small.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag, content in (("script", small.inside["script"][1]), ("style", small.inside["style"][0])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert len(small.inside["script"]) == 2  # the data, which is not run, and the one that is
    assert not [attrs for _, attrs in small.tags if "style" in attrs or any(name.startswith("on") for name in attrs)]
    assert not [a for _, a in small.tags if "src" in a or not str(a.get("href", "#")).startswith("#")]


def test_without_scripts_there_is_no_button_that_does_nothing(small):
    (button,) = [attrs for tag, attrs in small.tags if tag == "button"]
    assert "hidden" in button  # the script shows it


def test_hostile_names_stay_text():
    text = render_page([hostile_run()])
    page = Page(text)
    assert not [tag for tag, _ in page.tags if tag in ("img", "b", "iframe", "object", "link")]
    assert len(page.inside["script"]) == 2
    assert SCRIPT in page.text
    assert HOSTILE in page.text
    assert "{{ 7 * 7 }}" in page.figures["confusion-0"]["frames"]["0|1"][0]["names"]
    assert "\u2028" not in text.split('id="figures">')[1].split("</script>")[0]


def test_diverged_cells_are_shown_as_such():
    page = Page(render_page([lost_run()]))
    assert "3 cells of 18 diverged" in page.text
    assert "A smaller step" in page.text
    (panel, *_) = page.figures["accuracy-0"]["frames"][""]
    (series,) = [each for each in panel["series"] if each["method"] == "q_dsgd"]
    assert series["y"][0] is None
    assert series["lost"] == ["1 of 1 seed diverged", ""]
    lost = [p for p in page.figures["reliability-0"]["frames"]["0|0"] if "lost" in p]
    assert [panel["method"] for panel in lost] == ["q_dsgd"]
    over = convergence_section(lost_run())
    whole = convergence_section(small_run())
    assert over is not None
    assert whole is not None
    assert "A cross: a chain diverged" in over.notes[0]
    assert "A cross" not in whole.notes[0]


def test_collapsed_cells_are_hollow_and_named(small):
    assert "CD-DSGLD optimal ends near guessing" in small.text
    panels = small.figures["accuracy-0"]["frames"][""]
    hollow = {s["method"] for p in panels if p["title"].startswith("ECE") for s in p["series"] if any(s["hollow"])}
    assert hollow == {"cd_dsgld:optimal"}


def test_a_seed_that_guesses_is_counted():
    """paper: 5 of 8 seeds at 0.17 on the ring at 10 dB, their mean at 0.31; paper-sgld-small-step: one of three."""
    run = small_run(RESULTS / "paper")
    section = accuracy_section(run)
    assert section is not None
    (panel,) = [each for each in section.figures[0].frames[""] if each["title"] == "ECE · ring"]
    (series,) = [each for each in panel["series"] if each["method"] == "cd_dsgld:optimal"]
    assert series["hollow"] == ["near chance", "near chance", "5 of 8 seeds near chance", "", "", "", ""]
    said = " ".join(summarise(run).findings)
    assert "ring at 0\u00a0dB, 5\u00a0dB, 10\u00a0dB (5 of 8 seeds)." in said

    alone = summarise(small_run(RESULTS / "paper-sgld-small-step"))
    assert "SGLD ends near guessing: 1 of 3 seeds." in alone.findings
    assert not any("Nothing ends" in each for each in alone.findings)
    assert alone.glance is not None
    assert alone.glance.rows[0][-1].text.endswith(" *")  # pyright: ignore[reportAttributeAccessIssue]
    assert alone.glance.caption.endswith(
        "* some of these runs guess; who guesses has a balanced accuracy of 0.30 or less"
    )


def test_guessing_is_judged_by_balanced_accuracy():
    run = small_run()
    rare = run.dataset.assign(accuracy=0 * run.dataset.accuracy + 0.2)  # where one class is most of the test set
    summary = summarise(make_run(SMALL, run.config, rare.assign(balanced_accuracy=0 * rare.accuracy + 0.5)))
    assert "Nothing ends near guessing." in summary.findings
    assert not any("guesses" in each for each in summary.findings)
    (claims,) = [table for section in (claims_section(run),) if section for table in section.tables]
    assert {row[4] for row in claims.rows} == {"balanced accuracy", "ECE"}


def test_faults_have_their_own_figure():
    page = Page(render_page([faulty_run()]))
    panels = page.figures["faults-0"]["frames"]["1"]
    assert [text for _, text in panels[0]["x"]["ticks"]] == ["0", "0.25", "0.5"]
    assert "accuracy-0" not in page.figures


def test_graphs_without_faults_keep_their_curves_beside_those_with_some():
    run = partly_faulty_run()
    page = Page(render_page([run]))
    panels = [panel["title"] for frame in page.figures["accuracy-0"]["frames"].values() for panel in frame]
    assert panels == ["Accuracy · full", "Accuracy · ring", "ECE · full", "ECE · ring"]
    assert {"faults-0", "scores-0", "power-0", "transition-0"} <= page.figures.keys()
    summary = summarise(run)
    assert summary.findings[0].startswith("Outside the fault scenarios, at 30\xa0dB: CD-DSGLD optimal is right in")
    assert summary.glance is not None
    assert summary.verdicts


@pytest.mark.parametrize(
    ("fault", "feels"),
    [("link_outage", {"cd_dsgld", "q_dsgd"}), ("jam_rate", {"cd_dsgld", "q_dsgd"}), ("gain_std", {"cd_dsgld"})],
)
def test_a_fault_is_drawn_for_the_methods_that_feel_it(fault, feels):
    section = faults_section(faulty_run(fault))
    assert section is not None
    for panel in section.figures[0].frames["1"]:
        assert {series["method"].partition(":")[0] for series in panel["series"]} == feels
        low, high = panel["y"]["range"]
        assert all(
            low <= v <= high for series in panel["series"] for v in series.get("low", []) + series.get("high", [])
        )


def test_bands_over_seeds_fit_into_the_panels_of_faults():
    run = faulty_run(folder=RESULTS / "paper")
    wide = xr.where(run.dataset.seed == 0, 0.9, 0.2) * xr.ones_like(run.dataset.accuracy)  # far beyond any mean
    section = faults_section(dataclasses.replace(run, dataset=run.dataset.assign(accuracy=wide, ece=wide)))
    assert section is not None
    for panel in section.figures[0].frames["0"]:
        first, last = panel["y"]["range"]
        bands = [value for series in panel["series"] for end in ("low", "high") for value in series[end]]
        assert first <= min(bands) < max(bands) <= last


def test_both_scores_of_a_fault_stand_beside_each_other_and_the_worst_is_named():
    run = faulty_run()
    section = faults_section(run)
    assert section is not None
    titles = [panel["title"] for panel in section.figures[0].frames["1"]]
    assert titles == ["Accuracy · links lost", "ECE · links lost"]
    assert not any("ideal links" in entry.name for entry in section.figures[0].legend)
    worst = run.dataset.accuracy.copy(deep=True)
    worst.loc[{"topology": "ring@link_outage=0.5", "method": "q_dsgd", "snr_db": 30.0}] = 0.4
    summary = summarise(dataclasses.replace(run, dataset=run.dataset.assign(accuracy=worst)))
    (said,) = [each for each in summary.findings if each.startswith("Q-DSGD is hurt most by")]
    assert "ring, links lost at rate 0.5 (accuracy 0." in said
    assert "→ 0.40" in said


def test_networks_that_fell_apart_are_named_on_the_page():
    run = faulty_run()
    share = xr.where(run.dataset.topology == "ring@link_outage=0.5", 0.25, 0.0) * xr.ones_like(run.dataset.accuracy)
    warnings = summarise(dataclasses.replace(run, dataset=run.dataset.assign(split_mean=share))).warnings
    said = "1 network into parts at times: ring, links lost at rate 0.5 in 25 % of the steps of its runs"
    assert any(said in each for each in warnings)


@pytest.mark.parametrize("folder", ["paper-references", "paper-sgld-small-step"])
def test_without_a_radio_methods_stand_beside_each_other(folder):
    run = small_run(RESULTS / folder)
    section, summary = accuracy_section(run), summarise(run)
    assert section is not None
    assert "radio quality" not in section.title
    assert "further right" not in section.text
    for panel in next(iter(section.figures[0].frames.values())):
        assert "SNR" not in panel["x"]["label"]
        assert [text for _, text in panel["x"]["ticks"]] == [short(name) for name in run.variants]
        assert [series["x"] for series in panel["series"]] == [[place] for place in range(len(run.variants))]
    assert any(each.startswith("Without a radio: ") and "ECE of" in each for each in summary.findings)
    assert "over a radio" not in summary.about


@pytest.mark.parametrize(
    ("share", "predicted", "says"),
    [
        ([0, 0.2, 1.0], 7.0, "5 to 10\N{NO-BREAK SPACE}dB, as predicted"),
        ([0, 0.2, 1.0], 12.5, "5 to 10\N{NO-BREAK SPACE}dB, earlier than predicted"),
        ([0, 1.0, 1.0], -3.0, "0 to 5\N{NO-BREAK SPACE}dB, later than predicted"),
        ([0, 0.1, 0.2], 12.5, "above 10\N{NO-BREAK SPACE}dB, as predicted"),
        ([1.0, 1.0, 1.0], None, "below 0\N{NO-BREAK SPACE}dB"),
        ([np.nan, np.nan, np.nan], 3.0, "–"),
        ([0, np.nan, 1.0], None, "0 to 10\N{NO-BREAK SPACE}dB"),
    ],
)
def test_an_observed_transition_lies_between_measured_snrs(share, predicted, says):
    assert crossing_words(crossing([0.0, 5.0, 10.0], np.array(share)), predicted) == says


def test_a_predicted_transition_is_told_where_every_run_diverged():
    run = small_run(RESULTS / "paper")
    lost = run.dataset.drop_vars(
        [name for name in run.dataset.data_vars if str(name).startswith(("unit_gain", "power_used"))]
    )
    run = dataclasses.replace(run, dataset=lost)
    section = transition_section(run)
    assert section is not None
    assert [row[0] for row in section.tables[0].rows] == run.topologies
    assert section.tables[0].rows[0][1] == f"{run.transition('full'):.1f}\u00a0dB"
    assert "nothing was observed" in section.text
    assert any("nothing was measured of its power" in each for each in summarise(run).warnings)


@pytest.mark.parametrize("radio", [{"gain_std": 0.1}, {"impulse_rate": 0.01}, {"jammed": 1}, {"receiver": "clip"}])
def test_no_transition_is_observed_where_full_gain_is_not_counted(radio):
    """Every message went at full gain, and the page said "above 30 dB, later than predicted"."""
    run = small_run(RESULTS / "paper")
    channel = dataclasses.replace(run.config.channel, **radio)
    blind = run.dataset.assign(unit_gain_mean=0 * run.dataset.unit_gain_mean)
    section = transition_section(
        dataclasses.replace(run, config=dataclasses.replace(run.config, channel=channel), dataset=blind)
    )
    assert section is not None
    assert section.figures == ()
    assert section.tables[0].head == ("graph", "predicted")
    assert "nothing was observed" in section.text


def test_faults_of_the_whole_study_are_named_on_top():
    """A liar in every block was in the configuration at the end of the page only."""
    run = small_run(RESULTS / "paper")
    network = dataclasses.replace(run.config.network, attackers=1, attack_rate=0.2)
    channel = dataclasses.replace(run.config.channel, gain_std=0.05)
    config = dataclasses.replace(run.config, network=network, channel=channel)
    said = "Faults on every graph: a neighbour lies at rate 0.2, gains wrong by 0.05."
    assert said in summarise(dataclasses.replace(run, config=config)).warnings
    assert not any("Faults on every graph" in each for each in summarise(run).warnings)


def test_lines_and_grids_are_drawn_as_such():
    row = _layout(line(5))
    assert row[:, 1].tolist() == [0] * 5
    assert row[:, 0].tolist() == [-1, -0.5, 0, 0.5, 1]
    places = _layout(grid(2, 3))
    assert places.tolist() == [[-1, 0.5], [0, 0.5], [1, 0.5], [-1, -0.5], [0, -0.5], [1, -0.5]]
    assert np.allclose(np.linalg.norm(_layout(ring(5)), axis=1), 1)


def test_a_network_too_large_to_draw_says_so():
    run = small_run()
    large = dataclasses.replace(run.config, network=dataclasses.replace(run.config.network, agents=200))
    section = network_section(make_run(SMALL, large, run.dataset))
    assert section is not None
    said = " ".join(section.notes)
    assert "full is not drawn: 200 agents and 19,900 links" in said
    assert "star is not drawn: 200 agents" in said


def test_a_posterior_has_a_yardstick():
    shape = (1, 1, 1, 2)
    dims = ("method", "topology", "snr_db", "seed")
    cov = np.broadcast_to(np.diag([0.03, 0.01]), (*shape, 2, 2))
    run = small_run()
    made = xr.Dataset({"posterior_cov": ((*dims, "param", "param2"), cov)})
    assert posterior_width(dataclasses.replace(run, dataset=made)) == pytest.approx(0.2)
    assert "0.200 wide" in width_words(dataclasses.replace(run, dataset=made))
    assert width_words(run) == ""


def test_bands_stay_where_a_score_can_be():
    seeds = np.array([1.0, 1.0, 1.0, 1.0, 1.9])
    assert interval(seeds)[0] < 1
    assert interval(seeds, low=1.0)[0] == 1
    assert interval(np.array([10.0, 20, 30, 500, 900]), log=True)[0] == 10


def test_an_interval_that_is_cut_is_not_called_whole():
    """Of R-hat and NLL, on logarithmic axes, the page gave the lowest seed as the end of the interval of the mean."""
    run = small_run(RESULTS / "paper")
    cut = "Bands: 95 % interval of the mean over 8 seeds, on a logarithmic axis cut at the lowest seed; faint dots"
    mixing, scores, accuracy = mixing_section(run), scores_section(run), accuracy_section(run)
    assert mixing is not None
    assert scores is not None
    assert accuracy is not None
    assert any(cut in note for note in mixing.notes)
    assert any(cut in note for note in scores.notes)
    assert not any("cut" in note for note in accuracy.notes)


def test_claims_without_a_comparison_are_a_sentence():
    run = small_run()
    other = run.dataset.assign_coords(topology=["line", "grid", "roads.csv"])
    summary = summarise(make_run(SMALL, run.config, other))
    assert summary.verdicts == ()
    assert any("claims are not scored" in each for each in summary.warnings)
    assert not any("claims are not scored" in each for each in summarise(run).warnings)


def test_different_problems_are_compared_apart():
    run = small_run()
    other = dataclasses.replace(run.config, problem=dataclasses.replace(run.config.problem, kind="mlp"))
    section = compare_section([run, make_run(Path("other"), other, run.dataset)])
    assert len(section.figures) == 2
    assert "different problems" in section.text
    unders = [{panel["under"] for panels in figure.frames.values() for panel in panels} for figure in section.figures]
    assert unders == [{"PointNet on lidar objects"}, {"a perceptron on overlapping blobs"}]
    together = compare_section([run, lost_run()])
    assert len(together.figures) == 1
    scores = together.tables[1]
    assert scores.head[:2] == ("run", "method")
    assert [row[0] for row in scores.rows] == [run.name] * 3 + [lost_run().name] * 3
    assert "Bands:" in together.notes[0]


def test_scores_of_compared_runs_go_up_in_snr_and_no_snr_that_a_run_has_is_left_out():
    config, dataset = small_run().config, read_dataset(SMALL)
    inner = make_run(Path("inner"), config, dataset.sel({"snr_db": [5.0, 15.0], "seed": [0]}))
    whole = make_run(Path("whole"), config, dataset.sel({"seed": [0]}))
    scores = compare_section([inner, whole]).tables[1]
    ends = [f"{name}, {decibels(snr)}" for snr in (0.0, 5.0, 15.0, 30.0) for name in ("accuracy", "ECE")]
    assert scores.head == ("run", "method", *ends)
    of_whole = [row for row in scores.rows if row[0] == whole.name]
    assert len(of_whole) == 3
    assert not any(cell == "–" for row in of_whole for cell in row)


def test_an_edge_list_is_one_graph_in_every_folder(tmp_path):
    """Merged results name it by their copy, a run by where it lay; what differs is edges, not paths."""
    (tmp_path / "roads.csv").write_text("0,1\n1,2\n")
    network = dataclasses.replace(STUDY.network, topologies=("full", str(tmp_path / "roads.csv")))
    config = dataclasses.replace(STUDY, methods=("q_dsgd",), network=network)
    run = read_run(write_made(tmp_path / "one", 0, 1, config))
    merged = dataclasses.replace(run, dataset=run.dataset.assign_coords(topology=["full", "graphs/roads.csv"]))
    section = compare_section([merged, run])
    assert [len(panel["series"]) for panel in section.figures[0].frames["0"]] == [2, 2]  # full, roads.csv
    assert section.tables[-1].rows == (("nothing", "the same settings"),)

    (tmp_path / "roads.csv").write_text("0,1\n0,2\n")
    other = write_made(tmp_path / "other", 0, 1, config)
    changed = compare_section([run, read_run(other)]).tables[-1]
    assert changed.rows == (("network.topologies", "the edges in roads.csv differ"),)


def test_runs_are_compared():
    page = Page(render_page([small_run(), lost_run()]))
    figure = page.figures["compare-0"]
    names = {series["name"] for series in figure["frames"]["0"][0]["series"]}
    assert "Q-DSGD · paper-real" in names
    assert "Q-DSGD · paper-real (lost)" in names
    anchors = [str(attrs.get("id")) for _, attrs in page.tags if attrs.get("id")]
    assert len(anchors) == len(set(anchors))
    assert {"run1-accuracy", "run2-accuracy", "compare"} <= set(anchors)
    links = [str(attrs.get("href")) for tag, attrs in page.tags if tag == "a"]
    assert {"#run1-accuracy", "#run2-setup"} <= set(links)


def test_a_run_of_faults_alone_says_why_it_has_no_row_among_the_scores():
    section = compare_section([small_run(), faulty_run()])
    assert section.notes[1].endswith(f"not in the tables below: {faulty_run().name}.")
    assert compare_section([small_run(), lost_run()]).notes[1] == ""
    graphs = [str(row[2]) for row in section.tables[0].rows]
    assert graphs == ["full, star, ring", "ring; ring, links lost at rate 0.25; ring, links lost at rate 0.5"]


def test_compared_runs_with_fault_scenarios_are_scored_on_the_other_graphs():
    plain, partly = small_run(), partly_faulty_run()
    captions = [
        next(table.caption for table in compare_section(runs).tables if table.caption.startswith("Scores"))
        for runs in ([plain, plain], [plain, partly])
    ]
    assert ["outside the fault scenarios" in caption for caption in captions] == [False, True]


def test_an_edge_list_with_an_at_sign_in_its_name_is_no_scenario(tmp_path):
    (tmp_path / "net@home.csv").write_text("0,1\n1,2\n2,3\n3,4\n")
    run, names = small_run(), ("full", str(tmp_path / "net@home.csv"), "ring")
    config = dataclasses.replace(run.config, network=dataclasses.replace(run.config.network, topologies=names))
    run = make_run(SMALL, config, run.dataset.assign_coords(topology=["full", "net@home.csv", "ring"]))
    for section in (compare_section([run, run]), network_section(run), communication_section(run)):
        assert section is not None
        panels = [panel for frame in section.figures[0].frames.values() for panel in frame]
        assert any("net@home.csv" in panel["title"] for panel in panels), section.title


def test_every_method_is_explained():
    run = small_run()
    names = {cell.text for cell, _ in summarise(run).names.rows if not isinstance(cell, str)}
    assert names == {short(name) for name in run.variants}
    assert set(MEANINGS) == set(LABELS)


def test_runs_put_together_with_a_gap_say_their_own_seeds():
    """Seeds 0 to 2, 6 and 7: a configuration can name the first three only."""
    joined, paper = small_run(RESULTS / "paper-prior-0.3"), small_run(RESULTS / "paper")
    changes = {row[0]: row[1] for row in compare_section([paper, joined]).tables[-1].rows}
    assert changes["seeds"] == "8 → 5"
    assert "for its own seeds; 6, 7 came from other runs" in setup_section(joined).text
    assert setup_section(paper).text.endswith("`airbayes run study.toml` repeats the run.")


def test_gains_above_one_are_explained_where_there_are_such():
    run = small_run()
    above = run.dataset.assign(rho_mean_per_agent=run.dataset.rho_mean_per_agent + 0.1)
    for dataset, explained in ((run.dataset, False), (above, True)):
        section = network_section(make_run(SMALL, run.config, dataset))
        assert section is not None
        assert any("Optimal gains are above 1" in note for note in section.notes) == explained


def test_one_policy_and_one_snr_are_named_beside_the_network():
    """There is nothing to choose then, and only the colour of the rings said whose gains they are."""
    run = small_run()
    for snrs, words in ((run.snrs[-1:], " Here: CD-DSGLD, common gain (ours), 30\u00a0dB."), (run.snrs, " (ours).")):
        dataset = run.dataset.sel({"snr_db": snrs, "method": ["cd_dsgld:common"]})
        section = network_section(make_run(SMALL, run.config, dataset))
        assert section is not None
        assert section.text.endswith(words)


def test_a_run_without_a_network_is_compared_on_every_graph_and_no_name_lacks_a_curve():
    alone, networked = small_run(RESULTS / "paper-sgld-small-step"), small_run()
    assert not alone.topologies
    figure = compare_section([networked, alone]).figures[0]
    panels = figure.frames["0"]
    assert len(panels) == len(networked.topologies)
    for panel in panels:
        assert any("run1" in series["keys"] for series in panel["series"])
    shown = {key for all_panels in figure.frames.values() for p in all_panels for s in p["series"] for key in s["keys"]}
    assert {entry.key for entry in figure.legend} == shown
    changes = {row[0]: row[1] for row in compare_section([networked, alone]).tables[-1].rows}
    assert changes["methods"] == f"{', '.join(networked.config.methods)} → {', '.join(alone.config.methods)}"


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in RESULTS.glob("*/config.toml")), ids=lambda folder: folder.name
)
def test_every_committed_result_makes_a_page(folder):
    text = render_page([small_run(folder)])
    assert len(text) < 3_000_000
    assert "NaN" not in text.split('id="figures">')[1].split("</script>")[0]
    page = Page(text)
    used = re.findall(r'data-figure="([^"]+)"', text)
    assert set(used) == set(page.figures)
    assert "convergence-0" in used
    assert "accuracy-0" in used  # of centralised SGLD too, without a graph
    assert 'id="mixing"' in text
