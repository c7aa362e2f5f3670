"""The SLURM jobs of a sweep: as many as wanted, submitted again where they end, and not without end.

dask-jobqueue takes a job that it has submitted for a worker that will come. So a job that dies before its worker is
there would be waited for without end. Here the queue is asked about every job without a worker, and a job has

    GONE_S      when it is not in the queue any more, or was refused,
    STARTED_S   when it runs and its worker is not there,
    QUEUED_S    when it waits in SLURM's queue,

until another one takes its place: AGAIN times, counted anew when a unit is settled or a worker has stayed for a
while. Then its place is given up, and with the last place the run ends. Whatever was computed is on disk.
"""

import asyncio
import concurrent.futures
import dataclasses
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from airbayes.errors import ResultsError
from airbayes.text import printable

GONE_S = 10.0
STARTED_S = 600.0
QUEUED_S = 7 * 24 * 3600.0
AGAIN = 3
STAYED_S = 60.0  # a worker that was there for so long has not failed at its start
LOOK_S = 1.0
ASK_S = 10.0  # between two questions to the queue, which serves many
SILENT_S = 600.0  # without an answer and without a worker, until the run ends
SAY_S = 600.0  # between two words about a queue in which nothing changes
MOST_LOG = 10_000  # bytes of a log that are read, from its end

State = Literal["here", "queued", "started", "gone", "refused"]
WORDS: dict[State, str] = {
    "gone": "ended before its worker was there",
    "started": "runs, but its worker is not there",
    "queued": "is still in the queue",
    "refused": "could not be submitted",
    "here": "has a worker",
}


@dataclasses.dataclass
class Place:
    """What one of the wanted workers waits for."""

    since: float  # when it came to this state
    state: State = "queued"
    reason: str = ""  # why SLURM lets it wait, or what sbatch said
    came: bool = False  # its worker was there
    stayed: bool = False  # and has stayed for a while
    tries: int = 0  # jobs that ended without use, one after the other


