"""Our own .npz, as the simulator and `airbayes data convert` write it."""

import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np

from airbayes.data.formats.classes import check_known
from airbayes.data.formats.common import LoadOptions, LoadReport
from airbayes.data.object_file import load_objects
from airbayes.data.objects import ObjectSet


def looks_like(path: Path) -> bool:
    return path.suffix.lower() == ".npz" and path.is_file()


def read_set(path: Path, options: LoadOptions) -> tuple[ObjectSet, LoadReport]:
    """The set with the options applied; without a class mapping its classes stay as they are."""
    objects = load_objects(path)
    mapping = dict(options.classes) or {name: name for name in objects.class_names}
    check_known(mapping, objects.class_names, "object_set")
    names = tuple(dict.fromkeys(mapping.values()))
    new_label = np.array([names.index(mapping[name]) if name in mapping else -1 for name in objects.class_names])
    wanted = new_label[objects.label] >= 0 if len(objects) else np.zeros(0, bool)
    enough = objects.counts >= max(options.min_points, 1)
    rows = np.flatnonzero(wanted & enough)[: options.max_objects]
    left_out = Counter(objects.class_names[label] for label in objects.label[~wanted].tolist())
    few = int(np.count_nonzero(wanted & ~enough))
    kept = objects.select(rows)
    kept = dataclasses.replace(kept, label=new_label[kept.label].astype(np.int16), class_names=names)
    skipped = {f"fewer than {max(options.min_points, 1)} points": few} if few else {}
    return kept, LoadReport("object_set", 1, len(kept), skipped, dict(left_out), (0, 0), ())
