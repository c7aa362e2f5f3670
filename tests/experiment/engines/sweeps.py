"""What tests of sweeps share: small experiments, and a look into their folders."""

from pathlib import Path

from airbayes.experiment.engines.units import cells_at, units_of
from airbayes.experiment.journal import Journal
from airbayes.experiment.toml_io import parse_config

LINEAR = """
name = "small"
methods = ["sgld"]
seeds = 4
evaluations = 4
cells_per_batch = 1
[problem]
features = 2
[sampling]
steps = 8000
burn_in = 1000
thin = 10
"""

SOFTMAX = """
name = "small"
methods = ["sgld"]
seeds = 4
evaluations = 2
saved_samples = 5
cells_per_batch = 1
[problem]
kind = "softmax"
features = 2
test_examples = 20
[sampling]
steps = 400
burn_in = 100
thin = 10
"""


def places(folder: Path, experiment: str) -> list[Path]:
    """The folder of every unit of a run that has begun."""
    config = parse_config(experiment)
    journal = Journal(folder)
    journal.join(config)
    return [journal.place(cells_at(config, unit.cells)) for unit in units_of(config)]


def assert_same_files(whole: Path, found: Path) -> None:
    """Byte for byte, results and samples; what names the folder and what happened when is each run's own."""
    names = {path.relative_to(whole) for path in whole.rglob("*") if path.is_file()}
    assert {path.relative_to(found) for path in found.rglob("*") if path.is_file()} == names
    assert Path("results.nc") in names
    for name in names - {Path("events.jsonl"), Path("report.html")}:
        assert (whole / name).read_bytes() == (found / name).read_bytes(), name