class JobWatch:
    """Keeps the jobs of a SLURMCluster. All but `look` happens in the cluster's own thread."""

    def __init__(
        self,
        cluster: Any,  # dask_jobqueue.SLURMCluster, whose types allow for coroutines everywhere
        wanted: int,
        logs: Path,
        advice: str,  # what jobs need, for errors
        tell: Callable[[str], None],
        call: Callable[[list[str]], Any],  # a coroutine: what a command prints
        clock: Callable[[], float] = time.monotonic,
    ):
        self.cluster, self.wanted, self.logs, self.advice = cluster, wanted, logs, advice
        self.tell, self.call, self.clock = tell, call, clock
        self.places: dict[str, Place] = {}  # by the name of the worker
        self.looking: concurrent.futures.Future[None] | None = None
        self.looked = self.asked = -1e9
        self.silent_since: float | None = None  # when squeue first did not answer
        self.said, self.said_at = "", clock()
        self.last = ""  # why the last place was given up

    def look(self, workers: int) -> None:
        """Never waits: looks go on beside the units, and what one of them raises is raised by a later call."""
        if self.looking is not None:
            if not self.looking.done():
                return
            done, self.looking = self.looking, None
            done.result()
        if self.clock() - self.looked >= LOOK_S:
            self.looked = self.clock()
            self.looking = asyncio.run_coroutine_threadsafe(self.watch(), self.cluster.loop.asyncio_loop)

    def settled(self) -> None:
        for place in list(self.places.values()):
            place.tries = 0

    def end(self) -> None:
        if self.looking is not None:
            self.looking.cancel()

    async def watch(self) -> None:
        """One look: where every job stands, and what is to be done about it."""
        if self.cluster.status.name != "running":
            return
        if not self.places:
            await self._submit([(None, Place(self.clock())) for _ in range(self.wanted)])
        here = {str(worker.name) for worker in self.cluster.scheduler.workers.values()}
        for name in here & set(self.places):
            self._change(self.places[name], "here")
        missing = {name: place for name, place in self.places.items() if name not in here}
        if missing and self.clock() - self.asked >= ASK_S:
            await self._ask(missing, someone=bool(here))
        for name, place in missing.items():
            if self._job(name) is None:
                self._change(place, "gone")
        over = [(name, place) for name, place in missing.items() if self._is_over(place)]
        for name, place in over:
            place.tries = 0 if place.stayed else place.tries + 1  # its walltime was over, say
            self._say_over(name, place)
        await self._submit([(name, place) for name, place in over if place.tries <= AGAIN])
        for name, place in over:
            if place.tries > AGAIN:
                self.places.pop(name)
                self.cluster.worker_spec.pop(name, None)
        if not self.places:
            raise ResultsError(
                f"{self.last} No worker is left of the {self.wanted} wanted, after {AGAIN} more tries. {self.advice}"
            )
        if over:
            await self._correct()
        if not here:
            self._say_waiting()

    def _job(self, name: str) -> Any:
        return self.cluster.workers.get(name)

    def _is_over(self, place: Place) -> bool:
        limits = {"gone": GONE_S, "refused": GONE_S, "started": STARTED_S, "queued": QUEUED_S}
        return place.state in limits and self.clock() - place.since >= limits[place.state]

    def _change(self, place: Place, state: State, reason: str = "") -> None:
        place.came |= state == "here"
        place.stayed |= place.state == "here" and self.clock() - place.since >= STAYED_S
        if place.state != state:
            place.state, place.since = state, self.clock()
        place.reason = reason

    async def _ask(self, missing: dict[str, Place], someone: bool) -> None:
        """What SLURM says of the jobs without a worker."""
        self.asked = self.clock()
        command = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%i|%T|%r"]
        try:
            answer = await self.call(command)
        except RuntimeError as error:
            self.silent_since = self.asked if self.silent_since is None else self.silent_since
            if self.clock() - self.silent_since >= SILENT_S and not someone:
                raise ResultsError(
                    f"SLURM has not said for {SILENT_S:g} s where the jobs stand: {printable(str(error), 300)}. "
                    "Is it at work? Try: squeue"
                ) from None
            return
        self.silent_since = None
        lines = [line.strip().split("|") for line in answer.splitlines()]
        queue = {line[0]: (line[1], line[2]) for line in lines if len(line) == 3}
        for name, place in missing.items():
            job = self._job(name)
            if job is None or job.job_id is None:
                continue
            found, reason = queue.get(job.job_id, ("COMPLETING", ""))
            state: State = "gone" if found == "COMPLETING" else "started" if found == "RUNNING" else "queued"
            self._change(place, state, printable(reason, 100) if state == "queued" else "")

    async def _submit(self, places: list[tuple[str | None, Place]]) -> None:
        """A job for each place, under a name that no worker had before."""
        new: list[str] = []
        for name, place in places:
            fresh = self.cluster.new_worker_spec()
            self.cluster.worker_spec.update(fresh)
            if name is not None:
                self.cluster.worker_spec.pop(name, None)
                self.places.pop(name)
            self.places |= dict.fromkeys(fresh, place)
            new += fresh
        if places:
            await self._correct()
            self.asked = self.clock()  # what the queue said before is not about these
        for name in new:
            place, job = self.places[name], self._job(name)
            refused = job is None or job.job_id is None
            place.state, place.since = "refused" if refused else "queued", self.clock()
            place.reason = job.refused if refused and job is not None else ""
            place.came = place.stayed = False

    async def _correct(self) -> None:
        """Dask submits what is new in its specification, and cancels what is not in it any more."""
        with suppress(RuntimeError, ValueError, OSError):  # a job that was refused says so itself
            await asyncio.shield(self.cluster._correct_state())

    def _say_over(self, name: str, place: Place) -> None:
        job = self._job(name)
        what = f"SLURM job {job.job_id}" if job is not None and job.job_id else "A SLURM job"
        why = f": {printable(place.reason, 300)}" if place.reason else ""
        log = self._log(job.job_id) if job is not None and job.job_id else ""
        if place.stayed:
            self.tell(f"{what} has ended; submitting another.")
            return
        words = "ended soon after its worker came" if place.came and place.state == "gone" else WORDS[place.state]
        self.last = f"{what} {words}{why}.{log}"
        again = f"Submitting another, {place.tries} of {AGAIN}." if place.tries <= AGAIN else "That was the last."
        self.tell(f"{self.last} {again}")

    def _log(self, job: str) -> str:
        """Where a job has written what went wrong, and its last words."""
        for path in sorted(self.logs.glob(f"*-{job}.err")) + sorted(self.logs.glob(f"*-{job}.*.err")):
            try:
                with open(path, "rb") as handle:
                    handle.seek(max(path.stat().st_size - MOST_LOG, 0))
                    lines = handle.read(MOST_LOG).decode(errors="replace").strip().splitlines()
            except OSError:
                continue
            return f" Its log, {path}" + (f", ends with: {printable(lines[-1], 300)}." if lines else ", is empty.")
        return f" It has written no log to {self.logs}: does its node see that folder?"

    def _say_waiting(self) -> None:
        """Where nobody works yet."""
        counts: dict[str, int] = {}
        for place in self.places.values():
            word = f"{place.state} ({place.reason})" if place.reason else place.state
            counts[word] = counts.get(word, 0) + 1
        text = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        if text != self.said or self.clock() - self.said_at >= SAY_S:
            self.said, self.said_at = text, self.clock()
            self.tell(f"No worker yet; SLURM jobs: {text}. See them with squeue.")
