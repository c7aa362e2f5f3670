"""The page in a real Chromium: nothing is loaded, nothing complains, everything can be used by hand and by keyboard."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from report.html_pages import HOSTILE, hostile_run, lost_run, one_graph_run, small_run

from airbayes.experiment.cells import Cell
from airbayes.experiment.strange_files import StrangeScores, write_strange
from airbayes.report.html import Run, write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    runs: dict[str, list[Run]] = {"small": [small_run()], "hostile": [hostile_run()], "two": [small_run(), lost_run()]}
    runs["least"] = [with_strange(one_graph_run(), folder)]
    return {name: write_report(each, folder / f"{name}.html") for name, each in runs.items()}


def with_strange(run: Run, folder: Path) -> Run:
    """Beside scores of strange objects; the run itself is a committed one, whose folder nobody writes to."""
    rng = np.random.default_rng(0)
    scores = StrangeScores(rng.normal(size=(5, 50)), rng.normal(size=(5, 40)) + np.arange(5)[:, None])
    write_strange(folder, {HOSTILE: 40}, {Cell("q_dsgd", None, "ring", 30.0, 0): scores})
    return dataclasses.replace(run, folder=folder)


class Opened:
    """A page, and everything it said or asked for."""

    def __init__(self, browser, path: Path, size: dict[str, int], scheme: str):
        self.context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.evaluate("dispatchEvent(new Event('beforeprint'))")  # draws what is not in sight yet


@pytest.fixture
def open_page(browser, files) -> Iterator:
    opened: list[Opened] = []

    def opener(name: str, size: dict[str, int] = WIDE, scheme: str = "light") -> Opened:
        opened.append(Opened(browser, files[name], size, scheme))
        return opened[-1]

    yield opener
    for each in opened:
        each.context.close()


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["small", "two"])
def test_draws_everything_and_loads_nothing(open_page, files, name, size):
    opened = open_page(name, size)
    page = opened.page
    assert page.locator(".panel").count() > 20
    empty = "[...document.querySelectorAll('.panel')].filter(p => !p.querySelector('svg, canvas, .lost')).length"
    assert page.evaluate(empty) == 0
    above = "[...document.querySelectorAll('.panel svg line.grid')].filter(l => l.y1.baseVal.value < 5).length"
    assert page.evaluate(above) == 0  # no tick outside its axis, over the title
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert opened.said == []
    assert opened.asked == [files[name].as_uri()]


@pytest.mark.parametrize("width", [400, 500, 1400])
def test_the_table_at_a_glance_and_on_a_screen_the_menu_are_seen_whole(open_page, width):
    """The last column was out of sight on phones, with no sign of it; the menu of sections on a wide screen, too."""
    page = open_page("small", {"width": width, "height": 900}).page
    for place in [".glance .scroll"] + (["nav"] if width == 1400 else []):
        wants, has = page.locator(place).evaluate("each => [each.scrollWidth, each.clientWidth]")
        assert wants <= has, place


@pytest.mark.parametrize("width", [360, 400, 500, 640, 1280])
def test_no_table_hides_a_column(open_page, width):
    """Tables of many columns become lists where there is no room, each number with the name of its column."""
    page = open_page("small", {"width": width, "height": 900}).page
    page.evaluate("document.querySelectorAll('section > details').forEach(each => { each.open = true; })")
    tables = page.locator("section .scroll:has(> table:not(.numbers *))")
    assert tables.count() > 4
    for place in tables.all():
        wants, has, name = place.evaluate("each => [each.scrollWidth, each.clientWidth, each.ariaLabel]")
        assert wants <= has, name
    cell = page.locator("#claims td:nth-child(8)").first
    shown = cell.evaluate("each => getComputedStyle(each, '::before').content")
    assert shown == ('"difference"' if width <= 640 else "none")


def test_curves_can_be_hidden_and_read(open_page):
    page = open_page("small").page
    figure = page.locator("[data-figure='accuracy-0']")
    drawn = figure.locator("svg .m-q_dsgd path.curve")
    before = drawn.count()
    assert before == 6
    button = figure.get_by_role("button", name="Q-DSGD")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert drawn.count() == 0
    button.press("Enter")
    assert drawn.count() == before

    panel = figure.locator(".panel svg").first
    panel.hover()
    tip = page.locator("#tip.on")
    assert tip.locator(".row").count() == 3
    panel.focus()
    panel.press("Home")
    assert page.locator("#tip b").inner_text() == "0 dB"
    panel.press("End")
    assert page.locator("#tip b").inner_text() == "30 dB"
    assert "Q-DSGD" in page.locator("#live").inner_text()


def test_slider_and_menu_choose_what_is_drawn(open_page):
    page = open_page("small").page
    figure = page.locator("[data-figure='reliability-0']")
    shown = figure.locator(".panel .under").first
    assert shown.inner_text().startswith("30\xa0dB")
    figure.get_by_role("slider", name="SNR").press("ArrowLeft")
    assert shown.inner_text().startswith("0\xa0dB")
    assert figure.locator("output").inner_text() == "0\xa0dB"
    full = shown.inner_text()
    figure.get_by_role("combobox", name="Graph").select_option("ring")
    assert shown.inner_text() != full


def test_scores_of_strange_objects_are_chosen_and_read(open_page):
    page = open_page("least").page
    figure = page.locator("[data-figure='strange-0']")
    assert figure.locator(".panel").count() == 2
    curve = figure.locator(".panel").first.locator("path.curve").first
    before = curve.get_attribute("d")
    figure.get_by_role("combobox", name="Score").select_option(index=4)
    assert curve.get_attribute("d") != before
    panel = figure.locator(".panel svg").first
    panel.focus()
    panel.press("End")
    assert "Q-DSGD 1" in page.locator("#live").inner_text()
    assert HOSTILE in page.locator("#strange .note").first.inner_text()


def test_themes(open_page):
    colour = "getComputedStyle(document.body).backgroundColor"
    dark, light = open_page("small", scheme="dark").page, open_page("small").page
    assert dark.evaluate(colour) != light.evaluate(colour)
    button = dark.get_by_role("button", name="Theme")
    before = dark.evaluate(colour)
    button.click()
    assert button.inner_text() == "Theme: light"
    assert dark.evaluate(colour) == light.evaluate(colour)
    button.click()
    assert dark.evaluate(colour) == before
    light.emulate_media(media="print", color_scheme="dark")
    assert light.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor") == "rgb(255, 255, 255)"
    assert not light.locator(".top").is_visible()


def test_hostile_names_do_nothing(open_page, files):
    opened = open_page("hostile")
    page = opened.page
    assert "airbayes report" in page.title()
    assert page.locator("main img, main b, main iframe").count() == 0
    figure = page.locator("[data-figure='confusion-0']")
    figure.locator("svg g").first.hover()
    assert HOSTILE in page.locator("#tip").inner_text()
    for summary in page.locator("summary").all():
        summary.click()
    assert opened.said == []
    assert opened.asked == [files["hostile"].as_uri()]


def test_every_control_is_reached_with_the_keyboard(open_page):
    page = open_page("small").page
    count = page.evaluate("document.querySelectorAll('a, button, select, input, summary, [tabindex]').length")
    seen = set()
    for _ in range(count + 5):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    controls = page.evaluate(
        "[...document.querySelectorAll('button, select, input, summary, .figure svg[tabindex]')]"
        ".filter(e => e.getClientRects().length).map(e => [...document.querySelectorAll('*')].indexOf(e))"
    )
    assert set(controls) <= seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(open_page, scheme):
    """axe-core's rules with everything unfolded; on dark, which differs by its colours alone, that of contrast."""
    from axe_playwright_python.sync_playwright import Axe

    page = open_page("least", scheme=scheme).page
    page.evaluate("document.querySelectorAll('details:not(#convergence *)').forEach(each => { each.open = true; })")
    options = {"runOnly": ["color-contrast"]} if scheme == "dark" else None
    found = Axe().run(page, options=options).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
