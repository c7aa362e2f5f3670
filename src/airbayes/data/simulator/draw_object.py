"""One simulated object and its views."""

import zlib
from collections.abc import Callable

import numpy as np

from airbayes.data.simulator.config import CLASSES, SimulatorConfig
from airbayes.data.simulator.parts import Part, Solid, assemble
from airbayes.data.simulator.people import pedestrian
from airbayes.data.simulator.riders import cyclist, motorcyclist
from airbayes.data.simulator.scene import View, draw_view
from airbayes.data.simulator.vehicles import bus, car, truck
from airbayes.errors import DataError

SHAPES: dict[str, Callable[[np.random.Generator], list[Part]]] = {
    "car": car,
    "truck": truck,
    "bus": bus,
    "pedestrian": pedestrian,
    "cyclist": cyclist,
    "motorcyclist": motorcyclist,
}
MAX_ATTEMPTS = 300  # of a view with enough points


def draw_object(config: SimulatorConfig, split: str, label: int, index: int, seed: int) -> list[View]:
    """All views of one physical object, each with at least `min_points` returns."""
    rng = np.random.default_rng([seed, zlib.crc32(split.encode()), label, index])
    solid = assemble(SHAPES[CLASSES[label]](rng))
    return [_view_with_points(solid, config, rng) for _ in range(config.views)]


def _view_with_points(solid: Solid, config: SimulatorConfig, rng: np.random.Generator) -> View:
    for _ in range(MAX_ATTEMPTS):
        view = draw_view(solid, config, rng)
        if len(view.points) >= config.min_points:
            return view
    raise DataError(
        f"No view with {config.min_points} points in {MAX_ATTEMPTS:,} attempts; lower min_points, max_range, "
        "occlusion or drop-outs, or give the sensor more beams."
    )
