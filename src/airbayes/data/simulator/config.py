"""Every number that decides what the simulator draws, and the hashes that name a draw.

The text under each field is its help on the command line. The published studies use the defaults; their hash is stored
with the results.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping

import numpy as np

from airbayes.errors import ConfigError

SIMULATOR_VERSION = 1  # raise it whenever a change of the code changes what is drawn
CLASSES = ("car", "truck", "bus", "pedestrian", "cyclist", "motorcyclist")

# 64 beams, dense around the horizon: degrees above it, from the top.
BEAMS = (15.0, 11.0, 8.0, 5.0, 3.0, *(round(2 - k / 6, 3) for k in range(49)), *range(-7, -15, -1), -19.0, -25.0)


@dataclasses.dataclass(frozen=True)
class SimulatorConfig:
    elevations_deg: tuple[float, ...] = tuple(float(angle) for angle in BEAMS)
    """Beam table: elevation of every beam above the horizon, degrees."""
    azimuth_step_deg: float = 0.2
    """Angle between two firings of a beam, degrees."""
    mount_height: float = 1.9
    """Height of the sensor above the ground, metres."""
    range_noise: float = 0.02
    """σ of the measured range, metres."""
    dropout: float = 0.04
    """Probability that a return is lost, face on at no distance."""
    dropout_range: float = 0.20
    """Added to it at max_range, growing with the square of the range."""
    dropout_grazing: float = 0.6
    """Added to it at grazing incidence: this times (1 − cos)⁴."""
    intensity_noise: float = 0.08
    """Relative σ of the intensity, which is reflectivity × cos(incidence)."""
    min_range: float = 5.0
    """Nearest centre of an object, metres."""
    max_range: float = 50.0
    """Farthest centre of an object, metres; centres are uniform over the ring between the two."""
    clearance: float = 2.0
    """No object comes nearer to the sensor than this, metres."""
    occlusion: float = 0.4
    """Probability that something stands between sensor and object."""
    truncation: float = 0.1
    """Probability that the object is cut off at an edge of the field of view."""
    ground_threshold: float = 0.15
    """Returns lower than this above the ground are removed with it, metres."""
    ground_noise: float = 0.04
    """σ of that threshold from return to return, metres."""
    min_points: int = 10
    """A view with fewer returns is drawn again."""
    views: int = 1
    """Views of every physical object."""

    def __post_init__(self):
        problems = _find_problems(self)
        if problems:
            raise ConfigError(problems)


def parameters_hash(config: SimulatorConfig) -> str:
    """sha256 of the parameters and the code's version: what a study freezes before it trains."""
    return _sha256({"version": SIMULATOR_VERSION, "config": dataclasses.asdict(config)})


def content_hash(config: SimulatorConfig, per_class: Mapping[str, int], seed: int) -> str:
    """sha256 of all that a draw depends on; the name of its cache file."""
    splits = [[name, int(count)] for name, count in per_class.items()]
    drawn = {"version": SIMULATOR_VERSION, "config": dataclasses.asdict(config), "splits": splits, "seed": int(seed)}
    return _sha256(drawn)


def _sha256(content: dict) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _find_problems(config: SimulatorConfig) -> list[str]:
    """Everything wrong with the parameters, one line each."""
    problems = []
    elevations = np.asarray(config.elevations_deg, float)
    if not elevations.size or not (np.abs(elevations) < 90).all():
        problems.append("elevations_deg needs at least one beam, all between -90 and 90 degrees.")
    numbers = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    del numbers["elevations_deg"]
    positive = ("azimuth_step_deg", "mount_height", "min_range", "max_range", "min_points", "views")
    for name, value in numbers.items():
        low_enough = value <= 1 if name in ("dropout", "occlusion", "truncation") else np.isfinite(value)
        if not (low_enough and (value > 0 if name in positive else value >= 0)):
            kind = "a probability" if name in ("dropout", "occlusion", "truncation") else "finite"
            problems.append(f"{name} = {value}: must be {kind} and {'above' if name in positive else 'at least'} 0.")
    if not config.min_range < config.max_range:
        problems.append(f"min_range = {config.min_range} must be below max_range = {config.max_range}.")
    return problems
