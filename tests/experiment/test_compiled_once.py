"""A method is compiled once, however a run is cut into chunks and whatever the other cells are."""

from collections import Counter
from itertools import pairwise

import jax
import pytest

from airbayes.experiment.config import (
    ChannelConfig,
    ExperimentConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.grid import chunk_ends, evaluation_steps, run_grid
from airbayes.experiment.reporter import Silent
from airbayes.samplers import cd_dsgld


def compilations(config: ExperimentConfig) -> Counter:
    """How often each of the program's own functions is handed to XLA during a run."""
    found = Counter()

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        name = str(kwargs.get("fun_name", ""))
        if event.endswith("backend_compile_duration"):
            found.update([part for part in ("_start", "_advance", "take_snapshot") if part in name])

    jax.clear_caches()
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        run_grid(config, Silent())
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    return found


def traces(monkeypatch, study: ExperimentConfig) -> int:
    """How often the step of CD-DSGLD is written down for the compiler."""
    found, real = [], cd_dsgld.cd_dsgld_update
    with monkeypatch.context() as patch:
        patch.setattr(cd_dsgld, "cd_dsgld_update", lambda *args: (found.append(1), real(*args))[1])
        jax.clear_caches()
        run_grid(study, Silent())
    return len(found)


def config(**changes) -> ExperimentConfig:
    base = {
        "methods": ("cd_dsgld", "q_dsgd"),
        "policies": ("optimal", "common"),
        "evaluations": 4,
        "problem": ProblemConfig(kind="softmax", features=3, classes=3, examples=6, test_examples=20),
        "network": NetworkConfig(topologies=("full", "ring")),
        "channel": ChannelConfig(snr_db=(10.0, 30.0)),
        "sampling": SamplingConfig(eta=1e-4, steps=430, burn_in=130, thin=50),
    }
    return ExperimentConfig(**(base | changes))


@pytest.mark.long
def test_each_method_is_compiled_once():
    study = config()
    ends = chunk_ends(430, evaluation_steps(study))
    assert len({end - begin for begin, end in pairwise(ends)}) > 2  # chunks of several lengths
    found = compilations(study)
    assert found["_advance"] == found["_start"] == 2  # cd_dsgld with two policies, and q_dsgd
    assert found["take_snapshot"] == 2  # samplers share one, and the optimiser has its own


def test_batches_of_cells_share_the_program():
    study = config(methods=("cd_dsgld",), policies=("common",), seeds=2, cells_per_batch=2)
    assert compilations(study) == {"_start": 1, "_advance": 1, "take_snapshot": 1}  # for four batches


@pytest.mark.long  # that nothing is traced again: tests/power/test_one_of.py
def test_policies_share_the_program(monkeypatch):
    """Two are made ready at once: the second waits for the first instead of tracing the step for itself."""
    small = {
        "methods": ("cd_dsgld",),
        "problem": ProblemConfig(features=2, examples=3),
        "sampling": SamplingConfig(eta=1e-4, steps=4, burn_in=2, thin=1),
    }
    one = traces(monkeypatch, config(**small, policies=("common",)))
    assert traces(monkeypatch, config(**small, policies=("optimal", "common", "truncated"))) == one
    assert compilations(config(**small)) == {"_start": 1, "_advance": 1, "take_snapshot": 1}
