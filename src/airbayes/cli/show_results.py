"""The tables of a finished run in the terminal, and what must not be read out of them."""

import xarray as xr
from rich.console import Console

from airbayes.experiment.config import ExperimentConfig
from airbayes.report.files import show_tables
from airbayes.report.tables import same_law

SAME_LAW = "Scores marked = of one graph have the same law, whatever gains and SNR: what they differ by is chance."
ONE_SEED = "One seed: differences hold the luck of its data and noise, too. --seeds 5 shows how much that is."


def show_results(dataset: xr.Dataset, config: ExperimentConfig, console: Console) -> None:
    show_tables(dataset, config, console)
    if bool(same_law(dataset).any()):
        console.print(SAME_LAW, markup=False)
    if dataset.sizes["seed"] == 1 and dataset.sizes["method"] > 1:
        console.print(ONE_SEED, markup=False)
