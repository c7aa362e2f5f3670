"""One method after the other, the next compiled ahead: order, interruption, memory limits, partial results."""

import dataclasses

import pytest

from airbayes.experiment.build import Builder
from airbayes.experiment.config import ExperimentConfig, NetworkConfig, ProblemConfig, SamplingConfig
from airbayes.experiment.dataset import to_summary
from airbayes.experiment.grid import run_grid, run_variants
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


def test_smaller_batches_give_the_same_results_up_to_rounding():
    together = to_summary(CONFIG, run_grid(CONFIG, Silent()))["cells"]
    one_by_one = to_summary(CONFIG, run_grid(dataclasses.replace(CONFIG, cells_per_batch=1), Silent()))["cells"]
    for cell, alone in zip(together, one_by_one, strict=True):
        assert (cell["method"], cell["topology"]) == (alone["method"], alone["topology"])
        assert cell["nll"] == pytest.approx(alone["nll"], abs=1e-5)
        assert cell["rms"] == pytest.approx(alone["rms"], abs=1e-5)
