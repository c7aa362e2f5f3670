"""The memory that --dry-run foretells, against what a run was seen to take."""

import json
import subprocess
import sys

import pytest

from airbayes.experiment.build import Builder
from airbayes.experiment.cells import enumerate_cells, group_by_variant
from airbayes.experiment.config import ExperimentConfig, NetworkConfig, ProblemConfig
from airbayes.experiment.memory import BatchMemory, memory_of_batch, memory_of_batches, peak

# Prints what is foretold, then what a run takes beyond a small one that has loaded everything; each in its own process.
RUN = """
import dataclasses, json, sys
from airbayes.experiment.build import Builder
from airbayes.experiment.cells import enumerate_cells, group_by_variant
from airbayes.experiment.config import *
from airbayes.experiment.grid import run_grid
from airbayes.experiment.memory import memory_of_batch, memory_of_builder, peak
from airbayes.experiment.reporter import Silent
def most():  # not getrusage, whose peak is inherited from the process that started this one
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
what, problem = sys.argv[1], ProblemConfig(kind="linear", features=20, examples=10)
config = ExperimentConfig(
    methods=("dsgld", "cd_dsgld"), policies=("common",), evaluations=2, problem=problem,
    network=NetworkConfig(agents=200_000, topologies=("ring",)), channel=ChannelConfig(snr_db=(20.0, 30.0)),
    sampling=SamplingConfig(eta=1e-6, steps=4, burn_in=2),
)
if what == "foretold":
    builder = Builder(config)
    batches = [memory_of_batch(builder, cells) for cells in group_by_variant(enumerate_cells(config)).values()]
    print(json.dumps(peak(batches, memory_of_builder(builder), ahead=True)))
else:
    small = dataclasses.replace(
        config,
        network=NetworkConfig(agents=5, topologies=("ring",)),
        problem=dataclasses.replace(problem, examples=5),
    )
    run_grid(small, Silent())
    before = most()
    run_grid(config, Silent())
    print(json.dumps(most() - before))
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_foretold_memory_is_what_a_run_takes():
    found = {}
    for what in ("foretold", "measured"):
        done = subprocess.run([sys.executable, "-c", RUN, what], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[what] = json.loads(done.stdout.splitlines()[-1])
    assert found["foretold"] > 300e6  # large enough to stand out
    # The compiler's own memory, some 100 to 300 MB, is in the measurement and not in the forecast.
    assert 0.5 < found["foretold"] / found["measured"] < 1.3


def test_activations_are_counted():
    problem = ProblemConfig(kind="softmax", features=10, classes=64, examples=200, test_examples=20)
    config = ExperimentConfig(
        methods=("dsgd",), seeds=3, problem=problem, network=NetworkConfig(agents=20, topologies=("ring",))
    )
    found = memory_of_batch(Builder(config), enumerate_cells(config))
    logits = 3 * 20 * 200 * 64 * 4  # cells, agents, examples, classes, bytes
    theta = 3 * 20 * 11 * 64 * 4
    assert logits < found.workspace < 8 * logits
    assert theta < found.held < logits + 8 * theta


def test_two_batches_are_there_at_once_where_one_is_compiled_ahead():
    batches = [BatchMemory(10, 5), BatchMemory(20, 1), BatchMemory(1, 1)]
    assert peak(batches, 100, ahead=True) == 100 + 15 + 21
    assert peak(batches, 100, ahead=False) == 100 + 21
    assert peak(batches[:1], 0, ahead=True) == 15


def test_batches_of_one_program_are_compiled_once(monkeypatch):
    config = ExperimentConfig(
        methods=("dsgd", "cd_dsgld"), policies=("optimal", "common"), network=NetworkConfig(topologies=("ring",))
    )
    builder, told = Builder(config), []
    batches = list(group_by_variant(enumerate_cells(config)).values())
    found = memory_of_batches(builder, batches, told.append)
    assert [text.rpartition(" ")[2] for text in told] == ["dsgd", "cd_dsgld:optimal"]
    assert found == [memory_of_batch(builder, cells) for cells in batches]
