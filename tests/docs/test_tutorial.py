"""The tutorial, from the first command to the last, in an empty folder; only the PointNet is made up."""

import contextlib
import io
import re
import shlex

import numpy as np
import pytest
from docs.blocks import ROOT, blocks, commands
from experiment.trained_run import write_trained

from airbayes.cli.main import main
from airbayes.cli.run_options import load_experiment, parse_run
from airbayes.data.simulator import CLASSES
from airbayes.experiment.cells import Cell
from airbayes.experiment.validate import find_problems

PAGE = ROOT / "docs" / "tutorial.md"
SHORTER = ["--sampling.chains", "8"]  # in place of 32


def run(line: str, folder) -> None:
    words = shlex.split(line)[1:]
    if words[:2] == ["run", "quick"]:  # minutes of training: its settings are checked, its result is made up
        options, _, config = parse_run(load_experiment("quick"), "quick", words[2:])
        assert find_problems(config) == []
        assert options.out is not None
        write_trained(folder / options.out, [Cell("cd_dsgld", "common", "full", 30.0, 0)], CLASSES)
        return
    if words[0] == "run" and "--dry-run" not in words:
        words += SHORTER
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code in (0, None), line


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The folder after every command and block of the page, in their order, and what they printed."""
    folder = tmp_path_factory.mktemp("tutorial")
    text = PAGE.read_text(encoding="utf-8")
    steps = re.findall(r"^```(bash|python)\n(.*?)^```$", text, re.M | re.S)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("AIRBAYES_CACHE", "off")
        names: dict = {"__name__": "tutorial"}
        printed = io.StringIO()
        for language, code in steps:
            with contextlib.redirect_stdout(printed):
                if language == "python":
                    exec(compile(code, "tutorial.md", "exec"), names)
                else:
                    for line in code.replace("\\\n", " ").splitlines():
                        if line.startswith("airbayes "):
                            run(line, folder)
        _, *load = blocks(ROOT / "docs" / "experiments.md", "python")  # the same kind of run, under another name
        (folder / "runs" / "gaussian").symlink_to(folder / "runs" / "first")
        for code in load:
            exec(compile(code, "experiments.md", "exec"), names)
    return folder, names, printed.getvalue()


def test_every_command_is_one_of_ours():
    assert len(commands(PAGE)) == 7


def test_what_the_page_says_about_the_first_run(followed):
    """W2 at 10 dB is above 1 with the paper's gains, and small with the common one."""
    _, names, _ = followed
    found = names["results"].w2_agent.sel({"topology": "ring"}).mean("seed")
    optimal, common = (found.sel({"method": f"cd_dsgld:{policy}"}) for policy in ("optimal", "common"))
    assert (common.sel(snr_db=[10, 20, 30]) < 0.2).all()
    assert float(optimal.sel(snr_db=10)) > 1
    assert float(optimal.sel(snr_db=30)) < 0.1
    assert names["curve"].notnull().any()


def test_the_kitchen_is_hot(followed):
    _, _, printed = followed
    shown = (re.findall(rf"^{name} +\[(.*)\]$", printed, re.M)[0] for name in ("AWGN", "kitchen"))
    quiet, kitchen = (np.array([float(number) for number in line.split()]) for line in shown)
    assert kitchen[4] > 1.5 * quiet[4]
    assert kitchen[0] > quiet[0]  # a neighbour
    assert quiet.shape == kitchen.shape == (5,)


def test_a_report_and_predictions_are_there(followed):
    folder, _, printed = followed
    assert (folder / "runs" / "first" / "report.html").stat().st_size > 10_000
    assert (folder / "mine.pdf").stat().st_size > 5_000
    assert re.search(r"30 objects, \d+ answered \(coverage", printed)  # five of each class
    assert "22.7" in printed  # the transition SNR that the page names
