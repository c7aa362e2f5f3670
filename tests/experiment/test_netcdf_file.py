"""Our own netCDF-4: xarray reads in it what we wrote, we read what xarray writes; what we do not know is refused."""

import errno
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr

from airbayes.errors import ResultsError
from airbayes.experiment.netcdf_file import read_netcdf, write_netcdf
from airbayes.experiment.results_file import write_dataset

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def by_xarray(path: Path) -> xr.Dataset:
    return xr.load_dataset(path, engine="h5netcdf", decode_times=False, decode_timedelta=False)


def assert_identical(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(one, other)
    assert list(one.data_vars) == list(other.data_vars)
    for name in one.variables:
        assert one[name].dtype == other[name].dtype


def small() -> xr.Dataset:
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {
            "score": (("method", "bin"), rng.normal(size=(2, 4)).astype(np.float32), {"units": "nats"}),
            "count": (("method",), np.array([3, -1], np.int32), {"meaning": "−1: none"}),
            "alone": ((), np.float64(np.nan)),
            "none": (("method", "empty"), np.zeros((2, 0))),
        },
        {"method": ["dsgld", "größe"], "snr_db": [0.0, np.inf]},
        {"experiment": "a\nb", "num_classes": 3},
    )


@pytest.mark.parametrize("name", ["paper-real", "paper-sgld-small-step"])
def test_committed_results_are_read_as_xarray_reads_them_and_written_as_it_does(name, tmp_path):
    theirs = by_xarray(RESULTS / name / "results.nc")
    assert_identical(read_netcdf(RESULTS / name / "results.nc"), theirs)
    write_netcdf(tmp_path / "again.nc", theirs)
    assert_identical(by_xarray(tmp_path / "again.nc"), theirs)


def test_every_type_survives_and_the_bytes_repeat(tmp_path):
    write_netcdf(tmp_path / "a.nc", small())
    write_netcdf(tmp_path / "b.nc", small())
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    for read in (read_netcdf, by_xarray):
        assert_identical(read(tmp_path / "a.nc"), small())
    small().to_netcdf(tmp_path / "theirs.nc", engine="h5netcdf")
    assert_identical(read_netcdf(tmp_path / "theirs.nc"), small())


def test_the_netcdf_library_reads_it(tmp_path):
    netcdf = pytest.importorskip("netCDF4")
    write_netcdf(tmp_path / "a.nc", small())
    with netcdf.Dataset(tmp_path / "a.nc") as file:
        assert file.variables["score"].dimensions == ("method", "bin")
        assert file.variables["method"][:].tolist() == ["dsgld", "größe"]
        np.testing.assert_array_equal(file.variables["score"][:], small().score.values)


def test_arrays_carry_checksums(tmp_path):
    write_netcdf(tmp_path / "a.nc", small())
    with h5py.File(tmp_path / "a.nc") as file:
        stored: Any = file["score"]
        assert stored.fletcher32
        offset = stored.id.get_chunk_info(0).byte_offset
    raw = bytearray((tmp_path / "a.nc").read_bytes())
    raw[offset + 6] ^= 1
    (tmp_path / "a.nc").write_bytes(raw)
    with pytest.raises(OSError, match=r"(?i)read data"):
        read_netcdf(tmp_path / "a.nc")


def test_other_types_and_encodings_are_refused(tmp_path):
    with pytest.raises(TypeError, match="score is bool"):
        write_netcdf(tmp_path / "a.nc", small().assign(score=("method", np.array([True, False]))))
    for encoding in ({"scale_factor": 0.1, "dtype": "i2", "_FillValue": -1}, {"_FillValue": 0.0}):
        small().to_netcdf(tmp_path / "packed.nc", engine="h5netcdf", encoding={"score": encoding})
        with pytest.raises(ValueError, match="score is encoded with"):
            read_netcdf(tmp_path / "packed.nc")
    write_netcdf(tmp_path / "a.nc", small())
    with h5py.File(tmp_path / "a.nc", "a") as file:
        del file["score"].attrs["DIMENSION_LIST"]
    with pytest.raises(ValueError, match="score does not name its dimensions"):
        read_netcdf(tmp_path / "a.nc")


@pytest.mark.parametrize("room", [0, 100, 4000, 20_000])
def test_a_disk_that_is_full_is_told_as_for_all_files(tmp_path, room, monkeypatch):
    """A limit on the size of files stands in for it. HDF5 notices it at a write, or only when the file is closed."""
    many = xr.Dataset({f"a{i}": (("x",), np.random.default_rng(i).normal(size=50)) for i in range(100)})
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # cut off, it would stay
    before, limits = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.raises(
            ResultsError, match=r"Could not write .*results.nc: File too large. Free some space"
        ) as told:
            write_dataset(tmp_path / "results.nc", many)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert isinstance(told.value.__cause__, OSError)
    assert told.value.__cause__.errno == errno.EFBIG
    assert not list(tmp_path.iterdir())
