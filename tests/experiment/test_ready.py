"""Two batches are made ready at a time, and what they share is made once."""

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
