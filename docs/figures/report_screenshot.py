"""Makes docs/figures/report.png: `airbayes report docs/results/paper`, as Chromium shows its top.

python docs/figures/report_screenshot.py [RESULTS] [PNG]
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from airbayes.cli.report import report_command

ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def main(results: Path, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        report_command([str(results), "--out", str(page_file)])
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1560}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.wait_for_selector("#accuracy svg")
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    given = [Path(name) for name in sys.argv[1:]]
    main(*(given + [ROOT / "docs" / "results" / "paper", ROOT / "docs" / "figures" / "report.png"][len(given) :]))
