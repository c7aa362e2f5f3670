"""Slices of the results as plain arrays: a report takes thousands of them, and xarray's own cost a millisecond each."""

import math

import numpy as np
import xarray as xr

from airbayes.experiment.dataset import CELL_DIMS, STATUS_CODES


class Arrays:
    """The variables of a Dataset as [method, topology, snr, seed, ...], each converted once."""

    def __init__(self, dataset: xr.Dataset):
        self.dataset = dataset
        self.index = {dim: {value: i for i, value in enumerate(dataset[dim].values.tolist())} for dim in CELL_DIMS}
        self.kept: dict[str, np.ndarray] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.dataset.data_vars and set(CELL_DIMS) <= set(self.dataset[name].dims)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.kept:
            self.kept[name] = self.dataset[name].transpose(*CELL_DIMS, ...).values
        return self.kept[name]


class Cells:
    """One variant on one graph: arrays [snr, seed, ...], or [seed, ...] where an SNR was chosen."""

    def __init__(self, arrays: Arrays, variant: str, place: str, snrs: list[float], one: bool):
        index = arrays.index
        rows = [index["snr_db"][snr] for snr in snrs]
        self.snrs = snrs
        self.arrays = arrays
        self.where = (index["method"][variant], index["topology"][place], rows[0] if one else rows)
        self.status = arrays["status"][self.where]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    @property
    def diverged(self) -> np.ndarray:
        return self.status == STATUS_CODES["diverged"]

    @property
    def present(self) -> np.ndarray:
        return self.status != STATUS_CODES["absent"]

    @property
    def scored(self) -> np.ndarray:
        """How many seeds ended well."""
        return np.asarray((self.status == STATUS_CODES["ok"]).sum(axis=-1))

    def values(self, name: str) -> np.ndarray:
        """As stored, of diverged cells too."""
        return self.arrays[name][self.where].astype(np.float64)

    def ok(self, name: str) -> np.ndarray:
        """NaN where a cell did not end well."""
        values = self.values(name)
        good = (self.status == STATUS_CODES["ok"]).reshape(self.status.shape + (1,) * (values.ndim - self.status.ndim))
        return np.where(good, values, math.nan)

    def mean(self, name: str) -> float:
        """Over everything that ended well; NaN where nothing did."""
        return float(mean(self.ok(name))) if name in self else math.nan


def mean(values: np.ndarray, axis: int | tuple[int, ...] | None = None) -> np.ndarray:
    """Over the numbers that are there; NaN, without a warning, where none is."""
    there = np.isfinite(values)
    count = there.sum(axis=axis)
    total = np.where(there, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), math.nan)
