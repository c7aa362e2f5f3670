"""The command as people use it: exit codes, messages, files."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from contextlib import suppress

import pytest
from experiment.made_folder import write_made

from airbayes.cli.commands import COMMANDS, load_command
from airbayes.cli.main import main, say_warnings
from airbayes.cli.progress import make_console

SMALL = [
    "--sampling.steps=60",
    "--sampling.burn-in=20",
    "--sampling.chains=2",
    "--channel.snr-db",
    "0",
    "40",
    "--methods",
    "sgld",
    "dsghmc",
    "cd_dsgld",
    "--policies",
    "common",
]


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    code = stop.value.code
    return 0 if code is None else int(code)


def test_run_writes_everything_and_can_be_repeated_from_its_config(tmp_path, capsys):
    out = tmp_path / "a"
    assert run("run", "gaussian", "--out", str(out), *SMALL) == 0
    captured = capsys.readouterr()
    text = captured.out
    assert "compiled in" in captured.err
    assert "compiling" not in text
    assert "W2 to the true posterior" in text
    assert "Predicted transition SNR" in text
    names = {"SHA256SUMS", "cells.csv", "config.toml", "events.jsonl", "results.nc", "summary.json"}
    names |= {"gaussian.png", "gaussian.svg", "report.html"}
    assert {path.name for path in out.iterdir()} == names
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=out, check=True, capture_output=True)
    cells = json.loads((out / "summary.json").read_text())["cells"]
    assert len(cells) == 1 + 3 + 3 * 2
    assert {cell["status"] for cell in cells} == {"ok"}

    assert run("run", "gaussian", "--out", str(out), *SMALL) == 0
    assert "already holds this experiment" in capsys.readouterr().out
    assert run("run", "gaussian", "--out", str(out)) == 2
    assert "sampling.steps: 60 → 5000" in capsys.readouterr().err

    assert run("run", str(out / "config.toml"), "--out", str(tmp_path / "b"), "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "b" / "summary.json").read_text())["cells"] == cells


FEW = ["--sampling.steps=12", "--sampling.burn-in=4", "--sampling.thin=1", "--sampling.chains=2", "--evaluations=2"]


def test_what_replaces_other_results_can_be_stopped_and_goes_on(tmp_path, capsys):
    """The first command needs --force, the one that goes on must not have it: it would start over."""
    folder = write_made(tmp_path / "out", 0, 1)
    other = ["run", "gaussian", "--methods", "sgld", "--out", str(folder), "--time-limit=0.001", *FEW]
    assert run(*other) == 2
    assert "holds results of another configuration" in capsys.readouterr().err
    assert run(*other, "--force") == 75
    begun = folder / "progress" / "begun" / "manifest.json"
    before = begun.stat().st_mtime_ns
    assert run(*other) == 75
    assert begun.stat().st_mtime_ns == before  # it did not start over
    assert run(*other, "--seeds=3") == 2
    assert "holds an unfinished run of another configuration" in capsys.readouterr().err


def test_without_a_network_there_is_a_table_and_no_figure(tmp_path, capsys):
    assert run("run", "gaussian", "--methods", "sgld", "--out", str(tmp_path / "a"), *FEW) == 0
    assert "SGLD" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "a").iterdir()} == {
        "SHA256SUMS",
        "cells.csv",
        "config.toml",
        "events.jsonl",
        "report.html",
        "results.nc",
        "summary.json",
    }


def test_a_run_in_which_everything_diverges_says_so(tmp_path, capsys):
    args = ["--methods", "dsgld", "--sampling.eta=1000", "--out", str(tmp_path / "a")]
    assert run("run", "gaussian", *FEW, *args) == 0
    out = capsys.readouterr().out
    assert len(re.findall(r"^ DSGLD .*\bdiverged\b", out, re.M)) == 6 * 3  # six tables, three graphs
    assert "the step is too large" in " ".join(out.split())  # the remedy, once for all
    assert {c["status"] for c in json.loads((tmp_path / "a" / "summary.json").read_text())["cells"]} == {"diverged"}


def test_edge_lists_travel_with_the_results(tmp_path, capsys, monkeypatch):
    roads = tmp_path / "roads.csv"
    roads.write_bytes(b"# Z\xfcrich\r\n0,1\r\n1,2\r\n2,3\r\n3,4\r\n")  # neither UTF-8 nor Unix line ends
    monkeypatch.chdir(tmp_path)
    args = ["run", "gaussian", "--methods", "dsgld", "--network.topologies", "roads.csv", "--out", "a", *FEW]
    assert run(*args) == 0
    assert run(*args) == 0
    assert "already holds" in capsys.readouterr().out
    roads.write_text("0,1\n1,2\n2,3\n3,4\n4,0\n")
    assert run(*args) == 2
    assert "the edges in roads.csv have changed" in capsys.readouterr().err
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run("run", "../a/config.toml", "--out", "b") == 0
    first, again = (json.loads((tmp_path / d / "summary.json").read_text()) for d in ("a", "elsewhere/b"))
    assert [c["w2_agent"] for c in first["cells"]] == [c["w2_agent"] for c in again["cells"]]


def test_json_writes_events_and_nothing_else(tmp_path, capsys):
    assert run("run", "gaussian", "--methods", "dsgld", "--json", "--out", str(tmp_path / "a"), *FEW) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["begin", "compiled", "progress", "progress", "finish", "done"]
    assert [event["step"] for event in events if event["event"] == "progress"] == [6, 12]
    assert events[-1]["status"] == "complete"
    assert set(events[-1]["files"]) == {path.name for path in (tmp_path / "a").iterdir()}
    found = {cell["topology"]: cell["metrics"]["w2_agent"] for cell in events[-2]["cells"]}
    cells = json.loads((tmp_path / "a" / "summary.json").read_text())["cells"]
    assert found == {cell["topology"]: cell["w2_agent"] for cell in cells}
    (tmp_path / "a" / "progress" / "dsgld-left").mkdir(parents=True)  # by a run that was killed while it cleared up
    assert run("run", "gaussian", "--methods", "dsgld", "--json", "--out", str(tmp_path / "a"), *FEW) == 0
    assert [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()] == ["done"]
    assert not (tmp_path / "a" / "progress").exists()


def test_dry_run_predicts_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = ("--methods", "cd_dsgld", "q_dsgd", "--policies", "optimal")
    assert run("run", "blobs", "--dry-run", "--sampling.eta=1e-4", *few) == 0
    text = capsys.readouterr().out
    for expected in ("23.0 dB", "27.4 dB", "29.0 dB", "coordinates per block", "MB", "cd_dsgld:optimal"):
        assert expected in text
    assert "saved_samples" not in text
    assert "Power limit" in text  # so the tutorial calls the table
    fewer = ("--saved-samples", "20", "--sampling.steps", "1200", "--sampling.burn-in", "400", "--sampling.thin", "50")
    assert run("run", "blobs", "--dry-run", "--methods", "dsgld", *fewer) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "saved_samples = 20, but a sampler keeps 16, so 16 will be stored. For more, lower sampling.thin" in text
    assert list(tmp_path.iterdir()) == []


def test_dry_run_of_a_shard_is_of_its_cells(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = ("run", "blobs", "--dry-run", "--seeds=1", "--network.topologies", "star", "--channel.snr-db", "30")
    assert run(*few, "--methods", "dsgld", "cd_dsgld", "--policies", "common", "--shard", "0/2") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Shard 0/2 computes 1 of 2 cells; the tables above are of the whole experiment." in text
    table = text[text.index("blobs, shard 0/2: cells") :]
    assert "dsgld 1 1" in table
    assert "cd_dsgld" not in table
    assert "compiled meanwhile" not in table  # units of a shard run one after the other
    assert run(*few, "--methods", "q_dsgd", "--problem.features=12000", "--shard", "1/2") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "star 900 to 3,128" in text  # t of the leaves and of the hub
    assert "1 will be idle" in text
    assert text.endswith("Shard 1/2 computes 0 of 1 cell; the tables above are of the whole experiment.")


def test_dry_run_has_a_row_for_each_graph_and_says_that_faults_are_not_in_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenarios = ("ring", "ring@link_outage=0.3", "ring@gain_std=0.1", "star")
    words = ("--methods", "cd_dsgld", "--policies", "common", "--sampling.eta=1e-4", "--network.topologies", *scenarios)
    assert run("run", "gaussian", "--dry-run", *words) == 0
    text = capsys.readouterr().out
    assert text.count("29.0 dB") == 1  # the transition of a ring
    assert [line.split()[0] for line in text.splitlines() if line.startswith(("ring", "star"))] == 2 * ["ring", "star"]
    assert "Faults are not in this table nor in those below" in text
    assert run("run", "gaussian", "--dry-run", "--methods", "cd_dsgld", "--policies", "common") == 0
    assert "Faults" not in capsys.readouterr().out


def test_list_help_and_version(capsys):
    assert run("run", "--list") == 0
    assert "gaussian" in capsys.readouterr().out
    assert run("run", "gaussian", "--help") == 0
    text = capsys.readouterr().out
    for expected in ("--sampling.eta", "η, step size", "5e-4", "SNR = P/N0 in dB", "N0", "--dry-run"):
        assert expected in text.replace("0.0005", "5e-4")
    assert run("--help") == 0
    assert run("--version") == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "gausian"], "Did you mean gaussian?"),
        (["run", "absent.toml"], "absent.toml is not there. `airbayes new NAME` writes"),
        (["run", "broken.toml"], "not valid TOML"),
        (["run", "gaussian", "--channel.snr-db", "nan"], "channel.snr_db holds nan"),
        (["run", "gaussian", "--methods", "CD-DSGLD"], "Did you mean cd_dsgld?"),
        (["run", "gaussian", "--dry-run", "--devices", "3"], "does not split evenly over 3 devices"),
        (["run", "gaussian", "--devices=-1"], "--devices -1: give at least 0."),
        (["run", "gaussian", "--sampling.burn-in", "5000"], "use a burn-in below 5000"),
        (["run", "gaussian", "--network.topologies", "islands.csv"], "components"),
        (["run", "gaussian", "--network.topologies", "directed.csv"], "directed.csv"),
        (["run", "gaussian", "--network.weights", "metropolis"], "one weight"),
        (["run", "gaussian", "--out", "a-file/below"], "Cannot write to"),
        (["run", "gaussian", "--out", ""], "--out is empty"),
        (["run", "gaussian", "--name", "../up"], "name = '../up' must be"),
        (["run", "--out", "x"], "Name the experiment before --out"),
        (["run", "gaussian", "--quiet", "--verbose"], "exclude each other"),
        (["run", "gaussian", "--json", "--dry-run"], "--dry-run runs nothing"),
        (["fly"], "Unknown command 'fly'. Commands: run, "),
        (["perdict"], "Did you mean predict?"),
        (["--debug", "run", "gaussian"], "others follow it: airbayes COMMAND --debug"),
        (["--verison"], "Before a command there are --help and --version"),
        (["version"], "Did you mean --version?"),
        (["run", "gaussian", "--time-limit", "0"], "--time-limit 0: give the seconds after which to stop"),
        (["run", "gaussian", "--time-limit", "nan"], "--time-limit nan: give"),
        (["run", "gaussian", "--checkpoint-every=-1"], "--checkpoint-every -1: give seconds between states"),
    ],
)
def test_bad_input_is_one_clear_message_and_exit_code_2(args, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.toml").write_text("seeds = [")
    (tmp_path / "islands.csv").write_text("0,1\n2,3\n3,4\n")
    (tmp_path / "directed.csv").write_text("0,1\n1,x\n")
    (tmp_path / "a-file").write_text("")
    assert run(*args) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert "Traceback" not in captured.err
    assert "compiling" not in captured.out + captured.err
    assert not (tmp_path / "runs").exists()


def test_wrong_option_suggests_the_right_one(capsys):
    assert run("run", "gaussian", "--sampling.etta", "1") == 2
    text = "".join(capsys.readouterr())
    assert "sampling.eta" in text


def test_help_is_a_word_too_and_knows_the_experiment(capsys):
    assert run("help") == 0
    assert "commands:" in capsys.readouterr().out
    assert run("help", "cite") == 0
    assert "usage: airbayes cite" in capsys.readouterr().out
    assert run("help", "data", "convert") == 0
    assert "usage: airbayes data convert" in capsys.readouterr().out
    assert run("help", "run", "gaussian") == 0
    assert "usage: airbayes run gaussian" in capsys.readouterr().out
    assert run("run", "--help", "gaussian") == 0
    assert "usage: airbayes run gaussian" in capsys.readouterr().out


def test_letters_that_the_encoding_lacks_are_spelt_out(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert run("--help") == 0
    sys.stdout.flush()
    assert rb"samples of \u03b8" in raw.getvalue()


def test_a_reader_that_leaves_is_no_failure(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(BrokenPipeError):  # which `main` answers with 141; rich exits with 1
        make_console().print("a table")
    with suppress(BrokenPipeError):
        stream.close()


def test_warnings_are_lines_and_quiet_has_none(monkeypatch, capsys):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        say_warnings()
        warnings.warn("Programs are not kept.", stacklevel=1)
        assert capsys.readouterr().err == "warning: Programs are not kept.\n"
        for letter in ("26085 (\\N{CJK UNIFIED IDEOGRAPH-65E5})", "12398 (\\N{HIRAGANA LETTER NO})"):
            warnings.warn(f"Glyph {letter} missing from font(s) DejaVu Sans.", stacklevel=1)
        told = capsys.readouterr().err
        assert told.count("\n") == 1  # not a line a letter
        assert "font.family" in told
        say_warnings(quiet=True)
        warnings.warn("Programs are not kept.", stacklevel=1)
        assert capsys.readouterr().err == ""


def test_debug_shows_the_traceback():
    from airbayes.errors import ConfigError

    with pytest.raises(ConfigError):
        main(["run", "gausian", "--debug"])


def test_help_does_not_import_jax():
    """A fresh interpreter, so that modules imported by other tests do not count."""
    code = (
        "import sys\n"
        "try:\n"
        "    import airbayes.cli.main as m; m.main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_of_the_table_is_there_and_in_the_help(command, capsys):
    assert callable(load_command(command))
    assert run("--help") == 0
    assert f"  {command.name} " in capsys.readouterr().out
