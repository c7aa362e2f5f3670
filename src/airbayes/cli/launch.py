"""`--processes n` on one machine: n processes of the same run, that find each other over the loopback.

This process computes nothing. It starts the others, hands signals on, and sees to it that none is left over: when one
fails the rest are given a few seconds and ended, and when this one is killed they stop by themselves.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

GRACE_S = 20.0  # for the others to notice that one has failed
LAUNCHED, ADDED = "AIRBAYES_LAUNCHED", 4  # set in the processes it starts, with so many words added
SPEAKER = "AIRBAYES_SPEAKER"  # there, a pipe with one byte: whoever takes it speaks for all


def launch(args: list[str], processes: int) -> int:
    """Run `airbayes run ARGS` in so many processes; the exit code is that of the first one that failed."""
    port = _free_port()
    speaker, full = os.pipe()
    os.write(full, b".")
    os.close(full)  # who comes second finds the end of the pipe
    children = [_start(args, index, port, speaker) for index in range(processes)]
    os.close(speaker)
    asked = 0

    def hand_on(number: int, frame: object) -> None:
        """The first signal goes to the first process, which tells the others when all stop; a second one to all."""
        nonlocal asked
        asked += 1
        for child in children[:1] if asked == 1 else children:
            if child.poll() is None:
                child.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return _wait(children)
    finally:
        _end(children)
        for number, handler in before.items():
            signal.signal(number, handler)


def stop_with_parent() -> None:
    """In a process that `launch` started: its standard input ends when the launcher does."""
    if os.environ.get(LAUNCHED) != "1":
        return

    def watch() -> None:
        os.read(0, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def may_speak() -> bool:
    """Whether to say why this process ends: of those that `launch` started the first to fail does, the rest follow."""
    number = os.environ.get(SPEAKER)
    try:
        return number is None or os.read(int(number), 1) != b""
    except (OSError, ValueError):
        return True


def without_place(args: list[str]) -> list[str]:
    """The command as it was given, without what `launch` added to it."""
    return args[:-ADDED] if os.environ.get(LAUNCHED) == "1" else args


def _start(args: list[str], index: int, port: int, speaker: int) -> subprocess.Popen:
    place = ["--coordinator", f"127.0.0.1:{port}", "--process-id", str(index)]
    return subprocess.Popen(
        [sys.executable, "-m", "airbayes.cli.main", "run", *args, *place],
        stdin=subprocess.PIPE,
        stdout=None if index == 0 else subprocess.DEVNULL,
        env=os.environ | {LAUNCHED: "1", SPEAKER: str(speaker)},
        pass_fds=(speaker,),
        process_group=0,  # a Ctrl-C reaches the launcher alone
    )


def _wait(children: Sequence[subprocess.Popen]) -> int:
    """Until all are done, or one has failed and the others had their time."""
    deadline = None
    while any(child.poll() is None for child in children):
        if deadline is None and any(child.returncode for child in children):
            deadline = time.monotonic() + GRACE_S
        if deadline is not None and time.monotonic() > deadline:
            break
        time.sleep(0.05)
    failed = [child.returncode for child in children if child.returncode]
    chosen = next((code for code in failed if code > 0), failed[0] if failed else 0)
    return chosen if chosen >= 0 else 128 - chosen


def _end(children: Sequence[subprocess.Popen]) -> None:
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()
        if child.stdin is not None:
            child.stdin.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
