"""Loaded by every worker of a local cluster: a terminal sends Ctrl-C to all processes that it started, workers too.

They would die in the middle of a unit; so it is the driver's alone, which asks them to save and stop.
"""

import signal


def dask_setup(worker: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
