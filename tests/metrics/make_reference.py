"""Writes reference_calibration.json: scores of random predictions by two packages that are not ours.

The stored values were made with netcal 1.4.0 (ECE, MCE), scikit-learn 1.9.1 (the rest) and numpy 2.4.6, in
float64: `pip install netcal scikit-learn`, then `python make_reference.py` (scikit-learn warns that float32
rows sum to one only within 1e-7). The inputs need only `Generator.random`, whose stream numpy keeps, and plain
arithmetic. No confidence lies on a bin edge.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

STORE = Path(__file__).with_name("reference_calibration.json")
# (seed, examples, classes, bins); bins divide examples, where netcal's quantile bins and ranks agree.
CASES = [(0, 300, 6, 15), (1, 2400, 6, 15), (2, 500, 2, 10), (3, 1000, 10, 20), (4, 70, 3, 7), (5, 40, 4, 1)]


def inputs(seed: int, examples: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """float32 probabilities [example, cls], too low when low and too high when high, and labels [example]."""
    rng = np.random.default_rng(seed)
    raw = rng.random((examples, classes))
    sharp = raw * raw * raw * raw
    cumulative = np.cumsum(raw / raw.sum(1, keepdims=True), axis=1)
    drawn = (rng.random((examples, 1)) > cumulative[:, :-1]).sum(1)
    labels = np.where(rng.random(examples) < 0.4, raw.argmax(1), drawn)
    return (sharp / sharp.sum(1, keepdims=True)).astype(np.float32), labels


def reference(seed: int, examples: int, classes: int, bins: int) -> dict[str, Any]:
    import netcal.metrics as netcal  # pyright: ignore[reportMissingImports]
    import sklearn.metrics as sklearn  # pyright: ignore[reportMissingImports]

    probabilities, labels = inputs(seed, examples, classes)
    p, predicted = probabilities.astype(np.float64), probabilities.argmax(1)
    all_classes = list(range(classes))
    # netcal reads two columns as "the positive class"; its one-column form is confidence and correctness.
    given = (p, labels) if classes > 2 else (p.max(1), (predicted == labels).astype(int))
    return {
        "seed": seed,
        "examples": examples,
        "classes": classes,
        "bins": bins,
        "ece": netcal.ECE(bins).measure(*given),
        "mce": netcal.MCE(bins).measure(*given),
        "ece_equal_mass": netcal.ECE(bins, equal_intervals=False).measure(*given),
        "mce_equal_mass": netcal.MCE(bins, equal_intervals=False).measure(*given),
        "nll": sklearn.log_loss(labels, p, labels=all_classes),
        "brier": sklearn.brier_score_loss(labels, p, labels=all_classes, scale_by_half=False),  # pyright: ignore[reportArgumentType]
        "accuracy": sklearn.accuracy_score(labels, predicted),
        "balanced_accuracy": sklearn.balanced_accuracy_score(labels, predicted),
        "confusion_matrix": sklearn.confusion_matrix(labels, predicted, labels=all_classes).tolist(),
    }


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(reference(*case)) for case in CASES)
    STORE.write_text(f"[\n{lines}\n]\n")
