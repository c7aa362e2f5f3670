"""What single numbers may be: one table for experiments, from which other commands take what they share with them."""

import dataclasses
import math

ABOVE_ZERO = math.ulp(0.0)
BELOW_ONE = 1 - 1e-9


@dataclasses.dataclass(frozen=True)
class Range:
    """From the lowest to the highest number that is allowed, both included."""

    low: float | int
    high: float | int

    def __contains__(self, value: float | int) -> bool:
        return self.low <= value <= self.high  # False for NaN too

    def __str__(self) -> str:
        least = "above 0" if self.low == ABOVE_ZERO else f"at least {_said(self.low)}"
        return f"{least} and {'below 1' if self.high == BELOW_ONE else f'at most {_said(self.high)}'}"


def _said(value: float | int) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


RANGES = {
    "seeds": Range(1, 1_000_000),
    "first_seed": Range(0, 2**31 - 1),
    "evaluations": Range(1, 100_000),
    "cells_per_batch": Range(0, 1_000_000),
    "problem.features": Range(1, 1_000_000),
    "problem.classes": Range(2, 10_000),
    "problem.examples": Range(1, 10_000_000),
    "problem.test_examples": Range(1, 10_000_000),
    "problem.noise_std": Range(ABOVE_ZERO, 1e6),
    "problem.heterogeneity": Range(0, 1e3),
    "problem.width": Range(1, 100_000),
    "problem.depth": Range(1, 100),
    "problem.prior_scale": Range(ABOVE_ZERO, 1e6),
    "saved_samples": Range(0, 100_000),
    "saved_agents": Range(1, 1_000_000),
    "lidar.per_class": Range(1, 1_000_000),
    "lidar.test_per_class": Range(1, 1_000_000),
    "lidar.validation_per_class": Range(1, 1_000_000),
    "lidar.folds": Range(2, 1000),
    "lidar.max_views": Range(1, 1_000_000),
    "lidar.points": Range(1, 100_000),
    "lidar.scale_m": Range(ABOVE_ZERO, 1e6),
    "lidar.concentration": Range(ABOVE_ZERO, 1e6),
    "lidar.classes_per_agent": Range(1, 10_000),
    "lidar.augment_yaw": Range(0, 180),
    "lidar.augment_jitter_m": Range(0, 1e3),
    "lidar.augment_dropout": Range(0, BELOW_ONE),
    "network.agents": Range(1, 1_000_000),
    "network.graph_seed": Range(0, 2**31 - 1),
    "channel.power": Range(ABOVE_ZERO, 1e12),
    "sampling.eta": Range(ABOVE_ZERO, 1e3),
    "sampling.steps": Range(1, 2**30),
    "sampling.burn_in": Range(0, 2**30),
    "sampling.thin": Range(1, 2**30),
    "sampling.chains": Range(1, 1_000_000),
    "sampling.decay_offset": Range(ABOVE_ZERO, 1e12),
    "sampling.decay_power": Range(0, 10),
    "sampling.cycle": Range(1, 2**30),
    "sampling.clip_norm": Range(ABOVE_ZERO, 1e12),
    "sampling.batch_size": Range(0, 2**30),
    "momentum.eta": Range(ABOVE_ZERO, 1e3),
    "momentum.friction": Range(ABOVE_ZERO, 1e6),
    "digital.value_bits": Range(2, 16),
    "digital.consensus_step": Range(0, 1),
}
SNR_DB = Range(-200, 200)
