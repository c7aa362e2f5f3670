"""Timing side by side: every piece of work once a round, in turn, so that other load hits all of them alike."""

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping

Work = Callable[[int], object]  # do the work so many times over and return when it is really done

MAX_COUNT = 100_000
FEWEST_ROUNDS = 3  # also when they take longer than asked


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds for doing the work once."""

    least: float
    median: float
    repeats: int
    processor: float = 0.0  # least processor seconds of all threads; fairer where other jobs share the cores


def clock(work: Work, count: int) -> float:
    """Seconds that `count` times the work take."""
    started = time.perf_counter()
    work(count)
    return time.perf_counter() - started


def clock_both(work: Work, count: int) -> tuple[float, float]:
    """The same, and the processor seconds of all threads of this process; asking for those takes a while itself."""
    used = time.process_time()
    wall = clock(work, count)
    return wall, time.process_time() - used


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long to look. A call does the work several times over, as an experiment does: memory that a call takes afresh
    from the system costs as much as several steps of a large network."""

    repeats: int = 7
    call_seconds: float = 0.2  # a call does the work so often that it lasts this long,
    least_count: int = 10  # or so often if that is longer,
    longest_call: float = 8.0  # but not longer than this
    most_seconds: float = 45.0  # after which no further round begins

    def count(self, seconds: float) -> int:
        """How often a call does work that takes so many seconds."""
        seconds = max(seconds, 1e-9)
        wanted = max(round(self.call_seconds / seconds), min(self.least_count, int(self.longest_call / seconds)))
        return max(1, min(MAX_COUNT, wanted))


def time_together(works: Mapping[str, Work], effort: Effort) -> dict[str, Timing]:
    """Warm everything up, then rounds over all works, back and forth."""
    counts = {name: _warm_up(work, effort) for name, work in works.items()}
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    started = time.perf_counter()
    for turn in range(effort.repeats):
        if turn >= FEWEST_ROUNDS and time.perf_counter() - started > effort.most_seconds:
            break
        for name in list(works) if turn % 2 == 0 else list(works)[::-1]:
            wall, processor = clock_both(works[name], counts[name])
            samples[name].append((wall / counts[name], processor / counts[name]))
    return {name: _summary(found) for name, found in samples.items()}


def _summary(found: list[tuple[float, float]]) -> Timing:
    walls, processors = zip(*found, strict=True)
    return Timing(min(walls), statistics.median(walls), len(walls), min(processors))


def _warm_up(work: Work, effort: Effort) -> int:
    """How often to do the work in a call; the very first call compiles and is not counted."""
    work(1)
    count = effort.count(clock(work, 1))
    if count > effort.least_count:  # short work: most of that one call was its start
        count = effort.count(clock(work, count) / count)
    return count
