"""Units one after the other in this process: a share of a sweep, while other processes compute other shares."""

import socket
import time
from collections.abc import Callable

from airbayes.experiment.engines.sweep import Sweep
from airbayes.experiment.engines.units import Unit
from airbayes.experiment.engines.work import Task, work

LOOK_EVERY_S = 1.0  # at units that another process holds


def run_here(
    sweep: Sweep,
    task_of: Callable[[Unit], Task],
    stop: Callable[[], str | None],
    tell: Callable[[str], None],
) -> None:
    """Every unit of the sweep to its end; a unit that fails is noted, and the others go on."""
    host = socket.gethostname()
    waiting = [standing.unit for standing in sweep.of("queued")]
    told: set[int] = set()
    while waiting:
        held = []
        for unit in waiting:
            if (reason := stop()) is not None:
                sweep.change(unit.number, "stopped", reason)
                continue

            def watch(step: int, resumed: bool, number: int = unit.number) -> None:
                sweep.reached(number, step, resumed, host)

            sweep.change(unit.number, "running", where=host)
            outcome = work(task_of(unit), watch, stop, tell)
            if outcome.state == "held":
                sweep.change(unit.number, "queued", f"held by {outcome.text}")
                held.append(unit)
                if unit.number not in told:
                    told.add(unit.number)
                    tell(f"{unit} is held by {outcome.text}; waiting for it.")
            else:
                sweep.change(unit.number, outcome.state, outcome.text)
        waiting = held
        if held:
            time.sleep(LOOK_EVERY_S)
