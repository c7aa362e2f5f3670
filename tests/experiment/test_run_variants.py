"""One method after the other, the next compiled ahead: order, interruption, memory limits, partial results."""

import dataclasses
import errno

import pytest

from airbayes.errors import ResultsError
from airbayes.experiment.build import Builder
from airbayes.experiment.config import ExperimentConfig, NetworkConfig, ProblemConfig, SamplingConfig
from airbayes.experiment.dataset import to_summary
from airbayes.experiment.failures import FAILED
from airbayes.experiment.grid import run_grid, run_variants
from airbayes.experiment.journal import Journal, Stopped
from airbayes.experiment.reporter import Silent
from airbayes.experiment.store import PARTIAL, read_dataset, write_partial_results, write_results

CONFIG = ExperimentConfig(
    methods=("dsgd", "sgld", "dsgld"),
    evaluations=3,
    problem=ProblemConfig(kind="softmax", features=3, classes=3, examples=8, test_examples=40),
    network=NetworkConfig(topologies=("full", "ring")),
    sampling=SamplingConfig(eta=1e-3, steps=30, burn_in=10, thin=5),
)


def test_finished_methods_are_on_disk_before_the_run_ends(tmp_path):
    results = []
    for done in run_variants(Builder(CONFIG), Silent()):
        results += done
        write_partial_results(tmp_path, CONFIG, results, {"num_classes": 3})
        (tmp_path / PARTIAL).rename(tmp_path / "results.nc")
        stored = read_dataset(tmp_path)
        assert stored.method.values.tolist() == list(dict.fromkeys(result.cell.variant for result in results))
        assert int((stored.status == 1).sum()) == len(results)
        (tmp_path / "results.nc").rename(tmp_path / PARTIAL)
    assert [result.cell.variant for result in results] == ["dsgd", "dsgd", "sgld", "dsgld", "dsgld"]
    write_results(tmp_path, CONFIG, results)
    assert not (tmp_path / PARTIAL).exists()


def test_an_error_in_one_method_ends_the_run_at_once():
    class Stops(Silent):
        def advance(self, cells, step):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_grid(CONFIG, Stops())


def test_a_process_that_has_no_results_goes_on_past_finished_methods(tmp_path):
    """Of several processes the first alone reads what is on disk; the others ended with an IndexError."""

    class HasNone(Journal):
        def finished(self, cells):
            return []

    journal = HasNone(tmp_path)
    assert list(run_variants(Builder(CONFIG), Silent(), journal)) == [[], [], []]


def make_poisoned(monkeypatch, error: Exception) -> Builder:
    """The sampler of sgld, between the two others, cannot be made: a plug-in with a mistake in it, say."""
    builder = Builder(CONFIG)
    make = builder.sampler

    def sampler(cell):
        if cell.method == "sgld":
            raise error
        return make(cell)

    monkeypatch.setattr(builder, "sampler", sampler)
    return builder


class Notes(Silent):
    def __init__(self):
        self.noted = []

    def failed(self, cells, text):
        self.noted.append(f"{cells[0]}: {text}")

    def finish(self, variant, results):
        self.noted.append(f"{variant}: {len(results)}")


@pytest.mark.parametrize("size", [0, 1])  # made ready ahead, or not
def test_a_batch_that_raises_is_noted_and_the_others_go_on(monkeypatch, tmp_path, size):
    builder = make_poisoned(monkeypatch, RuntimeError("out of memory"))
    builder.config = dataclasses.replace(CONFIG, cells_per_batch=size)
    notes, failures, journal = Notes(), [], Journal(tmp_path)
    journal.begin(builder.config)
    results = [result for done in run_variants(builder, notes, journal, failures) for result in done]
    assert [result.cell.variant for result in results] == ["dsgd", "dsgd", "dsgld", "dsgld"]
    assert notes.noted == ["dsgd: 2", "sgld no network ideal seed 0: RuntimeError: out of memory", "dsgld: 2"]
    (failure,) = failures
    assert failure.details == journal.place(failure.cells) / FAILED
    assert "out of memory" in failure.details.read_text()


def raised(error: Exception) -> Exception:
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    return error


@pytest.mark.parametrize("error", [Stopped("Ctrl-C"), raised(ResultsError("Could not write"))])
def test_whoever_stops_a_run_and_a_full_disk_end_it_at_once(monkeypatch, error):
    failures = []
    variants = run_variants(make_poisoned(monkeypatch, error), Silent(), None, failures)
    assert len(next(variants)) == 2  # of dsgd
    with pytest.raises(type(error)):
        next(variants)
    assert not failures


def test_an_error_of_a_reporter_is_not_one_of_the_batch():
    class Lost(Silent):
        def advance(self, cells, step):
            raise ResultsError("the tracking server is gone")

    failures = []
    with pytest.raises(ResultsError, match="the tracking server"):
        next(run_variants(Builder(CONFIG), Lost(), None, failures))
    assert not failures


def test_without_a_list_for_failures_the_first_one_ends_the_run(monkeypatch):
    with pytest.raises(RuntimeError, match="out of memory"):
        run_grid(CONFIG, Silent(), make_poisoned(monkeypatch, RuntimeError("out of memory")))


def test_smaller_batches_give_the_same_results_up_to_rounding():
    together = to_summary(CONFIG, run_grid(CONFIG, Silent()))["cells"]
    one_by_one = to_summary(CONFIG, run_grid(dataclasses.replace(CONFIG, cells_per_batch=1), Silent()))["cells"]
    for cell, alone in zip(together, one_by_one, strict=True):
        assert (cell["method"], cell["topology"]) == (alone["method"], alone["topology"])
        assert cell["nll"] == pytest.approx(alone["nll"], abs=1e-5)
        assert cell["rms"] == pytest.approx(alone["rms"], abs=1e-5)
