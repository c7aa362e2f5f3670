"""Results made by hand: accuracy and ECE of both methods are given, so every difference is known."""

import numpy as np
import xarray as xr

FIG2 = tuple(float(snr) for snr in range(0, 31, 5))
CD, Q = 0, 1  # rows of `method`
DIMS = ("method", "topology", "snr_db", "seed")


def made_results(
    accuracy=(0.8, 0.7),
    ece=(0.05, 0.15),
    *,
    seeds: int = 8,
    snrs: tuple[float, ...] = FIG2,
    graphs: tuple[str, ...] = ("full", "star", "ring"),
    gains: tuple[str, ...] = ("optimal",),
    spread: float = 0.01,
) -> xr.Dataset:
    """CD-DSGLD (all gains alike) and Q-DSGD at constant means, with a spread of the difference of known mean zero.

    The spread over seeds is antisymmetric, so the mean difference is exact; a part common to both methods, twenty times
    larger, hides the difference from anyone who does not pair by seed. In the old layout an optimiser's last iterate
    has variables of its own, and decoys stand where it would be wrong to look.
    """
    methods = [*(f"cd_dsgld:{name}" for name in gains), "q_dsgd"]
    shape = (len(methods), len(graphs), len(snrs), seeds)
    ramp = np.linspace(-1, 1, seeds) if seeds > 1 else np.zeros(1)
    own, shared = spread * ramp, 20 * spread * np.random.default_rng(0).permutation(ramp)

    def fill(pair) -> np.ndarray:
        values = np.empty(shape)
        values[:-1], values[-1] = pair[CD] + own + shared, pair[Q] + shared
        return values.astype(np.float32)

    variables = {"accuracy": fill(accuracy), "ece": fill(ece)}
    return xr.Dataset(
        {name: (DIMS, values) for name, values in variables.items()}
        | {"status": (DIMS, np.ones(shape, np.int8)), "diverged_step": (DIMS, np.full(shape, -1, np.int32))},
        coords={"method": methods, "topology": list(graphs), "snr_db": list(snrs), "seed": np.arange(seeds)},
        attrs={"experiment": "made", "airbayes_version": "0", "num_classes": 6},
    )


def set_accuracy(dataset: xr.Dataset, method: str, value: float, **where) -> None:
    dataset["accuracy"].loc[{"method": method, **where}] = value


def diverge(dataset: xr.Dataset, method: str, **where) -> None:
    """As the store writes it: status 2, and NaN in every metric."""
    for name in ("accuracy", "ece"):
        dataset[name].loc[{"method": method, **where}] = np.nan
    dataset["status"].loc[{"method": method, **where}] = 2


def drop_runs(dataset: xr.Dataset, method: str, **where) -> None:
    diverge(dataset, method, **where)
    dataset["status"].loc[{"method": method, **where}] = 0
