"""Are these metres? A network answers whatever it is asked, so what cannot be an object is refused or remarked on."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from airbayes.data.object_file import load_objects
from airbayes.data.objects import ObjectSet
from airbayes.errors import DataError
from airbayes.text import plural, printable

LARGE_M = 30.0  # the longest vehicles have 25 m; what is larger is hardly one object
HUGE_M = 1000.0  # other units, or nonsense; the network could overflow without a sign


def load_for_network(path: Path) -> ObjectSet:
    """An object set to learn from or to predict."""
    objects = load_objects(path)
    check_metres(objects, lambda row: f"{path}, object {row}")
    return objects


def check_metres(objects: ObjectSet, name: Callable[[int], str]) -> None:
    """An error for the first object that is too large for metres; `name` says which it is."""
    extents = objects.extents
    huge = np.flatnonzero(extents > HUGE_M)
    if len(huge):
        text = f"{extents[huge[0]]:,.6g} m across; an object in metres has at most {HUGE_M:g}"
        raise DataError(f"{printable(name(int(huge[0])), 400)}: {text}. Is it in other units?")


def too_large(objects: ObjectSet) -> list[str]:
    """A remark each on objects that hardly are one, and on those that will be refused."""
    extents, found = objects.extents, []
    for least, most, meaning in (
        (LARGE_M, HUGE_M, "A whole sweep is not an object."),
        (HUGE_M, np.inf, "Are they in other units? Training and prediction refuse them."),
    ):
        rows = np.flatnonzero((extents > least) & (extents <= most))
        if len(rows):
            found.append(f"{plural(len(rows), 'object')} more than {least:,g} m across, the first {rows[0]}. {meaning}")
    return found
