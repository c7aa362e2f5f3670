"""A random forest on nine shape numbers: what a simple method gets on simulated objects, or on your own .npz.

python examples/03_shape_forest.py              # simulated: 200 objects a class to train, 400 to test
python examples/03_shape_forest.py objects.npz  # five folds that share no physical object; first six classes
"""

import sys
from pathlib import Path

import numpy as np

from airbayes.data import load_objects
from airbayes.data.shape_numbers import NAMES, shape_numbers
from airbayes.data.simulator import SimulatorConfig, cached_objects, parameters_hash

try:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import balanced_accuracy_score, confusion_matrix
    from sklearn.model_selection import StratifiedGroupKFold
except ImportError:
    sys.exit("This example needs scikit-learn: pip install scikit-learn")


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(300, random_state=0)


if len(sys.argv) > 1:
    objects = load_objects(Path(sys.argv[1]))
    objects = objects.select(objects.label < 6)
    numbers, predicted = shape_numbers(objects), np.zeros(len(objects), np.int16)
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    for train, test in folds.split(numbers, objects.label, objects.groups):
        predicted[test] = forest().fit(numbers[train], objects.label[train]).predict(numbers[test])
    truth, names = objects.label, objects.class_names[:6]
else:
    config = SimulatorConfig()
    print(f"simulator parameters {parameters_hash(config)}")
    objects = cached_objects(config, {"train": 200, "test": 400}, seed=0)
    numbers, train = shape_numbers(objects), objects.scene == "train"
    model = forest().fit(numbers[train], objects.label[train])
    truth, predicted, names = objects.label[~train], model.predict(numbers[~train]), objects.class_names
    print("importance  ", ", ".join(f"{n} {v:.2f}" for n, v in zip(NAMES, model.feature_importances_, strict=True)))

print(f"accuracy {np.mean(truth == predicted):.3f}, balanced {balanced_accuracy_score(truth, predicted):.3f}")
print("of each class (rows), predicted as (columns, per cent):")
for name, row in zip(names, confusion_matrix(truth, predicted, normalize="true"), strict=True):
    print(f"{name:>14}", *(f"{100 * share:5.0f}" for share in row))
