"""Experiments that come with the package. Each docstring states its command, its time and what to expect."""

import dataclasses
import difflib
from collections.abc import Callable

from airbayes.errors import ConfigError
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


def gaussian() -> ExperimentConfig:
    """Linear regression over 5 agents, where the truth is known: which sampler reaches the posterior, at which SNR?

    `airbayes run gaussian`, about 45 s on 2 cores. Expect W2 to the posterior of 0.01 to 0.03 from 2 dB above the
    transition SNR (full 16.7, star 21.1, ring 22.7 dB) for every policy; below it 0.3 to 2 with optimal or truncated
    gains, 0.02 to 0.14 with the common gain.
    """
    return ExperimentConfig(
        name="gaussian",
        methods=("sgld", "dsgld", "dsghmc", "cd_dsgld"),
        policies=("optimal", "truncated", "common"),
        problem=ProblemConfig(kind="linear", features=4, examples=20),
        network=NetworkConfig(agents=5, topologies=("full", "star", "ring")),
        channel=ChannelConfig(snr_db=tuple(float(snr) for snr in range(0, 41, 5))),
        sampling=SamplingConfig(eta=5e-4, steps=5000, burn_in=1000, thin=10, chains=32),
        momentum=MomentumConfig(eta=0.02, friction=10.0),
    )


def blobs() -> ExperimentConfig:
    """Softmax regression on overlapping blobs: accuracy and calibration of CD-DSGLD and Q-DSGD against SNR.

    `airbayes run blobs`, one to three minutes on 2 cores. Expect an ECE of about 0.11 for CD-DSGLD against 0.15 to 0.17
    for Q-DSGD and 0.24 for DSGD above the transition; at -10 dB 0.20 to 0.31 with optimal gains, 0.07 to 0.09 with the
    common gain. Q-DSGD cannot send a single coordinate at -10 dB.
    """
    return ExperimentConfig(
        name="blobs",
        methods=("dsgld", "dsgd", "cd_dsgld", "q_dsgd"),
        policies=("optimal", "common"),
        seeds=2,
        problem=ProblemConfig(kind="softmax", features=20, classes=4, examples=12, noise_std=2.2),
        channel=ChannelConfig(snr_db=(-10.0, 0.0, 10.0, 20.0, 30.0)),
        sampling=SamplingConfig(eta=5e-3, steps=10_000, burn_in=2000, thin=50),
    )


def quick() -> ExperimentConfig:
    """The paper's study in small: PointNet on simulated lidar, does channel noise give honest confidence?

    `airbayes run quick`, one and a half minutes on 2 quiet cores, less the second time. Expect at 30 dB an ECE of 0.14
    to 0.17 for CD-DSGLD against 0.21 to 0.31 for Q-DSGD; 0.41 to 0.58 correct against 0.46 to 0.56; at 0 dB 0.17
    correct, chance, with optimal gains (their ECE near 0 means nothing), 0.45 to 0.50 with the common gain, 0.50 to
    0.54 for Q-DSGD. That is seed 0, the one it was tuned with; `--seeds 3` takes three times as long and is in
    docs/study.md.
    The agents hold unlike shares of the classes, because the contrast was seen only then: with like shares (iid)
    CD-DSGLD is under-confident after so few steps, and Q-DSGD with a tuned consensus step better calibrated.
    """
    return ExperimentConfig(
        name="quick",
        methods=("cd_dsgld", "q_dsgd"),
        policies=("optimal", "common"),
        evaluations=10,
        saved_samples=10,
        problem=ProblemConfig(kind="pointnet"),
        lidar=LidarConfig(
            per_class=40,
            points=32,
            scale_m=0.2,
            partition="dirichlet",
            concentration=0.3,
            test_per_class=40,  # 240 in all: one block of the observer
            validation_per_class=40,
        ),
        network=NetworkConfig(topologies=("full", "star", "ring")),
        channel=ChannelConfig(snr_db=(0.0, 15.0, 30.0)),
        sampling=SamplingConfig(eta=1.5e-4, steps=600, burn_in=400, thin=10, drift="tamed", batch_size=12),
        digital=DigitalConfig(consensus_step=0.1),
    )


