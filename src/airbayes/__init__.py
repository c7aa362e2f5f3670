"""airbayes: Bayesian federated learning over the air.

Agents on a device-to-device radio network sample one posterior together. They transmit their
parameters as analog signals; the channel sums the neighbours and its noise does the sampling.

Start with `models` (data and the potentials f_k), `network` (who hears whom) and `samplers` (the algorithms), as in
README.md; `channel` and `power` are the radio of CD-DSGLD, `metrics` scores what was sampled. Whole studies are run by
the command `airbayes`. Sub-packages are imported at their first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airbayes import (
        channel,
        compress,
        data,
        errors,
        experiment,
        export,
        keys,
        metrics,
        models,
        network,
        power,
        report,
        samplers,
    )

__version__ = "0.1.0"

__all__ = [
    "channel",
    "compress",
    "data",
    "errors",
    "experiment",
    "export",
    "keys",
    "metrics",
    "models",
    "network",
    "power",
    "report",
    "samplers",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"airbayes.{name}")
    raise AttributeError(f"module 'airbayes' has no attribute {name!r}; its parts are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
