"""Code in the documentation runs as printed, commands are accepted, and links lead somewhere."""

import ast
import contextlib
import re
import shlex
from pathlib import Path

import pytest
import tyro
from docs.blocks import PAGES, ROOT, blocks, commands

from airbayes.cli.main import main
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_imports_in_blocks_work(page):
    """Blocks that need a data set or a long run cannot run here; what they import must be there all the same."""
    for block in blocks(page, "python", "py"):
        imports = [node for node in ast.parse(block).body if isinstance(node, ast.Import | ast.ImportFrom)]
        ours: list[ast.stmt] = [node for node in imports if "airbayes" in ast.unparse(node)]
        exec(compile(ast.Module(ours, []), page.name, "exec"), {})


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
