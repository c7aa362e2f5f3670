"""Draw sets of simulated objects.

Object `index` of a class and split has its own stream, SeedSequence([seed, split, class, index]): more objects, other
classes or other splits never change it. Every one is another physical object, so splits share none.
"""

from collections.abc import Mapping

from airbayes.data.objects import ObjectSet
from airbayes.data.simulator.config import CLASSES, SimulatorConfig
from airbayes.data.simulator.shares import draw
from airbayes.errors import DataError


def simulate(config: SimulatorConfig, per_class: Mapping[str, int], seed: int) -> ObjectSet:
    """`per_class` objects of every class in every named split, such as {"train": 200, "test": 400}.

    `scene` holds the split's name, `instance` names the physical object, `frame` counts its views.
    """
    if not 0 <= seed < 2**32:
        raise DataError(f"Seed {seed} is out of range: 0 to {2**32 - 1}.")
    if any(count < 0 for count in per_class.values()):
        raise DataError(f"Counts must not be negative; got {dict(per_class)}.")
    wanted = [
        (split, label, index)
        for split, count in per_class.items()
        for label in range(len(CLASSES))
        for index in range(count)
    ]
    return draw(config, wanted, seed)
