"""Code in the documentation runs as printed, commands are accepted, and links lead somewhere."""

import contextlib
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import tyro
from data.formats import writers
from docs.blocks import PAGES, ROOT, blocks, commands
from experiment.trained_run import write_trained

from airbayes.cli.main import main
from airbayes.experiment.cells import Cell
from airbayes.experiment.presets import PRESETS
from airbayes.experiment.toml_io import parse_config
from airbayes.experiment.validate import find_problems
from airbayes.keys import Purpose


@pytest.mark.parametrize("page", ["README.md", "docs/plugins.md"])
def test_python_blocks_run_one_after_the_other(page):
    code = blocks(ROOT / page, "python")
    assert code
    namespace: dict = {"__name__": "docs"}
    for block in code:
        exec(compile(block, page, "exec"), namespace)


def test_an_experiment_runs_from_python():
    code = blocks(ROOT / "docs" / "experiments.md", "python")[0]
    namespace: dict = {}
    exec(compile(code, "experiments.md", "exec"), namespace)
    assert namespace["results"].sizes["topology"] == 2
    assert float(namespace["results"].w2_agent.max()) < 0.5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_is_read_without_scrolling_sideways(page):
    """So many characters fit beside the two menus of the site, on a screen of 1400 pixels."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```[^\n]*\n(.*?)^```$", text, re.M | re.S):
        assert max(map(len, block.splitlines()), default=0) <= 113, block


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


@pytest.mark.parametrize("page", ["docs/data.md", "docs/simulator.md", "docs/study.md", "docs/api/samplers.md"])
def test_blocks_about_files_run_where_these_are(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRBAYES_CACHE", "off")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    writers.write_kitti_object(tmp_path / "kitti")
    namespace: dict = {}
    for block in blocks(ROOT / page, "python"):
        exec(compile(block, page, "exec"), namespace)
    if page == "docs/data.md":
        assert set(namespace["objects"].class_names) == {"car"}
    if page == "docs/simulator.md":
        assert len(namespace["train"]) == 6 * 20
    if page == "docs/api/samplers.md":
        assert np.all(namespace["last"].step == 200)
        assert np.abs(namespace["sampled"].std(0) / np.sqrt(np.diag(namespace["cov"])) - 1).max() < 0.1
    if page == "docs/study.md":
        assert (tmp_path / "iterations.png").stat().st_size > 50_000


def test_a_trained_run_is_used_as_printed(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime", reason="the extra `export` is not installed")
    monkeypatch.chdir(tmp_path)
    write_trained(tmp_path / "runs" / "quick", [Cell("cd_dsgld", "common", "full", 30.0, 0)])
    with pytest.raises(SystemExit):
        main(["export", "runs/quick"])
    namespace: dict = {"cloud": np.ones((20, 3), np.float32)}
    for page, folder in (("docs/predict.md", "."), ("docs/export.md", "runs/quick/export")):
        monkeypatch.chdir(folder)
        for block in blocks(ROOT / page, "py"):
            exec(compile(block, page, "exec"), namespace)
    assert namespace["found"].probabilities.shape == (1, 3)
    assert namespace["probabilities"].shape[1] == 3


def test_every_page_with_code_is_run():
    """Those above, and the tutorial, which has a test of its own."""
    with_code = {str(page.relative_to(ROOT)) for page in PAGES if blocks(page, "python", "py")}
    names = "api/samplers data experiments export plugins predict simulator study tutorial"
    assert with_code == {"README.md", *(f"docs/{name}.md" for name in names.split())}


class ParsedError(Exception):
    """Raised in place of running: the arguments were accepted."""


@pytest.fixture
def parse_only(tmp_path, monkeypatch):
    """`main` up to the point where its arguments are parsed, in a folder with the experiment files that pages name."""
    real = tyro.cli

    def parse(*args, **kwargs):
        real(*args, **kwargs)
        raise ParsedError

    monkeypatch.setattr(tyro, "cli", parse)
    monkeypatch.chdir(tmp_path)

    def run(words: list[str]) -> None:
        for word in words:
            if word.endswith(".toml"):
                Path(word).parent.mkdir(parents=True, exist_ok=True)
                Path(word).write_text('name = "named-in-a-page"', encoding="utf-8")
        with contextlib.suppress(ParsedError), pytest.raises(SystemExit, check=lambda stop: stop.code in (0, None)):
            main(words)

    return run


def all_commands() -> list[str]:
    """One command of each kind: the same command with the same options is parsed once."""
    kinds: dict[tuple, str] = {}
    for page in PAGES:
        for line in commands(page):
            words = shlex.split(line)
            options = sorted(word for word in words if word.startswith("--"))
            kinds.setdefault((words[1], words[2] if words[1] == "data" else "", *options), line)
    return list(kinds.values())


def test_commands_in_pages_are_accepted(parse_only, capsys):
    found = all_commands()
    assert len(found) > 30
    refused = {}
    for line in found:
        try:
            parse_only(shlex.split(line)[1:])
        except AssertionError:
            refused[line] = capsys.readouterr().err
    assert not refused, refused


def test_a_wrong_command_is_refused(parse_only):
    for line in ("airbayes run gaussian --no-such-option", "airbayes runn gaussian", "airbayes data melt x.npz"):
        with pytest.raises(AssertionError):
            parse_only(shlex.split(line)[1:])


def test_all_purposes_of_random_keys_and_all_presets_are_named():
    """Who takes a free number from the page must not share a stream with what is there."""
    rows = re.findall(r"^\| `([A-Z]+)` \| (\d+) \|", (ROOT / "docs/notation.md").read_text(), re.MULTILINE)
    assert [(name, int(number)) for name, number in rows] == [(each.name, each.value) for each in Purpose]
    listed = (ROOT / "docs/experiments.md").read_text().partition("**Presets.**")[2].partition("## ")[0]
    assert [name for name in PRESETS if f"`{name}`" not in listed] == []
