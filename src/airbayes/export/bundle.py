"""`airbayes export`: a folder with everything that another program needs to predict as the run does.

samples.npz       the tensors of the network, each f32 [sample, ...]: the samples of θ
model.onnx        clouds → probabilities, entropy, mutual information, energy: the mean over all samples
example.npz       inputs and what the run predicts for them: to test another program with
manifest.json     what these are: checksums, shapes, classes, preprocessing, configuration; written last
"""

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
from jaxtyping import Float

from airbayes import __version__
from airbayes.errors import ResultsError
from airbayes.experiment.calibration import network_outputs
from airbayes.experiment.prediction import predict_inputs
from airbayes.experiment.sample_files import pack
from airbayes.experiment.store import CONFIG
from airbayes.experiment.trained import Trained
from airbayes.export.check import TOLERANCE, compare_with_onnx
from airbayes.export.onnx_graph import OPSET, build_model
from airbayes.files import write_atomically, write_text
from airbayes.metrics.ood import energy
from airbayes.models import PointNetClassifier

SAMPLES, MODEL, EXAMPLE, MANIFEST = "samples.npz", "model.onnx", "example.npz", "manifest.json"
FILES = (SAMPLES, MODEL, EXAMPLE)
EXAMPLES = 64  # clouds in example.npz


def named_tensors(trained: Trained) -> dict[str, Float[np.ndarray, "sample ..."]]:
    """θ of all samples, cut into the network's tensors."""
    assert isinstance(trained.model, PointNetClassifier)
    cut, start = {}, 0
    for name, shape in trained.model.tensors().items():
        size = int(np.prod(shape))
        cut[name] = trained.theta[:, start : start + size].reshape(-1, *shape)
        start += size
    assert start == trained.theta.shape[1]
    return cut


def run_outputs(trained: Trained, inputs: Float[np.ndarray, "cloud point 3"]) -> dict[str, np.ndarray]:
    """What the run itself says: what the model must say, by name."""
    strange = energy(network_outputs(trained, inputs)).astype(np.float32)
    return dataclasses.asdict(predict_inputs(trained, inputs[None])) | {"energy": strange}


def preprocessing(trained: Trained) -> dict:
    """How points become an input, in words and numbers."""
    return {
        "points": trained.points,
        "scale_m": trained.scale_m,
        "steps": [
            "take the points of one object in metres, z up, in any position; intensity is not used",
            "c = the mean of all its points",
            f"draw {trained.points} points at random: without replacement if it has that many, else with replacement",
            f"input = (point - c) / {trained.scale_m:g}, as float32",
        ],
    }


def example_inputs(trained: Trained) -> Float[np.ndarray, "cloud point 3"]:
    """Boxes of many sizes filled with points, centred and scaled as inputs are; the first has all points in one."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(np.log(0.2), np.log(12.0), size=(EXAMPLES, 1, 3)))
    sizes[0] = 0.0
    points = rng.uniform(-0.5, 0.5, size=(EXAMPLES, trained.points, 3)) * sizes
    return ((points - points.mean(axis=1, keepdims=True)) / trained.scale_m).astype(np.float32)


def export_trained(run: Path, trained: Trained, out: Path, inputs: np.ndarray | None = None) -> dict:
    """Write the folder and return its manifest. Nothing stays there that did not pass the check.

    `inputs` are compared beside the example ones: real objects, where there are some.
    """
    tensors = named_tensors(trained)
    facts = {
        "cell": str(trained.stored.cell),
        "classes": "\n".join(trained.class_names),
        "scale_m": f"{trained.scale_m}",
    }
    model = build_model(tensors, trained.points, facts).SerializeToString()
    example = example_inputs(trained)
    checked = example if inputs is None else np.concatenate([example, inputs])
    found = run_outputs(trained, checked)
    worst = compare_with_onnx(model, checked, found)
    shown = {name: values[: len(example)] for name, values in found.items()}
    files = {
        SAMPLES: pack(tensors),
        MODEL: model,
        EXAMPLE: pack({"clouds": example} | shown),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MANIFEST).unlink(missing_ok=True)
    except OSError as error:
        raise ResultsError(f"Cannot write to {out}: {error.strerror or error}. Choose another --out.") from None
    for name, raw in files.items():
        write_atomically(out / name, lambda path, raw=raw: path.write_bytes(raw))
    manifest = {
        "version": 1,
        "made_by": f"airbayes {__version__}",
        "cell": dataclasses.asdict(trained.stored.cell),
        "agent": trained.agent,
        "samples": len(trained.theta),
        "class_names": trained.class_names,
        "preprocessing": preprocessing(trained),
        "inputs": {"clouds": ["batch", trained.points, 3]},
        "outputs": {name: ["batch", *values.shape[1:]] for name, values in shown.items()},
        "onnx_opset": OPSET,
        "tensors": {name: list(values.shape[1:]) for name, values in tensors.items()},
        "checked": {"clouds": len(checked), "tolerance": TOLERANCE, "largest_difference": worst},
        "files": {name: {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)} for name, raw in files.items()},
        "config_toml": (run / CONFIG).read_text(encoding="utf-8"),
    }
    write_text(out / MANIFEST, json.dumps(manifest, indent=1, allow_nan=False) + "\n")
    return manifest
