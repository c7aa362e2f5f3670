"""A spinning sensor of many beams: which rays can meet an object, and what is measured of their hits."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from airbayes.data.simulator.config import SimulatorConfig
from airbayes.data.simulator.raycast import Hits


class Window(NamedTuple):
    """Part of the field of view: azimuth and elevation, radians."""

    azimuth: tuple[float, float]
    elevation: tuple[float, float]


class Returns(NamedTuple):
    """What the sensor reports: range and intensity of the rays that came back, and which rays those are."""

    ray: np.ndarray
    distance: Float[np.ndarray, " return"]
    intensity: Float[np.ndarray, " return"]


def window_of(corners: Float[np.ndarray, "4 2"], heights: tuple[float, float], mount_height: float) -> Window:
    """The window around a box that stands on a footprint, seen from (0, 0, mount_height), which lies outside of it."""
    middle = corners.mean(axis=0)
    bearing = math.atan2(middle[1], middle[0])
    turned = np.angle(np.exp(1j * (np.arctan2(corners[:, 1], corners[:, 0]) - bearing)))
    near, far = nearest(corners), float(np.linalg.norm(corners, axis=1).max())
    low, high = heights[0] - mount_height, heights[1] - mount_height
    lowest = math.atan2(low, near if low < 0 else far)
    highest = math.atan2(high, near if high > 0 else far)
    return Window((bearing + float(turned.min()), bearing + float(turned.max())), (lowest, highest))


def nearest(corners: Float[np.ndarray, "4 2"]) -> float:
    """Distance from the sensor to a footprint (corners in order); 0 when the sensor stands in it."""
    side = np.roll(corners, -1, axis=0) - corners
    turn = corners[:, 0] * side[:, 1] - corners[:, 1] * side[:, 0]
    if (turn >= 0).all() or (turn <= 0).all():
        return 0.0
    share = np.clip(-(corners * side).sum(1) / (side**2).sum(1), 0.0, 1.0)
    return float(np.linalg.norm(corners + share[:, None] * side, axis=1).min())


def rays_in(window: Window, config: SimulatorConfig, phase: float) -> Float[np.ndarray, "ray 3"]:
    """Unit vectors of all firings inside the window, beam by beam; `phase` in [0, 1) shifts the azimuth grid."""
    step = math.radians(config.azimuth_step_deg)
    elevation = np.radians(np.asarray(config.elevations_deg))
    elevation = elevation[(elevation >= window.elevation[0]) & (elevation <= window.elevation[1])]
    first, last = math.ceil(window.azimuth[0] / step - phase), math.floor(window.azimuth[1] / step - phase)
    azimuth = (np.arange(first, last + 1) + phase) * step
    flat = np.cos(elevation)[:, None]
    up = np.broadcast_to(np.sin(elevation)[:, None], (elevation.size, azimuth.size))
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), up], axis=-1).reshape(-1, 3)


def measure(
    hits: Hits,
    seen: np.ndarray,
    reflectivity: Float[np.ndarray, " part"],
    config: SimulatorConfig,
    rng: np.random.Generator,
) -> Returns:
    """Range with noise, intensity, and drop-outs, of the hits that are `seen`."""
    (ray,) = np.nonzero(seen)
    distance, cosine = hits.distance[ray], hits.cosine[ray]
    lost = config.dropout + config.dropout_range * (distance / config.max_range) ** 2
    lost += config.dropout_grazing * (1 - cosine) ** 4
    kept = rng.random(ray.size) >= lost
    ray, distance, cosine = ray[kept], distance[kept], cosine[kept]
    noise = rng.standard_normal((2, ray.size))
    intensity = reflectivity[hits.part[ray]] * cosine * (1 + config.intensity_noise * noise[0])
    return Returns(ray, distance + config.range_noise * noise[1], np.clip(intensity, 0.0, 1.0))
