"""What is in the page, without a browser."""

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
import xarray as xr
from report.html_pages import HOSTILE, RESULTS, SCRIPT, faulty_run, hostile_run, lost_run, small_run

from airbayes.experiment.store import read_dataset
from airbayes.report.html import render_page
from airbayes.report.html.compare import compare_section
from airbayes.report.html.sections.accuracy import accuracy_section
from airbayes.report.html.sections.faults import faults_section
from airbayes.report.html.sections.transition import transition_section


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
    assert "Dashed: ideal links, no radio. Dotted: the SNR below" in accuracy.notes[1]
    assert "The dotted line" in transition.text
    assert "predicted" in transition.tables[0].head


def test_numbers_are_those_of_the_results(small):
    run = small_run()
    panels = small.figures["accuracy-0"]["frames"][""]
    (panel,) = [each for each in panels if each["title"] == "ECE · star"]
    (series,) = [each for each in panel["series"] if each["method"] == "q_dsgd"]
    stored = run.dataset.ece.sel({"method": "q_dsgd", "topology": "star"}).mean("seed").values
    assert series["x"] == [0, 30]
    assert series["y"] == pytest.approx(stored.tolist(), rel=1e-3)
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
    (panel, *_) = page.figures["accuracy-0"]["frames"][""]
    (series,) = [each for each in panel["series"] if each["method"] == "q_dsgd"]
    assert series["y"][0] is None
    assert series["lost"] == ["1 of 1 seed diverged", ""]
    lost = [p for p in page.figures["reliability-0"]["frames"]["0|0"] if "lost" in p]
    assert [panel["method"] for panel in lost] == ["q_dsgd"]


def test_collapsed_cells_are_hollow_and_named(small):
    assert "CD-DSGLD optimal collapses to near guessing" in small.text
    panels = small.figures["accuracy-0"]["frames"][""]
    hollow = {s["method"] for p in panels if p["title"].startswith("ECE") for s in p["series"] if any(s["hollow"])}
    assert hollow == {"cd_dsgld:optimal"}


def test_faults_have_their_own_figure():
    page = Page(render_page([faulty_run()]))
    panels = page.figures["faults-0"]["frames"]["1"]
    assert [text for _, text in panels[0]["x"]["ticks"]] == ["0", "0.25", "0.5"]
    assert "accuracy-0" not in page.figures


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


def test_runs_are_compared():
    page = Page(render_page([small_run(), lost_run()]))
    figure = page.figures["compare-0"]
    names = {series["name"] for series in figure["frames"]["0"][0]["series"]}
    assert "Q-DSGD · paper-real" in names
    assert "Q-DSGD · paper-real (lost)" in names
    anchors = [str(attrs.get("id")) for _, attrs in page.tags if attrs.get("id")]
    assert len(anchors) == len(set(anchors))
    assert {"run1-accuracy", "run2-accuracy", "compare"} <= set(anchors)


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
    changes = {row[0]: row[1] for row in compare_section([networked, alone]).tables[1].rows}
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
    graphs = {"full", "star", "ring"} & set(read_dataset(folder).topology.values.tolist())
    assert ("accuracy-0" in used) == bool(graphs)  # centralised SGLD alone has no radio to compare over
    assert 'id="mixing"' in text
