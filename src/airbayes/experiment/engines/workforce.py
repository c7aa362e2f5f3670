"""Who sees to it that a sweep has workers, and that it does not wait without end where it has none."""

import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from airbayes.errors import ResultsError

SAY_S = 30.0  # without a worker, until that is said, again and again
LOCAL_S = 300.0  # without a worker on this machine, until the run ends: they are started again in seconds
THERE_S = 3600.0  # without a worker of a cluster that is already there: someone may be starting them


@runtime_checkable
class Workforce(Protocol):
    def look(self, workers: int) -> None:
        """Called all the time, with the number of workers there are. A ResultsError ends the run."""
        ...

    def settled(self) -> None:
        """A unit is done, or has failed: the workers are of use."""
        ...


class Patience:
    """Workers that look after themselves, or that someone else looks after: wait for them, but not for ever."""

    def __init__(
        self,
        address: str,
        limit_s: float,
        fix: str,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self.address, self.limit_s, self.fix, self.tell, self.clock = address, limit_s, fix, tell, clock
        self.seen = self.said = clock()

    def look(self, workers: int) -> None:
        now = self.clock()
        if workers:
            self.seen = self.said = now
        elif now - self.seen > self.limit_s:
            raise ResultsError(f"No worker at {self.address} for {self.limit_s:g} s. {self.fix}")
        elif now - self.said > SAY_S:
            self.said = now
            self.tell(f"No workers at {self.address} yet; waiting, up to {self.limit_s:g} s.")

    def settled(self) -> None:
        pass
