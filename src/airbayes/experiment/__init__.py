"""Experiments: configuration, grids of cells, and results on disk."""

from airbayes.experiment.config import (
    ChannelConfig,
    DigitalConfig,
    ExperimentConfig,
    MomentumConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)

__all__ = [
    "ChannelConfig",
    "DigitalConfig",
    "ExperimentConfig",
    "MomentumConfig",
    "NetworkConfig",
    "ProblemConfig",
    "SamplingConfig",
]
