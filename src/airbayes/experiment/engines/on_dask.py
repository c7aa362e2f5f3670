"""Units on the workers of a Dask cluster.

The queue is here, not at the scheduler: there are never more tasks out than workers, so that a worker that dies takes
one unit with it and no other is blamed. Dask gives that unit to another worker, where it goes on from its last saved
state; after a few deaths it is given up and counts as failed. Whether a unit is done is decided by the disk.
"""

import dataclasses
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from airbayes.errors import ResultsError
from airbayes.experiment.engines.sweep import Sweep
from airbayes.experiment.engines.units import Unit
from airbayes.experiment.engines.work import Task
from airbayes.experiment.engines.workforce import Workforce

TICK_S = 0.1
WORKERS_S = 1.0  # between two looks at how many there are
HELD_S = 2.0  # until a unit that another process holds is tried again


def run_task(text: str, topic: str, number: int) -> dict:
    """What a worker runs: plain text in, a plain dictionary out."""
    from distributed import get_worker

    from airbayes.experiment.engines.work import work

    worker = get_worker()
    last = [0.0]

    def watch(step: int, resumed: bool) -> None:
        if resumed or time.monotonic() - last[0] > 1.0:  # a message a second is enough
            last[0] = time.monotonic()
            worker.log_event(topic, {"number": number, "step": step, "resumed": resumed, "where": worker.address})

    def tell(told: str) -> None:
        worker.log_event(topic, {"number": number, "told": told})

    watch(0, False)
    return dataclasses.asdict(work(Task.from_text(text), watch, lambda: None, tell))


class OnDask:
    """Hands out units and collects their outcomes until all are settled, or the run is to stop."""

    def __init__(
        self,
        client: Any,  # distributed.Client, whose types allow for coroutines everywhere
        sweep: Sweep,
        task_of: Callable[[Unit], Task],
        stop: Callable[[], str | None],
        ask_to_stop: Callable[[str], None],  # all units, wherever they run
        tell: Callable[[str], None],
        workforce: Workforce,  # sees to the workers, and ends a run that waits for them in vain
    ):
        self.client, self.sweep, self.task_of, self.workforce = client, sweep, task_of, workforce
        self.stop, self.ask_to_stop, self.tell = stop, ask_to_stop, tell
        self.out: dict[int, Any] = {}
        self.not_before: dict[int, float] = {}  # units that someone else holds
        self.told: set[int] = set()
        self.topic = f"airbayes-{client.id}"
        self.messages: SimpleQueue[dict] = SimpleQueue()  # they come in another thread

    def run(self) -> None:
        address = self.client.scheduler.address
        try:
            self._run()
        except (OSError, TimeoutError) as error:  # what Dask raises when a connection is gone
            raise ResultsError(f"Lost the Dask scheduler at {address}.") from error

    def _run(self) -> None:
        self.client.subscribe_topic(self.topic, lambda event: self.messages.put(event[1]))
        stopping, workers, looked = False, 0, 0.0
        while self.out or (not stopping and self.sweep.of("queued")):
            if not stopping and (reason := self.stop()) is not None:
                stopping = True
                self.ask_to_stop(reason)
            if time.monotonic() - looked > WORKERS_S:
                looked = time.monotonic()
                workers = self._workers()
            if stopping and not workers:  # nobody is left who could save anything
                return
            if not stopping:
                self.workforce.look(workers)
                self._hand_out(workers)
            self._listen()
            self._collect()
            time.sleep(TICK_S)

    def _workers(self) -> int:
        """How many units can run at a time."""
        if self.client.status != "running":
            raise ConnectionError("the client is not connected")
        return sum(self.client.nthreads().values())

    def _hand_out(self, workers: int) -> None:
        now = time.monotonic()
        for standing in self.sweep.of("queued"):
            unit = standing.unit
            if len(self.out) >= workers:
                return
            if unit.number in self.out or now < self.not_before.get(unit.number, 0.0):
                continue
            self.out[unit.number] = self.client.submit(
                run_task, self.task_of(unit).to_text(), self.topic, unit.number, pure=False
            )

    def _collect(self) -> None:
        for number, future in list(self.out.items()):
            if future.status == "pending":
                continue
            del self.out[number]
            if future.status == "finished":
                self._settle(number, future.result())
            elif future.status == "error":
                self._gave_up(number, future.exception())
            else:  # cancelled or lost: with the scheduler
                raise ConnectionError("the scheduler has forgotten a task")

    def _settle(self, number: int, outcome: dict) -> None:
        if outcome["state"] != "held":
            self.workforce.settled()
            self.sweep.change(number, outcome["state"], outcome["text"])
            return
        self.not_before[number] = time.monotonic() + HELD_S
        self.sweep.change(number, "queued", f"held by {outcome['text']}")
        if number not in self.told:
            self.told.add(number)
            self.tell(f"{self.sweep.units[number].unit} is held by {outcome['text']}; waiting for it.")

    def _gave_up(self, number: int, error: BaseException | None) -> None:
        from distributed import KilledWorker

        if isinstance(error, ResultsError):  # a full disk: no other unit could be stored either
            with suppress(ResultsError):
                self.ask_to_stop(str(error))
            raise error
        if isinstance(error, KilledWorker):
            text = f"its worker died {error.allowed_failures + 1} times, last {error.last_worker.address}"
        else:
            text = f"{type(error).__name__}: {error}"
        self.workforce.settled()
        self.sweep.change(number, "failed", text)

    def _listen(self) -> None:
        while not self.messages.empty():
            found = self.messages.get()
            if "told" in found:
                self.tell(found["told"])
            else:
                self.sweep.reached(found["number"], found["step"], found["resumed"], found["where"])
