"""A Dataset of plain arrays as netCDF-4, straight through h5py.

netCDF-4 is HDF5 with rules: every dimension is a dimension scale (an array of its own, `_Netcdf4Dimid` numbers it), and
every array names its scales in DIMENSION_LIST. xarray, netCDF4 and h5netcdf read these files. xarray's own path through
h5netcdf spends 20 to 30 ms on each variable; results have a hundred, and a run writes them after every method.

Known types only: float, int, text; no time, no scale factor, no missing integers. Others are refused.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airbayes.text import printable

if TYPE_CHECKING:
    import h5py
    import xarray as xr

LARGEST_CHUNK = 1 << 26  # bytes; larger arrays are cut as h5py sees fit
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
PLAIN = frozenset({"meaning", "units", "_FillValue"})  # what may stand beside an array; a fill value must be NaN
INTERNAL = frozenset(
    {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}
)


def write_netcdf(path: Path, dataset: "xr.Dataset") -> None:
    """Arrays deflated, each chunk with a checksum of its own; the same Dataset gives the same bytes.

    Made in memory and written at once: the HDF5 library does not survive a disk that fills up.
    """
    path.write_bytes(_image(dataset))


def _image(dataset: "xr.Dataset") -> bytes:
    import h5py

    with h5py.File("results", "w", track_order=True, driver="core", backing_store=False) as file:
        file.attrs["_NCProperties"] = np.bytes_(f"version=2,h5py={h5py.__version__}")
        for name, value in dataset.attrs.items():
            _set(file, str(name), value)
        scales: dict[str, h5py.Dataset] = {}
        for number, (dim, length) in enumerate(dataset.sizes.items()):
            name = str(dim)
            if name in dataset.coords:
                scale = _store(file, name, dataset[name])
                scale.make_scale(name)
            else:
                scale = file.create_dataset(name, shape=(length,), dtype=">f4")
                scale.make_scale(f"{NO_VARIABLE}{length:10d}")
            scale.attrs["_Netcdf4Dimid"] = np.int32(number)
            scales[name] = scale
        for name, variable in dataset.data_vars.items():
            stored = _store(file, str(name), variable)
            for axis, dim in enumerate(variable.dims):
                stored.dims[axis].attach_scale(scales[str(dim)])
        file.flush()
        return file.id.get_file_image()


def read_netcdf(path: Path) -> "xr.Dataset":
    """The whole Dataset, in memory."""
    import h5py
    import xarray as xr

    with h5py.File(path, "r") as file:
        variables, coordinates = {}, {}
        for name, stored in file.items():
            attributes = dict(stored.attrs)
            is_scale = attributes.get("CLASS") == b"DIMENSION_SCALE"
            if is_scale and attributes.get("NAME", b"").startswith(NO_VARIABLE.encode()):
                continue
            dims = (name,) if is_scale else _dimensions(file, name, stored, attributes)
            kept = _kept(name, attributes)
            (coordinates if is_scale else variables)[name] = (dims, _values(stored), kept)
        found = {name: _value(value) for name, value in file.attrs.items() if name not in INTERNAL}
    return xr.Dataset(variables, coordinates, found)


def _store(file: "h5py.File", name: str, array: "xr.DataArray") -> "h5py.Dataset":
    import h5py

    values = np.asarray(array.values)
    if values.dtype.kind in "UO":
        stored = file.create_dataset(name, data=values.astype(object), dtype=h5py.string_dtype())
    elif values.dtype.kind in "fiu":
        packed: dict[str, Any] = {}
        if values.ndim and values.size and name not in array.dims:
            chunks = values.shape if values.nbytes <= LARGEST_CHUNK else True
            packed = {"chunks": chunks, "compression": "gzip", "compression_opts": 4, "fletcher32": True}
        stored = file.create_dataset(name, data=values, **packed)
    else:
        raise TypeError(f"{name} is {values.dtype}; results hold numbers and text.")
    for key, value in array.attrs.items():
        _set(stored, str(key), value)
    return stored


def _set(owner: "h5py.Group | h5py.Dataset", name: str, value: object) -> None:
    """Text as it is; numbers, as netCDF has them, as arrays of one."""
    owner.attrs[name] = value if isinstance(value, str) else np.atleast_1d(np.asarray(value))


def _value(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.shape == (1,):
        return value[0]
    return value.decode() if isinstance(value, bytes) else value


def _values(stored: "h5py.Dataset") -> np.ndarray:
    if stored.dtype.kind != "O":
        return np.asarray(stored[()])
    texts = np.asarray(stored.asstr()[()])
    return texts.astype(str) if texts.size else np.zeros(texts.shape, "<U1")


def _dimensions(file: "h5py.File", name: str, stored: "h5py.Dataset", attributes: dict[str, Any]) -> tuple[str, ...]:
    import h5py

    if not stored.ndim:
        return ()
    lists = attributes.get("DIMENSION_LIST")
    if lists is None or len(lists) != stored.ndim or any(len(each) != 1 for each in lists):
        raise ValueError(f"{printable(name)} does not name its dimensions")
    names = [h5py.h5r.get_name(each[0], file.id) for each in lists]
    if any(each is None for each in names):
        raise ValueError(f"{printable(name)} names a dimension that is not there")
    return tuple(each.decode().removeprefix("/") for each in names)


def _kept(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    unknown = [key for key in attributes if key not in PLAIN | INTERNAL]
    fill = attributes.get("_FillValue", np.nan)
    if unknown or not (np.asarray(fill).dtype.kind == "f" and np.isnan(fill).all()):
        raise ValueError(f"{printable(name)} is encoded with {printable(str(unknown or 'a fill value'))}")
    return {key: _value(attributes[key]) for key in ("units", "meaning") if key in attributes}
