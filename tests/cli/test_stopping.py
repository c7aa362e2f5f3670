"""The first Ctrl-C asks for an end, the second one is the end."""

import signal

import pytest

from airbayes.cli.main import main
from airbayes.cli.stopping import StopRequest


def test_the_second_ctrl_c_stops_at_once(capsys):
    before = signal.getsignal(signal.SIGINT)
    with StopRequest() as stop:
        assert stop() is None
        signal.raise_signal(signal.SIGINT)
        assert stop() == "Ctrl-C"
        assert "steps under way are finished" in capsys.readouterr().err
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
