"""Code in the documentation runs as printed, and links lead somewhere."""

import re
from pathlib import Path

import pytest

from airbayes.experiment.toml_io import parse_config
from airbayes.experiment.validate import find_problems

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("page", ["README.md", "docs/plugins.md"])
def test_python_blocks_run_one_after_the_other(page):
    code = blocks(ROOT / page, "python")
    assert code
    namespace: dict = {"__name__": "docs"}
    for block in code:
        exec(compile(block, page, "exec"), namespace)


def test_readme_sample_samples_the_posterior(capsys):
    (code,) = blocks(ROOT / "README.md", "python")
    assert len(code.strip().splitlines()) <= 12
    namespace: dict = {}
    exec(compile(code, "README.md", "exec"), namespace)
    theta = namespace["state"].theta
    assert theta.shape == (5, 2)
    assert abs(float(theta[:, 0].mean()) - 1) < 0.5
    assert abs(float(theta[:, 1].mean()) + 2) < 0.5
    assert capsys.readouterr().out


def test_toml_blocks_are_valid_experiments():
    found = [block for page in PAGES for block in blocks(page, "toml")]
    assert found
    for block in found:
        assert find_problems(parse_config(block)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
