"""A whole experiment from Python: what `airbayes run` computes, without its terminal.

Heavy modules are loaded when `run` is called: the command line imports this package for its help.
"""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from airbayes.errors import ConfigError
from airbayes.experiment.config import ExperimentConfig

if TYPE_CHECKING:
    import xarray as xr


def run(config: ExperimentConfig, out: str | PathLike[str] | None = None) -> "xr.Dataset":
    """Every cell of the experiment, in this process, without a word: the Dataset that `results.nc` holds.

    The configuration is checked first; a `ConfigError` lists all that is wrong with it. With a folder `out` the
    results are also written there, as `airbayes run` does: one that is complete is read, not run again; one that was
    interrupted goes on; one of another configuration is refused. Figures and page: `airbayes report OUT`.
    """
    from airbayes.checks import describe
    from airbayes.experiment.validate import check_config

    if not isinstance(config, ExperimentConfig):
        raise ConfigError(
            f"run takes an ExperimentConfig, got {describe(config)}. Give preset('gaussian') or "
            "load_config('study.toml'), both in airbayes.experiment."
        )
    config = check_config(config)
    return _compute(config) if out is None else _in_folder(config, Path(out))


def _compute(config: ExperimentConfig) -> "xr.Dataset":
    from airbayes.experiment.build import Builder
    from airbayes.experiment.dataset import to_dataset
    from airbayes.experiment.environment import describe_environment
    from airbayes.experiment.grid import run_grid
    from airbayes.experiment.reporter import Silent

    builder = Builder(config)
    dataset = to_dataset(config, run_grid(config, Silent(), builder))
    return dataset.assign_attrs(builder.problem.attributes() | {"environment": describe_environment()})


def _in_folder(config: ExperimentConfig, folder: Path) -> "xr.Dataset":
    from airbayes.compiler import check_compiler
    from airbayes.experiment.build import Builder
    from airbayes.experiment.grid import run_variants
    from airbayes.experiment.journal import Journal
    from airbayes.experiment.reporter import Silent
    from airbayes.experiment.store import prepare_folder, read_dataset, read_graphs, run_lock, write_results

    journal = Journal(folder)
    with run_lock(folder):
        if not prepare_folder(folder, config, force=(journal.folder / "begun").exists()):  # it was let in before
            journal.begin(config)
            graphs = read_graphs(config)
            check_compiler()
            builder = Builder(config)
            results = [result for variant in run_variants(builder, Silent(), journal) for result in variant]
            write_results(folder, config, results, builder.problem.attributes(), graphs)
        journal.clear()
        return read_dataset(folder)