def paper() -> ExperimentConfig:
    """Fig. 2 in full: three graphs, 0 to 30 dB, 15,000 iterations, on simulated lidar, with the references.

    `airbayes run paper --seeds 8` on a GPU: 1.8 s a cell on an H200 (17 minutes for CD-DSGLD and Q-DSGD). Expect
    0.73 to 0.76 correct with the common gain, 0.71 to 0.73 for Q-DSGD, and chance, 0.17, with optimal gains at low SNR
    (full at 0, star to 5, ring to 10 dB); an ECE of 0.08 to 0.20 for CD-DSGLD against 0.21 to 0.24 for Q-DSGD (means of
    eight seeds; single runs vary more). Unlike the paper: tamed drift, samples every 50 iterations from 5,000 on,
    and the metre as input unit. The paper's own protocol is
    `--sampling.drift plain --sampling.burn-in 14900 --sampling.thin 1 --lidar.scale-m 3`.
    """
    return ExperimentConfig(
        name="paper",
        methods=("cd_dsgld", "q_dsgd", "dsgld", "dsgd", "sgld", "local_sgld", "local_sgd"),
        policies=("optimal", "common"),
        evaluations=50,
        problem=ProblemConfig(kind="pointnet"),
        lidar=LidarConfig(scale_m=1.0),
        channel=ChannelConfig(snr_db=tuple(float(snr) for snr in range(0, 31, 5))),
        sampling=SamplingConfig(eta=1e-4, steps=15_000, burn_in=5_000, thin=50, drift="tamed"),
    )


def paper_real() -> ExperimentConfig:
    """Fig. 2 on real objects: name your object set, `airbayes run paper-real --lidar.source FILE.npz`.

    Five seeds test every physical object once (`--seeds 5`). On 2,737 PandaSet objects of six classes, one split,
    expect 0.81 to 0.87 correct with the common gain against 0.79 to 0.83 for Q-DSGD, an ECE of 0.06 to 0.18 against
    0.11 to 0.17 (0.26 in one cell of 21, whose chain fell), and chance with optimal gains at low SNR (full at 0, star
    to 5, ring to 10 dB). With `--methods cd_dsgld q_dsgd` five minutes on an H200 that was shared.
    """
    config = paper()
    return dataclasses.replace(config, name="paper-real", lidar=dataclasses.replace(config.lidar, source=""))


def faults() -> ExperimentConfig:
    """Softmax regression on blobs over a ring whose radio fails: accuracy and calibration against the rate of faults.

    `airbayes run faults`, under two minutes on 2 cores. One ring, 20 dB, seven faults (docs/faults.md). Expect lost
    links, absent and late agents to leave accuracy within 0.04 of 0.64 (Q-DSGD: 0.02 of 0.58) and the samplers' ECE at
    or below 0.15,
    even at a rate of 0.9. One neighbour lying in 10 % of the blocks (random values of size 10) takes DSGD from 0.63 to
    0.31 and Q-DSGD from 0.58 to 0.47 with an ECE above 0.5; the samplers stay at 0.67 to 0.70 but turn
    under-confident, ECE 0.27 to 0.31. Two seeds and short chains, R-hat above 1.1 in 70 of 84 sampled cells: read
    differences below 0.03 as noise.
    """
    scenarios = [
        *(f"link_outage={rate}" for rate in (0.25, 0.5, 0.9)),
        *(f"link_outage={rate},burst_length=200" for rate in (0.25, 0.5, 0.9)),
        *(f"away={rate}" for rate in (0.25, 0.5, 0.9)),
        *(f"late={rate}" for rate in (0.5, 0.9)),
        *(f"attack_rate={rate}" for rate in (0.001, 0.01, 0.1)),
        *(f"impulse_rate={rate}" for rate in (0.001, 0.01, 0.1)),
        *(f"jam_rate={rate}" for rate in (0.01, 0.1, 1.0)),
    ]
    return ExperimentConfig(
        name="faults",
        methods=("dsgld", "dsgd", "cd_dsgld", "q_dsgd"),
        policies=("common",),
        seeds=2,
        problem=ProblemConfig(kind="softmax", features=20, classes=4, examples=12, noise_std=2.2),
        network=NetworkConfig(
            topologies=("ring", *(f"ring@{scenario}" for scenario in scenarios)),
            staleness=50,
            attackers=1,
            attack="random",
            attack_size=10.0,
            attack_rate=0.0,
        ),
        channel=ChannelConfig(snr_db=(20.0,), impulse_power=1000.0, jammed=1, jam_rate=0.0, jam_power=1000.0),
        sampling=SamplingConfig(eta=5e-3, steps=6000, burn_in=1000, thin=25),
        digital=DigitalConfig(mode="own-value"),
    )


PRESETS: dict[str, Callable[[], ExperimentConfig]] = {
    "quick": quick,
    "paper": paper,
    "paper-real": paper_real,
    "gaussian": gaussian,
    "blobs": blobs,
    "faults": faults,
}


def preset(name: str) -> ExperimentConfig:
    """The preset of that name; a misspelt one is answered with the nearest."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Presets: {', '.join(PRESETS)}."
        raise ConfigError(f"Unknown preset {name!r}. {hint} An experiment file ends in .toml.")
    return PRESETS[name]()
