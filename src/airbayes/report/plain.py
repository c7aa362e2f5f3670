"""Networks without fault rates of their own, in a study where others have some."""

import xarray as xr

from airbayes.experiment.dataset import NO_TOPOLOGY
from airbayes.experiment.scenario import graph_name


def plain_part(dataset: xr.Dataset) -> xr.Dataset | None:
    """The results of graphs without rates of their own.

    None in a study of faults: there the one such graph is what its scenarios are compared with.
    """
    names = [str(name) for name in dataset.topology.values]
    plain = [name for name in names if graph_name(name) == name]
    if len(plain) == len(names):
        return dataset
    graphs = [name for name in plain if name != NO_TOPOLOGY]
    compared = {graph_name(name) for name in names if graph_name(name) != name}
    if len(graphs) > 1 or set(graphs) - compared:
        return dataset.sel({"topology": plain})
    return None
