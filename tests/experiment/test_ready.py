"""Two batches are made ready at a time, and what they share is made once."""

import dataclasses
import time

from airbayes.experiment.build import Builder
from airbayes.experiment.cells import enumerate_cells, group_by_variant
from airbayes.experiment.config import ExperimentConfig, NetworkConfig, ProblemConfig, SamplingConfig
from airbayes.experiment.ready import ReadyAhead

CONFIG = ExperimentConfig(
    methods=("dsgld", "dsgd"),
    problem=ProblemConfig(features=2, examples=3),
    network=NetworkConfig(topologies=("ring",)),
    sampling=SamplingConfig(steps=4, burn_in=2, thin=1),
)


def test_two_batches_at_once_share_their_start(monkeypatch):
    builder, calls = Builder(CONFIG), []
    real = builder.problem.start

    def slow(*args):
        calls.append(args)
        time.sleep(0.3)  # long enough for the other thread to come by
        return real(*args)

    monkeypatch.setattr(builder.problem, "start", slow)
    jobs = list(group_by_variant(enumerate_cells(CONFIG)).values())
    with ReadyAhead(builder, jobs, None) as ahead:
        first = ahead.take()
        assert ahead.coming is not None  # begun before the first was asked for again
        second = ahead.take()
    assert [first.cells[0].method, second.cells[0].method] == ["dsgld", "dsgd"]
    assert len(calls) == 1


def test_the_batch_ahead_is_one_of_another_program_and_they_come_in_order():
    config = dataclasses.replace(CONFIG, methods=("cd_dsgld", "dsgd"), policies=("optimal", "common", "truncated"))
    jobs = list(group_by_variant(enumerate_cells(config)).values())
    with ReadyAhead(Builder(config), jobs, None) as ahead:
        taken = []
        for _ in jobs:
            taken.append(ahead.take())
            others = ahead.coming and ahead.coming[0][0].variant
            assert others == ("dsgd" if len(taken) < 4 else None)  # never more than one batch besides the one taken
    assert [ready.cells for ready in taken] == jobs
    assert [int(ready.batch.sampler.policy.chosen) for ready in taken[:3]] == [0, 1, 2]


def test_batches_of_one_program_are_still_made_ready_ahead():
    config = dataclasses.replace(CONFIG, methods=("cd_dsgld",), policies=("optimal", "common"))
    jobs = list(group_by_variant(enumerate_cells(config)).values())
    with ReadyAhead(Builder(config), jobs, None) as ahead:
        first = ahead.take()
        assert ahead.coming is not None
        assert [first.cells, ahead.take().cells] == jobs


def test_nothing_is_made_ready_ahead_where_memory_is_limited():
    config = dataclasses.replace(CONFIG, cells_per_batch=1)
    with ReadyAhead(Builder(config), list(group_by_variant(enumerate_cells(config)).values()), None) as ahead:
        ahead.take()
        assert ahead.coming is None
