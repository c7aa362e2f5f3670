"""One view: the object somewhere on the ring around the sensor, perhaps something before it, and the returns."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from airbayes.data.simulator.config import SimulatorConfig
from airbayes.data.simulator.draw import between, pick
from airbayes.data.simulator.parts import METAL, Capsule, Material, Part, Solid, assemble, box
from airbayes.data.simulator.people import pedestrian
from airbayes.data.simulator.raycast import cast
from airbayes.data.simulator.sensor import Window, measure, nearest, rays_in, window_of
from airbayes.data.simulator.vehicles import car


class View(NamedTuple):
    """The returns of an object, in the frame of the sensor (its own height is z = 0), and the annotated box."""

    points: Float[np.ndarray, "point 3"]
    intensity: Float[np.ndarray, " point"]
    box: Float[np.ndarray, "7"]  # cx, cy, cz, length, width, height, yaw


def footprint(solid: Solid, x: float, y: float, yaw: float) -> Float[np.ndarray, "4 2"]:
    """Corners, in order, of the box around the solid, seen from above."""
    length, width, _ = solid.size
    c, s = math.cos(yaw), math.sin(yaw)
    signs = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    return signs * [length / 2, width / 2] @ np.array([[c, s], [-s, c]]) + [x, y]


def draw_view(solid: Solid, config: SimulatorConfig, rng: np.random.Generator) -> View:
    """A place, a yaw, what stands in between, and one sweep of the sensor. No points where it comes too near."""
    bearing, yaw = between(rng, -math.pi, math.pi), between(rng, -math.pi, math.pi)
    reach = math.sqrt(between(rng, config.min_range**2, config.max_range**2))  # uniform over the ring
    x, y = reach * math.cos(bearing), reach * math.sin(bearing)
    middle = (solid.low[2] + solid.high[2]) / 2 - config.mount_height
    annotated = np.array([x, y, middle, *solid.size, yaw])
    corners = footprint(solid, x, y, yaw)
    if nearest(corners) < config.clearance:
        return View(np.zeros((0, 3)), np.zeros(0), annotated)
    window = window_of(corners, (float(solid.low[2]), float(solid.high[2])), config.mount_height)
    blocker = _blocker(window, nearest(corners), config, rng) if rng.random() < config.occlusion else None
    rays = rays_in(_truncated(window, config, rng), config, rng.random())
    origin = np.array([0.0, 0.0, config.mount_height])
    hits = cast(origin, rays, solid.placed(x, y, yaw), rng)
    seen = np.isfinite(hits.distance)
    if blocker is not None:
        seen &= hits.distance <= cast(origin, rays, blocker, rng).distance
    returns = measure(hits, seen, solid.reflectivity, config, rng)
    points = returns.distance[:, None] * rays[returns.ray]
    ground = config.ground_threshold + config.ground_noise * rng.standard_normal(len(points))
    kept = points[:, 2] + config.mount_height >= ground
    return View(points[kept], returns.intensity[kept], annotated)


def _truncated(window: Window, config: SimulatorConfig, rng: np.random.Generator) -> Window:
    """The window, or with some probability what an edge of the field of view leaves of it: 20 to 80 per cent."""
    if rng.random() >= config.truncation:
        return window
    low, high = window.azimuth
    edge = between(rng, low + 0.2 * (high - low), low + 0.8 * (high - low))
    return window._replace(azimuth=(low, edge) if rng.random() < 0.5 else (edge, high))


def _blocker(window: Window, gap: float, config: SimulatorConfig, rng: np.random.Generator) -> Solid | None:
    """A car, a person, a pole or a low wall before the object; None where there is no room for it."""
    parts: list[Part]
    kind = pick(rng, {"car": 0.35, "person": 0.25, "pole": 0.2, "wall": 0.2})
    if kind == "car":
        parts = car(rng)
    elif kind == "person":
        parts = pedestrian(rng)
    elif kind == "pole":
        parts = [Capsule((0.0, 0.0, 0.0), (0.0, 0.0, 6.0), between(rng, 0.05, 0.2), METAL)]
    else:
        parts = [
            box((-between(rng, 0.5, 2.5), between(rng, 0.5, 2.5)), (0.0, between(rng, 0.5, 1.4)), 0.3, Material(0.3))
        ]
    solid = assemble(parts)
    half = math.hypot(*solid.size[:2]) / 2
    reach = between(rng, 0.3, 0.9) * gap
    bearing, yaw = between(rng, *window.azimuth), between(rng, -math.pi, math.pi)
    if not config.clearance + half <= reach <= gap - half:
        return None
    return solid.placed(reach * math.cos(bearing), reach * math.sin(bearing), yaw)
