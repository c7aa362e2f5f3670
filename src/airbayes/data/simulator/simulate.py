"""Draw sets of simulated objects.

Object `index` of a class and split has its own stream, SeedSequence([seed, split, class, index]): more objects, other
classes or other splits never change it. Every one is another physical object, so splits share none.
"""

import zlib
from collections.abc import Callable, Mapping

import numpy as np

from airbayes.data.objects import ObjectSet, from_clouds
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


def simulate(config: SimulatorConfig, per_class: Mapping[str, int], seed: int) -> ObjectSet:
    """`per_class` objects of every class in every named split, such as {"train": 200, "test": 400}.

    `scene` holds the split's name, `instance` names the physical object, `frame` counts its views.
    """
    if not 0 <= seed < 2**32:
        raise DataError(f"Seed {seed} is out of range: 0 to {2**32 - 1}.")
    if any(count < 0 for count in per_class.values()):
        raise DataError(f"Counts must not be negative; got {dict(per_class)}.")
    drawn = [
        (split, label, index, frame, view)
        for split, count in per_class.items()
        for label in range(len(CLASSES))
        for index in range(count)
        for frame, view in enumerate(draw_object(config, split, label, index, seed))
    ]
    views = [view for *_, view in drawn]
    boxes = np.array([view.box for view in views]).reshape(-1, 7)
    return from_clouds(
        [np.round(view.points - view.box[:3], 3) for view in views],  # to the millimetre, as sensors report
        np.array([label for _, label, *_ in drawn], np.int16),
        CLASSES,
        intensity=[view.intensity for view in views],
        instance=[f"{seed}-{CLASSES[label]}-{index}" for _, label, index, *_ in drawn],
        scene=[split for split, *_ in drawn],
        frame=[frame for *_, frame, _ in drawn],
        range_m=np.linalg.norm(boxes[:, :3], axis=1),
        box=boxes,
        source="simulator",
    )


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
