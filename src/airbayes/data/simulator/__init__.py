"""A lidar simulator: a spinning multi-beam sensor, ray-cast against parametric road users of six classes."""

from airbayes.data.simulator.cache import cache_folder, cached_objects
from airbayes.data.simulator.config import (
    CLASSES,
    SIMULATOR_VERSION,
    SimulatorConfig,
    content_hash,
    parameters_hash,
)
from airbayes.data.simulator.simulate import simulate

__all__ = [
    "CLASSES",
    "SIMULATOR_VERSION",
    "SimulatorConfig",
    "cache_folder",
    "cached_objects",
    "content_hash",
    "parameters_hash",
    "simulate",
]
