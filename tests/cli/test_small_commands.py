"""doctor, cite, new and completion as people use them."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import jax
import numpy as np
import pytest
from cli.test_cli import run

from airbayes import __version__, templates
from airbayes.cli import doctor
from airbayes.cli.arguments import parse
from airbayes.cli.commands import COMMANDS
from airbayes.cli.mistakes import plain
from airbayes.experiment.config import DigitalConfig, ExperimentConfig
from airbayes.experiment.presets import PRESETS, preset
from airbayes.experiment.references import references_of
from airbayes.experiment.self_test import ETA, sampler_against_its_law
from airbayes.experiment.template import commented_toml
from airbayes.experiment.toml_io import parse_config

ROOT = Path(__file__).parents[2]


def test_the_doctor_finds_a_sound_installation_and_says_what_is_missing():
    """Compiled as for users: the other tests compile faster (tests/conftest.py)."""
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    command = [sys.executable, "-m", "airbayes", "doctor", "--json"]
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found["sound"] is True
    by_name = {finding["about"]: finding for finding in found["findings"]}
    assert "closed-form law" in by_name["sampler"]["text"]
    assert "numpy" in by_name["packages"]["text"]
    assert {"disk", "memory", "cache", "devices", "compiler", "C++ code"} <= set(by_name)
    for extra, missing in doctor.missing_by_extra().items():
        assert by_name[extra]["status"] == ("missing" if missing else "ok")


def test_a_wrong_sampler_is_broken(monkeypatch, capsys):
    """A mutant: noise of η·1.05 under the law of η."""
    wrong = sampler_against_its_law(1.05 * ETA)
    assert not wrong.passed
    monkeypatch.setattr("airbayes.experiment.self_test.sampler_against_its_law", lambda: wrong)
    assert run("doctor") == 1
    assert re.search(r"broken\s+sampler", capsys.readouterr().out)


def test_wrong_machine_code_is_broken(monkeypatch):
    monkeypatch.setattr("airbayes.native.why_not", lambda: None)
    for error, status in ((0.1, "broken"), (float("nan"), "broken"), (1e-7, "ok")):
        monkeypatch.setattr("airbayes.models.self_test.pointnet_against_plain", lambda found=error: found)
        assert doctor._native().status == status


def test_no_compiler_is_a_thing_that_is_missing(monkeypatch):
    monkeypatch.setattr("airbayes.native.why_not", lambda: "no C++ compiler (c++)")
    finding = doctor._native()
    assert (finding.status, "apt install g++" in finding.text) == ("missing", True)


def test_findings_hang_below_each_other_and_a_cpu_is_one(monkeypatch, capsys):
    finding = doctor.Finding("lidar", "missing", "reading Argoverse 2: needs pyarrow; " * 5)
    monkeypatch.setattr(doctor, "examine", lambda: iter([finding]))
    assert run("doctor") == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert len(first) <= 120
    assert second.startswith(" " * 22)
    assert "cpu cpu" not in doctor._devices().text


def test_a_check_that_raises_is_a_finding():
    def fails():
        raise RuntimeError("no such device\nand more")

    (finding,) = doctor._guarded("devices", fails)
    assert (finding.status, finding.text) == ("broken", "RuntimeError: no such device")


def test_without_a_device_the_doctor_says_why_and_tries_nothing_on_it(monkeypatch):
    monkeypatch.setattr(jax, "devices", Mock(side_effect=AssertionError))  # JAX, without the plug-in of a GPU
    monkeypatch.setattr(doctor, "_sampler", lambda: pytest.fail("a sampler without a device"))
    *_, last = doctor.examine()
    assert (last.about, last.status) == ("devices", "broken")
    assert "JAX finds no such device here. Leave JAX_PLATFORMS out" in last.text


@pytest.mark.parametrize("words", [["--dry-run"], ["--methods", "dsgld", "--processes=5"]])
def test_a_device_that_is_not_there_is_told(words, tmp_path):
    command = [sys.executable, "-m", "airbayes", "run", "gaussian", "--out", str(tmp_path / "run"), *words]
    env = os.environ | {"JAX_PLATFORMS": "nowhere"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error: JAX_PLATFORMS=nowhere: JAX finds no such device here" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("cores", "said"), [({0}, "1 processor core"), ({0, 1}, "2 processor cores")])
def test_one_core_is_one_core(cores, said, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: cores, raising=False)
    assert doctor._memory().text.endswith(said)


def test_what_is_cited_is_what_is_used(capsys):
    assert run("cite") == 0
    assert re.findall(r"^@\w+\{(\w+),$", capsys.readouterr().out, re.M) == ["airbayes", "barbieri2023channel"]
    assert run("cite", "quick") == 0
    keys = re.findall(r"^@\w+\{(\w+),$", capsys.readouterr().out, re.M)
    assert {"qi2017pointnet", "alistarh2017qsgd", "koloskova2019decentralized", "naeini2015obtaining"} <= set(keys)
    assert len(keys) == len(set(keys))
    linear = {reference.key for reference, _ in references_of(preset("gaussian"))}
    assert not linear & {"qi2017pointnet", "alistarh2017qsgd", "naeini2015obtaining"}
    literal = ExperimentConfig(methods=("q_dsgd",), digital=DigitalConfig(mode="zero-fill"))
    assert "koloskova2019decentralized" not in {reference.key for reference, _ in references_of(literal)}


def test_citations_agree_with_the_citation_file():
    text = (ROOT / "CITATION.cff").read_text()
    (software, _), (paper, _) = references_of(None)
    assert f"version: {__version__}" in text
    assert dict(software.fields)["version"] == __version__
    assert dict(paper.fields)["title"].replace("{", "").replace("}", "") in text
    assert dict(paper.fields)["eprint"] in text


def test_bibtex_is_balanced():
    for name in PRESETS:
        for reference, _ in references_of(preset(name)):
            entry = reference.bibtex()
            assert entry.count("{") == entry.count("}")
            assert len(re.findall(r"^  \w+\s*= \{.*\},$", entry, re.M)) == len(reference.fields)


def test_a_run_folder_can_be_cited(tmp_path, capsys):
    (tmp_path / "config.toml").write_text('methods = ["sgld"]\n')
    assert run("cite", str(tmp_path)) == 0
    assert "welling2011bayesian" in capsys.readouterr().out
    assert run("cite", str(ROOT / "docs")) == 2
    assert "no results folder" in capsys.readouterr().err
    assert run("cite", "gausian") == 2
    assert "Did you mean gaussian?" in capsys.readouterr().err


def test_new_files_run_as_they_are(tmp_path, capsys):
    assert run("new", "my-study", "--out", str(tmp_path)) == 0
    assert "airbayes run" in capsys.readouterr().out
    experiment, parts = tmp_path / "my-study.toml", tmp_path / "my_study_parts.py"
    few = ["--sampling.steps=30", "--sampling.burn-in=10", "--evaluations=2", "--methods", "sgld", "--quiet"]
    assert run("run", str(experiment), *few, "--out", str(tmp_path / "out")) == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["cells"]
    done = subprocess.run([sys.executable, str(parts)], capture_output=True, text=True, check=True)
    means = {line[:28].strip(): np.fromstring(line[28:].strip(" []"), sep=" ") for line in done.stdout.splitlines()}
    assert set(means) > {"my channel, my policy", "my sampler, ideal links", "exact posterior"}
    for mean in means.values():
        np.testing.assert_allclose(mean, means["exact posterior"], atol=0.25)
    assert run("new", "my-study", "--out", str(tmp_path)) == 2
    assert "is there already" in capsys.readouterr().err
    assert run("new", "../up") == 2
    assert "names files" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*PRESETS, None])
def test_a_commented_file_is_the_configuration_it_was_made_of(name):
    config = ExperimentConfig() if name is None else preset(name)
    text = commented_toml(config, "An introduction.")
    assert parse_config(text) == config
    assert "# η, step size." in text
    assert max(len(line) for line in text.splitlines() if line.startswith("#")) <= 120


def test_commands_to_paste_are_quoted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("new", "c", "--out", "sub dir") == 0
    assert "airbayes run 'sub dir/c.toml' --dry-run" in capsys.readouterr().out


def test_the_template_is_part_of_the_package():
    assert (Path(templates.__file__).parent / "parts.py").is_file()


def test_an_unknown_shell_is_named(capsys):
    assert run("completion", "tcsh") == 2
    assert "Shells: bash, zsh, fish" in capsys.readouterr().err


HELP = [
    *(c.name for c in COMMANDS if c.name not in ("data", "completion")),
    "data simulate",
    "data inspect",
    "data convert",
]


@pytest.mark.parametrize("command", HELP)
def test_help_speaks_of_what_is_typed(command: str, capsys):
    """No types of Python where a name belongs, no empty default, no panel named after a variable."""
    assert run(*command.split(), "--help") == 0
    text = capsys.readouterr().out
    for stray in ("{None}", "default: None", "options options", "[[", "--no-debug"):
        assert stray not in text
    arguments = text.partition("positional arguments")[2].partition("╰")[0]
    assert not re.search(r"│ \[?(STR|PATH PATH)", arguments)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "Name the experiment: quick, "),
        (["run", "absent.toml"], "`airbayes new NAME` writes an experiment file"),
        (["plan", "ring", "--snr-db", "10", "abc"], "'abc' is not a number."),
        (["plan", "ring", "--snr-db", "10,20"], "'10,20' is not a number. A fraction takes a point, and sev"),
        (
            ["run", "gaussian", "--sampling.stepz", "5"],
            "Unknown option --sampling.stepz. Did you mean --sampling.steps?",
        ),
        (["run", "gaussian", "--setps", "5"], "Unknown option --setps. Did you mean --sampling.steps? See"),
        (["run", "gaussian", "--output", "x"], "Did you mean --out? See"),
        (["run", "gaussian", "--epochs", "5"], "Unknown option --epochs. See"),
        (["run", "gaussian", "--steps", "5"], "Did you mean --sampling.steps? See `airbayes run gaussian --help`."),
        (["run", "gaussian", "--eta", "5"], "Did you mean --sampling.eta or --momentum.eta? See"),
        (["run", "gaussian", "--agents", "5"], "Did you mean --network.agents? See"),
        (["run", "gaussian", "--sampling.steps", "abc"], "error: --sampling.steps: 'abc' is not a whole number."),
        (["run", "gaussian", "--problem.kind", "softmx"], "pointnet. Did you mean softmax?"),
        (["run", "gaussian", "--out"], "error: --out needs a value."),
        (["run", "gaussian", "--aa", "1", "--bb"], "Unknown options --aa, --bb."),
        (["decide"], "error: RUN is missing: Results folder of a classification run."),
        (["data", "simulat"], "Unknown command 'simulat'. Did you mean simulate?"),
        (["cite", "quick", "more"], "'more': more arguments than expected."),
        (["run", "gaussian", "channel.snr_db=9"], "A setting is an option: --channel.snr-db 9"),
        (["run", "gaussian", "--set", "seeds=3"], "Unknown option --set. A setting is an option: --seeds 3"),
        (["cite", "runs/absent"], "There is no preset, folder or file 'runs/absent'. Name a results folder"),
        (["new", "1abc"], "begin with a letter from a to z or A to Z"),
        (["bench", "--only", "c", "--methods", "dsgld"], "--methods chooses in section b, which --only c leaves out."),
        (["cite", "absent.toml"], "There is no preset, folder or file 'absent.toml'."),
    ],
)
def test_mistakes_of_a_first_day_name_the_fix(words: list[str], said: str, capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 2
    assert said in " ".join(capsys.readouterr().err.split())


COMMANDS_OF_RUNS = {
    "predict": ["set.npz"],
    "decide": [],
    "export": [],
    "report": [],
    "claims": [],
    "merge": ["other", "--out", "merged"],
}


@pytest.mark.parametrize("command", COMMANDS_OF_RUNS)
def test_a_folder_that_is_none_of_a_finished_run_is_told_apart(command: str, capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("empty", "other", "notes", "stopped/progress", "finished"):
        Path(folder).mkdir(parents=True)
    for file in ("notes/todo.txt", "finished/config.toml", "finished/results.nc", "plain"):
        Path(file).write_text("")
    said = {
        "absent": "There is no folder absent. Give a results folder",
        "a/b": "There is no folder a/b.",
        "x" * 400: "There is no folder xxx",
        "plain": "plain is a file, no results folder. `airbayes run` writes",
        "finished/results.nc": "is a file, no results folder. Give its folder, finished.",
        "empty": "empty is no results folder: it is empty.",
        "notes": "notes is no results folder: it has no ",
        "stopped": "stopped holds a run that is not finished",
    }
    for folder, sentence in said.items():
        assert run(command, folder, *COMMANDS_OF_RUNS[command]) == 2
        assert sentence in capsys.readouterr().err, folder
    assert not Path("merged").exists()


def test_claims_looks_at_all_folders_before_it_scores_one(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("first").mkdir()
    Path("first/results.nc").write_text("damaged")
    assert run("claims", "first", "absent") == 2
    assert "There is no folder absent" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_told_before_any_work(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("airbayes.cli.plan.make_plan", lambda *_: pytest.fail("it began to work"))
    Path("plain").write_text("")
    for command in (["plan", "ring"], ["new", "study"], ["bench"]):
        for out in ("plain", "plain/below/it", "/proc/below"):
            assert run(*command, "--out", out) == 2
            assert f"Cannot write to {out}: " in capsys.readouterr().err
    assert run("data", "simulate", "--out", "/proc/set.npz") == 2
    assert "Cannot write to /proc: " in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["plain"]


def test_help_fits_a_terminal_of_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run("--help") == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for command in COMMANDS:
        assert command.summary in " ".join(text.split())


def test_a_results_folder_is_no_experiment_but_holds_one(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs/mine").mkdir(parents=True)
    assert run("run", "runs/mine") == 2
    assert "runs/mine is a folder. Name a preset or an experiment file (.toml)." in capsys.readouterr().err
    Path("runs/mine/config.toml").write_text("")
    assert run("run", "runs/mine/") == 2
    assert "an experiment file (.toml): runs/mine/config.toml." in capsys.readouterr().err


def test_steps_below_one_are_one_mistake(capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("run", "gaussian", "--sampling.steps", "0") == 2
    said = capsys.readouterr().err
    assert "sampling.steps = 0 must be at least 1" in said
    assert "burn-in" not in said  # nor a burn-in or thinning that no number would mend


def test_a_box_that_is_not_known_is_passed_on_whole():
    box = "\x1b[31m╭─ \x1b[1mNew kind ─╮\n│ What is this?  │\n│ ────── │\n│ Try that. │\n╰────╯\x1b[0m\n"
    assert plain(box, "airbayes run", list) == "What is this? Try that.\n  See `airbayes run --help`."
    ascii_box = " Missing argument \n ------ \n  Missing value for argument '--out'. Expected 1 values. \n"
    assert plain(ascii_box, "airbayes run", list).startswith("--out needs a value.")
    assert plain("", "airbayes run", list).startswith("These words are not understood.")


def test_what_may_be_left_out_is_none_and_is_read_when_given():
    @dataclasses.dataclass(frozen=True)
    class Options:
        limit: float | None = None
        names: tuple[str, ...] = ()
        sizes: tuple[int, ...] = (1, 2)

    def read(*words: str) -> Options:
        return parse(Options, prog="test", description="", args=list(words))

    assert read() == Options()
    assert read("--limit", "0.5", "--names", "a", "b", "--sizes", "3") == Options(0.5, ("a", "b"), (3,))
    assert parse(Options, prog="test", description="", args=[], default=Options(2.0)) == Options(2.0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", ["--version", "run --help", "cite", "run gaussian --dry-run --methods sgld"])
def test_output_that_cannot_be_written_is_told(words):
    command = f"{sys.executable} -m airbayes {words}"
    done = subprocess.run(["sh", "-c", f"{command} >/dev/full"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error: Standard output or error cannot be written: No space left on device." in done.stderr
    assert "Traceback" not in done.stderr
    assert subprocess.run(["sh", "-c", f"{command} >/dev/full 2>/dev/full"], check=False).returncode == 2


def test_streams_that_are_closed_are_no_error():
    command = f"{sys.executable} -m airbayes plan ring"
    for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
        assert subprocess.run(["sh", "-c", f"{command} {closed}"], capture_output=True, check=False).returncode == 0


def test_no_file_takes_the_number_of_a_closed_stream(tmp_path):
    """What the compiler or a signal's handler writes to descriptor 2 would end in the results."""
    program = (
        "from airbayes.cli.main import _open_closed_streams\n_open_closed_streams()\n"
        "with open('number', 'w') as file:\n    file.write(str(file.fileno()))\nprint('lost')\n"
    )
    command = ["sh", "-c", '"$0" -c "$1" <&- >&- 2>&-', sys.executable, program]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    assert int((tmp_path / "number").read_text()) > 2


def test_a_reader_that_has_seen_enough_is_no_error():
    command = [sys.executable, "-m", "airbayes", "plan", "ring"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as plan:
        assert plan.stdout is not None
        assert plan.stderr is not None
        plan.stdout.close()  # before anything is written
        assert plan.stderr.read() == b""
        assert plan.wait() == 141
