"""The first Ctrl-C asks for an end, the second one is the end."""

import io
import signal
import subprocess
import sys

import pytest
from rich.live import Live

from airbayes.cli.go_on import again
from airbayes.cli.live_table import LiveTable
from airbayes.cli.main import main
from airbayes.cli.progress import PipeConsole, drawn
from airbayes.cli.run_state import RunState
from airbayes.cli.stopping import StopRequest
from airbayes.experiment.config import ExperimentConfig


def test_the_second_ctrl_c_stops_at_once(capfd):
    before = signal.getsignal(signal.SIGINT)
    with StopRequest() as stop:
        assert stop() is None
        signal.raise_signal(signal.SIGINT)
        assert stop() == "Ctrl-C"
        assert "steps under way are finished" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_time_limit_is_a_reason():
    assert StopRequest(3600.0)() is None
    assert StopRequest(-1.0)() == "its time limit of -1 s"


@pytest.mark.parametrize(
    ("args", "goes_on"), [(["run", "quick"], True), (["run", "quick", "--dry-run"], False), (["plan"], False)]
)
def test_only_a_run_is_said_to_go_on(args, goes_on, capsys, monkeypatch):
    def interrupted(_args: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("airbayes.cli.main._dispatch", interrupted)
    with pytest.raises(SystemExit) as left:
        main(args)
    assert left.value.code == 130
    text = capsys.readouterr().err
    assert "Stopped at once." in text
    assert ("goes on" in text) is goes_on


def interrupted(code: str) -> subprocess.CompletedProcess[str]:
    script = f"import signal, time\nfrom airbayes.leaving import hear_interrupts\nhear_interrupts()\n{code}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)


def test_ctrl_c_in_the_middle_of_an_import_leaves_at_once(tmp_path):
    (tmp_path / "half.py").write_text("import signal\n\nsignal.raise_signal(signal.SIGINT)\n")
    code = f"import sys\nsys.path.append({str(tmp_path)!r})\ntry:\n    import half\nfinally:\n    print('on')"
    done = interrupted(code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nStopped at once.\n")


def test_ctrl_c_while_python_clears_up_is_not_lost():
    done = interrupted(
        "class Clears:\n    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "try:\n    Clears()\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('heard')"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "heard\n", "")


def test_the_command_that_goes_on_can_be_typed(tmp_path, monkeypatch):
    """From an environment that is not active, airbayes alone is no command."""
    (tmp_path / "airbayes").touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "airbayes")])
    monkeypatch.setenv("PATH", "/nowhere")
    assert again(["quick", "--force"]) == f"{tmp_path / 'airbayes'} run quick"
    other = tmp_path / "other"
    other.mkdir()
    (other / "airbayes").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(other))  # of another environment
    assert again(["quick"]) == f"{tmp_path / 'airbayes'} run quick"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert again(["quick", "--force"]) == "airbayes run quick"
    monkeypatch.setattr(sys, "argv", ["/nowhere/__main__.py"])
    assert again(["quick"]) == "airbayes run quick"


def test_a_live_table_says_that_it_heard(capfd):
    """What is written beside a live table is drawn over a moment later, and leaves lines of it behind."""
    stream = io.StringIO()
    console = PipeConsole(file=stream, width=100, height=30, force_terminal=True)
    state = RunState(ExperimentConfig(), [])
    live = Live(LiveTable(state), console=console, auto_refresh=False)
    with StopRequest(console=console), drawn(live):
        signal.raise_signal(signal.SIGINT)
        live.refresh()
        assert "Ctrl-C: steps under way are finished and saved. Ctrl-C again stops at once." in stream.getvalue()
        stream.seek(0)
        stream.truncate()
    assert "cells done" in stream.getvalue()
    assert "steps under way" not in stream.getvalue()  # the picture that stays
    assert capfd.readouterr().err == ""
