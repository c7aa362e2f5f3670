"""Experiments: configuration, grids of cells, and results on disk. `run` computes one."""

from airbayes.experiment.config import (
    ChannelConfig,
    DigitalConfig,
    ExperimentConfig,
    LidarConfig,
    MomentumConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)
from airbayes.experiment.presets import preset
from airbayes.experiment.runner import run
from airbayes.experiment.toml_io import load_config

__all__ = [
    "ChannelConfig",
    "DigitalConfig",
    "ExperimentConfig",
    "LidarConfig",
    "MomentumConfig",
    "NetworkConfig",
    "ProblemConfig",
    "SamplingConfig",
    "load_config",
    "preset",
    "run",
]
