"""How a sweep stands: one entry per unit. Engines write it, a table shows it."""

import dataclasses
import time
from collections.abc import Callable
from typing import Literal

from airbayes.experiment.engines.units import Unit

State = Literal["queued", "running", "done", "failed", "stopped"]


@dataclasses.dataclass
class Standing:
    unit: Unit
    state: State = "queued"
    step: int = 0
    begun_at: int = 0  # the step from which this run of the command went on
    resumed: bool = False  # it went on from a saved state
    where: str = ""  # the machine or worker
    text: str = ""  # why it failed, or who holds it


class Sweep:
    """All units of a sweep that are not done yet when it begins, and how many were."""

    def __init__(self, units: list[Unit], done_before: int, steps: int, show: Callable[["Sweep"], None]):
        self.units = {unit.number: Standing(unit) for unit in units}
        self.done_before, self.steps, self.show = done_before, steps, show
        self.started = time.monotonic()
        show(self)

    def change(self, number: int, state: State, text: str = "", where: str = "") -> None:
        standing = self.units[number]
        standing.state, standing.text = state, text
        standing.where = where or standing.where
        if state == "done":
            standing.step = self.steps
        self.show(self)

    def reached(self, number: int, step: int, resumed: bool, where: str) -> None:
        """A sign of life of a unit."""
        standing = self.units[number]
        if standing.state in ("done", "failed"):  # it was faster than this message
            return
        if resumed:
            standing.resumed, standing.begun_at = True, step
        standing.state, standing.step, standing.where = "running", step, where
        self.show(self)

    def of(self, *states: State) -> list[Standing]:
        return [standing for standing in self.units.values() if standing.state in states]

    def counts(self) -> dict[str, int]:
        """What a person wants to know at a glance."""
        return {
            "queued": len(self.of("queued", "stopped")),
            "running": len(self.of("running")),
            "done": len(self.of("done")) + self.done_before,
            "failed": len(self.of("failed")),
            "resumed": sum(standing.resumed for standing in self.units.values()),
        }

    def eta_s(self) -> float | None:
        """Seconds left if the cells that remain take their steps as fast as those until now; None before the first."""
        done = left = 0
        for standing in self.units.values():
            cells = len(standing.unit.cells)
            done += cells * (standing.step - standing.begun_at)
            left += cells * (self.steps - standing.step) * (standing.state != "failed")
        if not left:
            return 0.0
        return None if done <= 0 else (time.monotonic() - self.started) * left / done
