"""The documentation site: it builds without a warning, runs its notebooks, and asks no server for anything."""

import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from docs.blocks import ROOT

from airbayes import channel, network, power, samplers
from airbayes.models import FullGradient

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Asked(HTMLParser):
    """Addresses that a browser fetches when it shows a page."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.found += [given[name] for name in ("src", "srcset", "poster", "data") if name in given]
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(given.get("href", ""))
        if tag == "a":
            self.links.append(given.get("href", ""))


def read(page: Path) -> Asked:
    asked = Asked()
    asked.feed(page.read_text(encoding="utf-8"))
    return asked


def test_what_a_page_would_ask_for_is_seen(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="stylesheet" href="//a/b.css"><script src="https://a/c.js"></script><a href="https://d">d</a>'
    )
    assert read(page).found == ["//a/b.css", "https://a/c.js"]


def test_no_page_asks_for_anything_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        for address in read(page).found:
            assert not re.match(r"(https?:)?//", address), f"{page.name} loads {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", style.read_text(encoding="utf-8")), style.name


def test_every_page_is_in_the_navigation(site):
    links = {link.partition("#")[0] for link in read(site / "index.html").links}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert str(page.relative_to(ROOT / "docs").with_suffix(".html")) in links
    for notebook in NOTEBOOKS:
        assert f"notebooks/{notebook.stem}.html" in links


def test_figures_lead_to_their_files_and_options_are_not_broken(site):
    home = (site / "index.html").read_text()
    assert '<a class="figure wide" href="results/paper/fig2.png" title="Full size"><img ' in home
    notebook = (site / "notebooks" / "posterior.html").read_text()
    assert 'class="figure" href="posterior-1.png"' in notebook
    assert '<code><span class="option">--dry-run</span></code>' in (site / "experiments.html").read_text()
    for page in site.glob("*.html"):
        text = page.read_text()
        assert '<pre><span></span><code><span class="option"' not in text
        for found in re.findall(r'class="figure[^"]*" href="([^"]+)"', text):
            assert (page.parent / found).is_file(), (page.name, found)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_output(notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def text_of(page: Path) -> str:
    return re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))


def numbers(pattern: str, text: str) -> list[float]:
    (line,) = re.findall(pattern, text, re.M)
    return [float(number) for number in re.findall(r"\d+\.\d*", line)]


def test_the_first_notebook_samples_the_posterior(site):
    text = text_of(site / "notebooks" / "posterior.html")
    sampled, exact = (np.reshape(numbers(rf"^{name} +\[.*$", text), (2, 2)) for name in ("sampled", "exact"))
    assert np.abs(sampled[0] - exact[0]).max() < 0.05  # half a standard deviation of the posterior
    assert np.abs(sampled[1] / exact[1] - 1).max() < 0.25
    assert numbers(r"10 dB +paper&#39;s gains|10 dB  paper.*$", text)[1] < 1.0
    assert numbers(r"10 dB  common.*$", text)[1] > 1.6
    assert (site / "notebooks" / "posterior-2.png").stat().st_size > 10_000


def test_the_second_notebook_finds_the_optimiser_overconfident(site):
    text = text_of(site / "notebooks" / "calibration.html")
    optimiser, tempered, sampler = (
        numbers(rf"^{name}.*accuracy.*$", text)[-2] for name in ("DSGD  ", "DSGD, T", "CD-DSGLD over")
    )
    assert optimiser > 0.15 > sampler > tempered


PACKAGES = ["samplers", "network", "channel", "power", "models", "metrics", "compress", "data", "experiment"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_the_reference(site, package):
    """What a package offers under its own name has an entry, and a class the signature of its constructor."""
    module = importlib.import_module(f"airbayes.{package}")
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted((site / "api").glob("*.html")))
    for name in module.__all__:
        entry = re.search(
            rf'id="(airbayes\.{package}\.[\w.]*\b{name})" class="doc doc-heading">(.*?)doc-contents', text, re.S
        )
        assert entry, f"airbayes.{package}.{name} is on no page of docs/api"
        thing = getattr(module, name)
        if isinstance(thing, type) and not issubclass(thing, Exception):
            shown = re.sub(r"<[^>]+>", "", entry[2])
            for parameter in inspect.signature(thing).parameters:
                assert re.search(rf"\b{parameter}\b", shown), f"{name}({parameter}=…) is not in the reference"


def test_fields_are_explained_by_the_comments_beside_them(site):
    text = text_of(site / "api" / "samplers.html")
    assert "receiver: what it does about impulses and jammers; None trusts every block" in text
    assert "step_size: StepSize | ArrayLike" in text  # what may be passed, not what is kept
    radio = text_of(site / "api" / "radio.html")  # where a constructor is written too
    assert re.search(r"jammed: .*, how many receivers hear it, from the first on", radio)


def test_columns_in_docstrings_stay_columns(site):
    """Lines of a table that are not indented run together into one sentence."""
    for page in sorted((site / "api").glob("*.html")):
        for paragraph in re.findall(r"<p>(.*?)</p>", page.read_text(encoding="utf-8"), re.S):
            assert not re.search(r"\S {3,}\S", paragraph), f"{page.name}: indent {paragraph!r} by four"


def test_what_samplers_tell_is_in_the_reference():
    """The table of docs/api/samplers.md against one step of each."""
    rows = re.findall(r"^\| (.+?) \| (.*`.*) \|$", (ROOT / "docs/api/samplers.md").read_text(encoding="utf-8"), re.M)
    names = {key: set(re.findall(r"`([a-z_]+)`", words)) for sampler, words in rows for key in sampler.split(", ")}
    potential = FullGradient(lambda theta, data: 0.5 * jnp.sum(theta**2))
    ring, eta, radio = network.build_mixing(network.ring(3)), 1e-3, (channel.AWGN(20.0), power.Common())
    churn = samplers.Faults(churn=samplers.Churn(0.5, 3.0))
    clipping, testing = samplers.ClippingReceiver(3.0), samplers.TestingReceiver(3.0)
    failing = names["… where links or agents fail"]
    air = names["CDDSGLD"]
    for sampler, told in [
        (samplers.SGLD(potential, eta), names["SGLD"]),
        (samplers.SGD(potential, eta), names["SGD"]),
        (samplers.DSGLD(potential, ring, eta), names["DSGLD"]),
        (samplers.DSGHMC(potential, ring, eta, 1.0), names["DSGHMC"]),
        (samplers.DSGD(potential, ring, eta), names["DSGD"]),
        (samplers.QDSGD(potential, ring, jnp.full(3, 2), eta, 0.3), names["QDSGD"]),
        (samplers.CDDSGLD(potential, ring, *radio, eta), air),
        (samplers.CDDSGLD(potential, ring, *radio, eta, faults=churn), air | failing),
        (samplers.CDDSGLD(potential, ring, *radio, eta, receiver=clipping), air | names["… with a `ClippingReceiver`"]),
        (samplers.CDDSGLD(potential, ring, *radio, eta, receiver=testing), air | names["… with a `TestingReceiver`"]),
    ]:
        _, info = sampler.step(jax.random.key(0), sampler.init(jnp.ones((3, 2))), jnp.zeros((3, 1)))
        assert set(info) == told, type(sampler).__name__


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
def test_in_a_browser_nothing_is_fetched_and_nothing_overflows(site):
    from playwright.sync_api import sync_playwright

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    asked, said = [], []
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 390, "height": 844})
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            for name in ("index", "tutorial", "noise", "notebooks/calibration", "api/samplers", "study"):
                page.goto(f"{home}{name}.html")
                page.wait_for_load_state("networkidle")
                assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
                widths = page.eval_on_selector_all(".figure.wide img", "all => all.map(one => one.clientWidth)")
                assert all(width > 800 for width in widths), name  # its letters are those of a desk
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    assert len(asked) > 10
    assert [url for url in asked if not url.startswith((home, "data:", "blob:"))] == []
    assert said == []
