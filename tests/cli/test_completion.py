"""Completion as people get it: a real bash, zsh and fish are asked what they would offer."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from airbayes.experiment.presets import PRESETS

Ask = Callable[..., list[str]]
FILES = {"mine.toml", "my file.toml", "run"}  # `run`: a folder named like a command
GRAPHS = {"full", "star", "ring", "line", "grid", "random_geometric", "erdos_renyi", "small_world"}
POLICIES = {"optimal", "truncated", "common"}
SECONDS = 30.0


@pytest.fixture(scope="module")
def scripts(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    code = (
        "import sys; from airbayes.cli.completion import pages; from airbayes.cli.completion_scripts import SCRIPTS\n"
        "from pathlib import Path; found = list(pages())\n"
        "[Path(sys.argv[1], name).write_text(write(found)) for name, write in SCRIPTS.items()]\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    return {name: folder / name for name in ("bash", "zsh", "fish")}


def ask_bash(script: Path, words: list[str], folder: Path) -> list[str]:
    listed = " ".join(f"'{word}'" for word in words)
    given = f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}"
    code = f"source {script}; {given}; _airbayes; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return done.stdout.splitlines()


def ask_fish(script: Path, words: list[str], folder: Path) -> list[str]:
    code = f"source {script}; complete -C '{' '.join(words)}'"
    done = subprocess.run(["fish", "--no-config", "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return [line.split("\t")[0].rstrip("/") for line in done.stdout.splitlines()]


# Installed as `completion --help` says, into a folder of $fpath. What is offered is written down instead of shown.
ZSHRC = r"""
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit && compinit -u -d $ZDOTDIR/dump
zstyle ':completion:*' insert-tab false
comppostfuncs=(exit)
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  print -rl -- $hits >> $ZDOTDIR/offered
  builtin compadd "$@"
}
"""


def ask_zsh(script: Path, words: list[str], folder: Path) -> list[str]:
    """zsh completes on a terminal only: here on a false one, with the tab key pressed."""
    home = script.parent / "zsh-home"
    home.mkdir(exist_ok=True)
    (home / ".zshrc").write_text(ZSHRC)
    (home / "_airbayes").write_text(script.read_text())
    offered = home / "offered"
    offered.write_text("")
    terminal, inside = pty.openpty()
    environment = os.environ | {"ZDOTDIR": str(home), "TERM": "dumb"}
    shell = subprocess.Popen(
        ["zsh", "-d", "-i", "+m"], stdin=inside, stdout=inside, stderr=inside, cwd=folder, env=environment
    )
    os.close(inside)
    os.write(terminal, f"{' '.join(words)}\t".encode())
    said, end = b"", time.monotonic() + SECONDS
    try:
        while shell.poll() is None and time.monotonic() < end:  # it leaves when it has completed
            if select.select([terminal], [], [], 0.1)[0]:
                said += os.read(terminal, 4096)
    except OSError:  # gone, and its side of the terminal with it
        shell.wait(SECONDS)
    finally:
        os.close(terminal)
        if shell.poll() is None:
            shell.kill()
            pytest.fail(f"zsh did not answer: {said[-500:]!r}")
    return [line.replace("\\ ", " ") for line in offered.read_text().splitlines() if line]


ASK = {"bash": ask_bash, "zsh": ask_zsh, "fish": ask_fish}


@pytest.fixture(params=list(ASK))
def ask(request, scripts, tmp_path) -> Ask:
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed (Debian: apt-get install {shell})")
    (tmp_path / "mine.toml").touch()
    (tmp_path / "my file.toml").touch()
    (tmp_path / "run").mkdir()
    return lambda *words: ASK[shell](scripts[shell], ["airbayes", *words], tmp_path)


def test_commands_presets_options_and_values_are_completed(ask):
    assert {"run", "plan", "doctor", "completion"} <= set(ask(""))
    assert ask("pl") == ["plan"]
    assert set(ask("--")) == {"--help", "--version"}
    assert set(ask("run", "")) == {*PRESETS, *FILES}
    assert ask("run", "gaus") == ["gaussian"]
    assert set(ask("run", "quick", "--sampling.b")) == {"--sampling.burn-in", "--sampling.batch-size"}
    assert set(ask("run", "quick", "--problem.prior-scaling", "")) == {"unit", "fan-in"}


def test_files_are_offered_where_files_belong(ask):
    assert set(ask("run", "quick", "--out", "")) == FILES
    assert set(ask("data", "")) == {"simulate", "inspect", "convert"}
    assert ask("data", "simulate", "--test") == ["--test-per-class"]
    assert set(ask("completion", "")) == {"bash", "zsh", "fish"}
    assert set(ask("report", "run", "--o")) == {"--out", "--open", "--objects"}


def test_lists_are_completed_to_their_end(ask):
    assert {"dsgld", "cd_dsgld", "q_dsgd", "local_sgd"} <= set(ask("run", "gaussian", "--methods", ""))
    assert set(ask("run", "gaussian", "--policies", "optimal", "")) == POLICIES
    assert set(ask("run", "gaussian", "--engine", "local", "")) == FILES  # takes one value
    assert set(ask("run", "quick", "--network.topologies", "")) == GRAPHS
    assert set(ask("plan", "")) == {*GRAPHS, *FILES}
    assert set(ask("new", "mine", "--preset", "")) == set(PRESETS)


def test_options_are_offered_in_the_order_of_the_help(scripts):
    text = scripts["bash"].read_text()
    assert text.index("--out") < text.index("--engine") < text.index("--methods") < text.index("--problem.kind")


def test_values_after_an_equals_sign_and_values_with_blanks(scripts, tmp_path):
    offered = ask_bash(scripts["bash"], ["airbayes", "run", "gaussian", "--policies", "=", "o"], tmp_path)
    assert offered == ["optimal"]
    assert set(ask_bash(scripts["bash"], ["airbayes", "run", "quick", "--policies", "="], tmp_path)) == POLICIES
    assert "cd_dsgld common" in ask_bash(scripts["bash"], ["airbayes", "bench", "--methods", ""], tmp_path)
    assert "machine’s floors" in scripts["zsh"].read_text()


def test_all_shells_know_the_same(scripts):
    for shell, path in scripts.items():
        text = path.read_text()
        option = "-l sampling.burn-in" if shell == "fish" else "--sampling.burn-in"
        for expected in ("plan", "paper-real", option, "simulate"):
            assert expected in text
        assert re.search(r"free-space( |\\n)log-distance", text)
        assert text.count("'") % 2 == 0
