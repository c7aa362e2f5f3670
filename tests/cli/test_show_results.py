"""What is said under the tables of a run."""

import io

import numpy as np
import pytest
from report.made_results import DIMS, made_results
from rich.console import Console

from airbayes.cli.show_results import ONE_SEED, SAME_LAW, show_results
from airbayes.experiment.config import ExperimentConfig, ProblemConfig

CONFIG = ExperimentConfig(problem=ProblemConfig(kind="softmax"))


@pytest.mark.parametrize(
    ("gains", "full", "seeds", "same", "one"),
    [
        (("optimal", "common"), (1.0, 1.0), 1, True, True),
        (("optimal", "common"), (1.0, 0.9), 3, False, False),  # one row alone has the law of DSGLD
        (("optimal",), (1.0,), 3, False, False),
    ],
)
def test_rows_of_one_law_are_not_a_comparison(gains, full, seeds, same, one):
    dataset = made_results(seeds=seeds, snrs=(0.0, 30.0), graphs=("full",), gains=gains)
    least = np.full([dataset.sizes[dim] for dim in DIMS], 0.5)
    least[:-1, 0, 1] = np.array(full)[:, None]  # at 30 dB
    least[-1] = np.nan  # Q-DSGD has no gains
    out = io.StringIO()
    show_results(
        dataset.assign(unit_gain_min=(DIMS, least)).assign_coords(agent=range(5)), CONFIG, Console(file=out, width=200)
    )
    assert (SAME_LAW in out.getvalue()) == same
    assert (ONE_SEED in out.getvalue()) == one
