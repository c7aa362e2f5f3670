"""Which trackers there are, told without loading JAX: a run asks before anything else is loaded."""

import importlib.util
from collections.abc import Sequence

from airbayes.errors import ConfigError

TRACKERS = {"tensorboard": "tensorboard", "mlflow": "mlflow"}  # name, which is also the extra → module


def check_trackers(names: Sequence[str]) -> None:
    """Raise ConfigError unless every tracker can be used."""
    problems = [f"Unknown tracker {name!r}. Known: {', '.join(TRACKERS)}." for name in names if name not in TRACKERS]
    problems += [
        f"--track {name} needs a package that is not installed. Install it with: pip install 'airbayes[{name}]'"
        for name in names
        if name in TRACKERS and importlib.util.find_spec(TRACKERS[name]) is None
    ]
    if problems:
        raise ConfigError(problems)
