"""Works take turns, warm-up is not counted, and calls are as long as asked."""

import time

import pytest

from airbayes.bench.timing import Effort, time_together


def test_works_take_turns_back_and_forth():
    calls: list[tuple[str, int]] = []
    works = {name: lambda count, name=name: calls.append((name, count)) for name in "abc"}
    effort = Effort(repeats=3, call_seconds=0.0, least_count=1)
    found = time_together(works, effort)
    assert [name for name, _ in calls[-9:]] == list("abc") + list("cba") + list("abc")
    assert {name for name, _ in calls[:-9]} == set("abc"), "each is warmed up before"
    assert all(timing.repeats == 3 and 0 < timing.least <= timing.median for timing in found.values())


def test_time_is_that_of_one_piece_of_work():
    pauses: list[int] = []
    found = time_together({"w": pauses.append}, Effort(repeats=2, call_seconds=1e-4, least_count=1))
    assert found["w"].least < 1e-4 / 2, "a call of many pieces was not divided by their number"
    assert pauses[-1] > 1


def test_processor_time_counts_work_and_not_waiting():
    def busy(count: int) -> None:
        begun = time.process_time()
        while time.process_time() - begun < 0.02 * count:
            pass

    works = {"busy": busy, "asleep": lambda count: time.sleep(0.02 * count)}
    found = time_together(works, Effort(repeats=2, call_seconds=0.0, least_count=1))
    assert found["busy"].processor > 0.019
    assert found["asleep"].processor < found["busy"].processor / 2  # not 0: other threads of this process may work


def test_slow_work_still_gets_three_rounds_and_no_more():
    calls: list[int] = []
    time_together({"w": calls.append}, Effort(repeats=9, call_seconds=0.0, least_count=1, most_seconds=-1.0))
    assert len(calls) == 2 + 3


@pytest.mark.parametrize(
    ("seconds", "count"),
    [(1e-3, 200), (0.1, 10), (1.0, 8), (60.0, 1), (0.0, 100_000)],
    ids=["short: fills the call", "medium: ten times", "long: what fits", "very long: once", "no time at all"],
)
def test_count(seconds, count):
    assert Effort(call_seconds=0.2, least_count=10, longest_call=8.0).count(seconds) == count
