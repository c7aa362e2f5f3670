"""Experiments that come with the package. Each docstring states its command, its time and what to expect."""

import difflib
from collections.abc import Callable

from airbayes.errors import ConfigError
from airbayes.experiment.config import (
    ChannelConfig,
    ExperimentConfig,
    MomentumConfig,
    NetworkConfig,
    ProblemConfig,
    SamplingConfig,
)


def gaussian() -> ExperimentConfig:
    """Linear regression over 5 agents, where the truth is known: which sampler reaches the posterior, at which SNR?"""
    return ExperimentConfig(
        name="gaussian",
        methods=("sgld", "dsgld", "dsghmc", "cd_dsgld"),
        policies=("optimal", "truncated", "common"),
        problem=ProblemConfig(kind="linear", features=4, examples=20),
        network=NetworkConfig(agents=5, topologies=("full", "star", "ring")),
        channel=ChannelConfig(snr_db=tuple(float(snr) for snr in range(0, 41, 5))),
        sampling=SamplingConfig(eta=5e-4, steps=6000, burn_in=1000, thin=10, chains=32),
        momentum=MomentumConfig(eta=0.02, friction=10.0),
    )


def blobs() -> ExperimentConfig:
    """Softmax regression on overlapping blobs: accuracy and calibration of CD-DSGLD and Q-DSGD against SNR."""
    return ExperimentConfig(
        name="blobs",
        methods=("dsgld", "dsgd", "cd_dsgld", "q_dsgd"),
        policies=("optimal", "common"),
        problem=ProblemConfig(kind="softmax", features=20, classes=4, examples=12, noise_std=1.5),
        channel=ChannelConfig(snr_db=(0.0, 10.0, 20.0, 30.0)),
        sampling=SamplingConfig(eta=1e-3, steps=6000, burn_in=2000, thin=20),
    )


PRESETS: dict[str, Callable[[], ExperimentConfig]] = {"gaussian": gaussian, "blobs": blobs}


def preset(name: str) -> ExperimentConfig:
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Presets: {', '.join(PRESETS)}."
        raise ConfigError(f"Unknown preset {name!r}. {hint} An experiment file ends in .toml.")
    return PRESETS[name]()
