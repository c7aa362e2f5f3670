"""The page in a real Chromium: nothing is loaded, nothing complains, everything can be used by hand and by keyboard."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from report.html_pages import HOSTILE, RESULTS, faulty_run, hostile_run, lost_run, one_graph_run, small_run

import airbayes.report.html
from airbayes.experiment.cells import Cell
from airbayes.experiment.strange_files import StrangeScores, write_strange
from airbayes.report.html import Run, make_run, write_report

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
ASSETS = Path(airbayes.report.html.__file__).parent / "assets"
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
    runs["paper-lost"] = [lost_run()]
    runs["faulty"], runs["ideal"] = [faulty_run()], [small_run(RESULTS / "paper")]
    runs["references"] = [small_run(RESULTS / "paper-references")]
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
        # Draws what is not in sight yet.
        self.page.evaluate("dispatchEvent(new Event('beforeprint')); dispatchEvent(new Event('afterprint'))")


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


@pytest.mark.parametrize("width", [360, 400, 500, 640, 700, 820, 1000, 1280])
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


@pytest.mark.parametrize("width", [320, 820, 1400])
def test_names_on_an_axis_do_not_cover_each_other(open_page, width):
    """Without a radio the methods stand on the axis; in narrow panels their names ran into each other."""
    page = open_page("references", {"width": width, "height": 900}).page
    covered = """svg => {
      const boxes = [...svg.querySelectorAll('text')].map(each => each.getBoundingClientRect());
      return boxes.some((a, i) => boxes.slice(i + 1).some(b => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3));
    }"""
    panels = page.locator("[data-figure='accuracy-0'] .panel svg")
    assert panels.count() == 6
    assert not any(panel.evaluate(covered) for panel in panels.all())


def test_an_axis_has_two_numbers_at_least(browser):
    """One number is no scale: a logarithmic axis from 0.0135 to 0.03 had 0.02 alone."""
    page = browser.new_page()
    for name in ("tools.js", "scales.js"):
        page.add_script_tag(path=ASSETS / name)
    for low in np.geomspace(1e-4, 1e3, 60):
        for ratio in (1.09, 1.3, 2.2, 4, 9, 90):
            found = page.evaluate("range => ticks(range, 4, true)", [low, low * ratio])
            assert 2 <= len(found) <= 7, (low, ratio)
    found = page.evaluate("ticks([0.9, 2.7], 4, true)")  # 1 and 2 alone looked even: 1.79 was read as 1.85
    assert found == [1, 1.5, 2, 2.5]
    page.close()


def test_powers_of_ten_are_written_alike(browser):
    """An axis said 10⁵, 10⁴ and 1,000; the pointer 1.2e6 where the table said 1.2·10⁶."""
    page = browser.new_page()
    for name in ("tools.js", "scales.js"):
        page.add_script_tag(path=ASSETS / name)
    texts = """range => {
      const { root } = axes(400, 300, { range: [0, 1], ticks: [], label: '' }, { range, log: true });
      return [...root.querySelectorAll('text')].map(each => each.textContent).filter(text => text);
    }"""
    assert page.evaluate(texts, [300, 2e5]) == ["10³", "10⁴", "10⁵"]
    assert page.evaluate(texts, [0.5, 200]) == ["1", "10", "100"]
    assert page.evaluate("[1.234e6, -2e-4, 1e-5, 2500].map(format)") == ["1.23·10⁶", "−2·10⁻⁴", "10⁻⁵", "2,500"]
    # The pointer said 0.54 [0.442, 0.588].
    assert page.evaluate("[0.54, 1, 0, 41234, NaN].map(measured)") == ["0.540", "1.00", "0", "41,200", "–"]
    assert page.evaluate("[0.4, 10, 0.33333].map(format)") == ["0.4", "10", "0.333"]
    page.close()


def test_gains_do_not_cover_each_other(browser, tmp_path):
    """Under the circles of a line of twelve stood ρ 1.0ρ 1.0ρ 1.0."""
    run = small_run()
    config = dataclasses.replace(run.config, network=dataclasses.replace(run.config.network, agents=12))
    dataset = run.dataset.assign_coords(topology=["line", "ring", "grid"])
    path = write_report([make_run(tmp_path, config, dataset)], tmp_path / "page.html")
    page = Opened(browser, path, WIDE, "light").page
    gains = "panel => [...panel.querySelectorAll('text')].filter(each => each.textContent.startsWith('ρ')).length"
    panels = page.locator("#network .panel")
    assert [panel.evaluate(gains) for panel in panels.all()] == [0, 12, 12]
    page.context.close()


def test_a_long_word_breaks_in_its_card(open_page):
    page = open_page("small", PHONE).page
    page.evaluate("document.querySelector('.findings li').textContent = 'x'.repeat(90)")
    page.evaluate("document.querySelector('section > p').textContent = 'x'.repeat(90)")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


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
    assert light.locator("#theme").is_visible()
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


# What the page does by itself, not only what it can draw: opened as a reader does, without anything drawn beforehand.
TALL_BAR = 140  # px: a target lies under the bar, not behind it


def opened_as_is(browser, path: Path, size: dict[str, int] = WIDE, anchor: str = "", **how):
    page = browser.new_context(viewport=size, **how).new_page()
    page.goto(path.as_uri() + anchor)
    return page


def settled(page, name: str) -> float:
    """How far from the top of the window a section lies, once it is in place and nothing moves any more."""
    place, before = f"document.getElementById('{name}').getBoundingClientRect().top", None
    for _ in range(60):
        page.wait_for_timeout(120)
        now = page.evaluate(place)
        if now == before and 0 <= now < TALL_BAR:  # a slow machine may not have begun to scroll
            break
        before = now
    return page.evaluate(place)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_links_lead_to_their_section(browser, files, size):
    """Figures above were drawn while the page scrolled, and pushed the section thousands of pixels away."""
    for name in ("network", "convergence"):
        page = opened_as_is(browser, files["small"], size)
        page.locator(f"nav a[href='#{name}']").click()
        assert 0 <= settled(page, name) < TALL_BAR, name
        page.context.close()
        page = opened_as_is(browser, files["small"], size, f"#{name}")
        assert 0 <= settled(page, name) < TALL_BAR, name
        page.context.close()


def test_the_sections_of_compared_runs_are_folded_until_asked_for(browser, files):
    """Three runs in full are 80 phone screens; what is folded has no width, and is drawn when it has one."""
    page = opened_as_is(browser, files["two"], anchor="#run2-convergence", reduced_motion="reduce")
    open_ones = "[...document.querySelectorAll('.folded')].map(each => each.open)"
    shrunk = "all => all.map(each => each.getBoundingClientRect().width / each.viewBox.baseVal.width)"
    assert 0 <= settled(page, "run2-convergence") < TALL_BAR
    assert page.evaluate(open_ones) == [False, True]
    assert page.locator("[data-figure^='run1-'] .panel").count() == 0
    page.locator("a[href='#run1-convergence']").click()
    assert 0 <= settled(page, "run1-convergence") < TALL_BAR
    page.locator(".folded > summary").first.click()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(open_ones) == [True, True]
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(open_ones) == [False, True]
    page.locator(".folded > summary").first.click()
    page.wait_for_timeout(300)
    widths = page.locator("[data-figure='run1-accuracy-0'] .panel svg").evaluate_all(shrunk)
    assert 0.95 < min(widths) <= max(widths) < 1.05
    page.context.close()


def test_the_bar_follows_and_scrolls_by_wheel(browser, files):
    page = opened_as_is(browser, files["small"], {"width": 900, "height": 900}, reduced_motion="reduce")
    menu = page.locator("nav")
    assert menu.evaluate("each => each.scrollWidth > each.clientWidth && each.classList.contains('after')")
    menu.hover()
    page.mouse.wheel(0, 200)
    page.wait_for_selector("nav.before", state="attached")  # there is more to the left now
    assert page.evaluate("scrollY") == 0
    page.evaluate("scrollTo(0, 1e6)")
    page.wait_for_selector("nav li:last-child a.here", state="attached")
    right, edge = page.evaluate(
        "[document.querySelector('nav .here'), document.querySelector('nav')].map(e => e.getBoundingClientRect().right)"
    )
    assert right <= edge
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_selector("nav .here", state="detached")
    page.context.close()


def test_a_finger_reads_values(browser, files):
    page = opened_as_is(browser, files["small"], PHONE, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.evaluate("dispatchEvent(new Event('beforeprint')); dispatchEvent(new Event('afterprint'))")
    marks = {"accuracy-0": ".mark", "reliability-0": ".bar-count", "confusion-0": ".heat-cell", "network-0": ".node"}
    for name, mark in marks.items():
        drawing = page.locator(f"[data-figure='{name}'] .panel svg").first
        drawing.scroll_into_view_if_needed()
        page.wait_for_timeout(150)
        box = drawing.locator(mark).first.bounding_box()
        assert box is not None
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_selector("#tip.on .row", timeout=2000, state="attached")
        assert drawing.evaluate("each => getComputedStyle(each).touchAction") == "pan-y"
        page.locator("footer").scroll_into_view_if_needed()
        page.wait_for_selector("#tip:not(.on)", timeout=2000, state="attached")
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_matrix_can_be_read(open_page, scheme):
    page = open_page("small", scheme=scheme).page
    low = page.evaluate(
        """() => {
          const light = rgb => { const [r, g, b] = rgb.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
          const rgb = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
          const card = rgb(getComputedStyle(document.querySelector('.card')).backgroundColor);
          return Math.min(...[...document.querySelectorAll('.heat-text')].map(text => {
            const cell = text.parentNode.querySelector('.heat-cell'), deep = Number(cell.getAttribute('fill-opacity'));
            const ground = rgb(getComputedStyle(cell).fill).map((v, i) => card[i] + (v - card[i]) * deep);
            const [a, b] = [light(ground), light(rgb(getComputedStyle(text).fill))].sort((x, y) => y - x);
            return (a + .05) / (b + .05);
          }));
        }"""  # noqa: E501
    )
    assert low >= 4.5


def test_bars_of_few_answers_are_faint(open_page):
    page = open_page("small").page
    shown = page.locator(".bar-right").evaluate_all(
        "all => all.map(each => [each.classList.contains('few'), getComputedStyle(each).opacity])"
    )
    assert {opacity for few, opacity in shown if few} == {"0.25"}
    assert {opacity for few, opacity in shown if not few} == {"0.85"}


def test_one_snr_has_one_tick_and_error_bars(open_page):
    panel = open_page("least").page.locator("[data-figure='accuracy-0'] .panel").first
    assert panel.locator("path.whisker").count() > 1
    assert panel.locator("path.band").count() == 0
    below = panel.locator("svg > text[text-anchor=middle]:not(.axis-title)")
    assert below.all_text_contents() == ["30"]
    marks = panel.locator("path.mark").evaluate_all("all => all.map(each => each.getBoundingClientRect().left)")
    assert len(set(marks)) == len(marks)  # beside each other, not one on the other


def test_nothing_is_drawn_over_the_curves_but_crosses_and_names(open_page):
    """Bands changed the colours of the curves under them, and curves hid the crosses of diverged cells."""
    order = """() => [...document.querySelectorAll('.panel svg:has(.curve):has(.band, .whisker, .fallen)')]
      .map((root) => {
        const all = [...root.querySelectorAll('*')];
        const at = (query) => all.flatMap((each, index) => (each.matches(query) ? [index] : []));
        const curves = at('.curve, .mark'), crosses = at('.fallen');
        const under = at('.band, .dot, .whisker').every((index) => index < Math.min(...curves));
        return [under, crosses.every((index) => index > Math.max(...curves)), crosses.length > 0];
      })"""
    found = open_page("small").page.evaluate(order) + open_page("paper-lost").page.evaluate(order)
    assert len(found) > 12
    assert any(crosses for *_, crosses in found)
    assert all(under and over for under, over, _ in found)


def test_names_of_levels_stand_beside_the_curves(open_page):
    """ "mixed below 1.1" was crossed out by the curves it stood in."""
    hidden = """() => [...document.querySelectorAll(':is(#mixing, #power) svg:has(.level-name)')].map((root) => {
      const { x, y, width, height } = root.querySelector('.level-name').getBBox();
      const inside = (point) => point.x > x && point.x < x + width && point.y > y + 2 && point.y < y + height - 2;
      return [...root.querySelectorAll('.curve')].filter((curve) => {
        const points = [...Array(401).keys()].map((at) => curve.getPointAtLength((at / 400) * curve.getTotalLength()));
        return points.some(inside);
      }).length;
    })"""
    found = open_page("small").page.evaluate(hidden)
    assert len(found) == 9
    assert sum(found) == 0


def test_numbers_of_faults_are_those_of_the_ticks(open_page):
    page = open_page("faulty").page
    figure = page.locator("[data-figure='faults-0']")
    figure.locator("summary").click()
    shown = figure.locator(".numbers td:nth-child(3)").all_inner_texts()
    assert set(shown) == {"0", "0.25", "0.5"}
    assert figure.locator(".numbers th:nth-child(3)").inner_text() == "rate (link_outage)"


def test_legend_shows_the_curves_that_are_there(open_page):
    page = open_page("two").page
    figure = page.locator("[data-figure='compare-0']")
    assert figure.locator(".legend svg .dashed").count() == 1  # the second run
    assert figure.locator(".legend .key").count() == 0  # no ideal links here
    page = open_page("ideal").page
    button = page.locator("[data-figure='accuracy-0']").get_by_role("button", name="DSGLD, ideal links")
    assert button.locator(".dashed").count() == 1
    assert button.locator(".mark").count() == 0


def test_curves_end_where_the_chain_diverged(open_page):
    page = open_page("two").page
    page.locator(".folded > summary").last.click()
    figure = page.locator("[data-figure='run2-convergence-0']")
    figure.get_by_role("slider").press("Home")
    panel = figure.locator(".panel").first
    assert panel.locator(".m-q_dsgd path.fallen").count() == 1
    reach = "each => { const box = each.getBBox(); return box.x + box.width; }"
    ends = [panel.locator(f"{name} path.curve").first.evaluate(reach) for name in (".m-q_dsgd", ".m-cd_dsgld-optimal")]
    assert ends[0] < 0.5 * ends[1]


def test_panels_of_a_row_are_level(open_page):
    page = open_page("small", {"width": 900, "height": 900}).page
    rows = page.locator(".panels.c3").evaluate_all(
        "all => all.map(each => [...each.querySelectorAll('.drawing')].slice(0, 3)"
        ".map(drawing => Math.round(drawing.getBoundingClientRect().top)))"
    )
    assert rows
    assert all(len(set(tops)) == 1 for tops in rows)


def test_the_summary_is_whole_at_900(open_page):
    wants, has = (
        open_page("small", {"width": 900, "height": 900})
        .page.locator(".glance .scroll")
        .evaluate("each => [each.scrollWidth, each.clientWidth]")
    )
    assert wants <= has


def test_paper_shows_everything(browser, files):
    """Tables whole, choices named, nothing folded, light, drawn at the width of the paper; and the screen as before."""
    page = opened_as_is(browser, files["small"], color_scheme="dark", reduced_motion="reduce")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})  # A4 within its margins
    for place in page.locator(".scroll").all():
        wants, has, name = place.evaluate("each => [each.scrollWidth, each.clientWidth, each.ariaLabel]")
        assert wants <= has + 1, name
    chosen = page.locator("[data-figure='reliability-0'] .controls")
    assert chosen.inner_text().split() == ["Graph", "full", "SNR", "30", "dB"]
    assert page.locator("#setup pre").last.is_visible()
    assert page.locator("#claims table").is_visible()
    assert page.locator("#confusion .heat-text").count() == 3 * 36  # small numbers, but numbers
    shrunk = "each => each.getBoundingClientRect().width / each.viewBox.baseVal.width"
    drawn = f"[...document.querySelectorAll('.panel svg')].map({shrunk})"  # in one go: they may be drawn anew any time
    assert min(page.evaluate(drawn)) > 0.9  # so are their ticks
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.set_viewport_size(WIDE)
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    assert page.locator("section > details[open]").count() == 0
    page.context.close()
