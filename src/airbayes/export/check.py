"""Does the exported model say what the run says? Asked of a real runtime, onnxruntime, before anything is written."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from airbayes.errors import AirbayesError, ResultsError
from airbayes.export.onnx_graph import OUTPUTS

# Float32 sums in another order differ by 1e-6 or so in the network's outputs, which may be in the hundreds.
TOLERANCE = 1e-4


def run_onnx(model: bytes, clouds: Float[np.ndarray, "cloud point 3"]) -> dict[str, np.ndarray]:
    """The outputs of an ONNX model on the CPU."""
    runtime = load_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found = session.run(list(OUTPUTS), {"clouds": clouds})
    return {name: np.asarray(values) for name, values in zip(OUTPUTS, found, strict=True)}


def compare_with_onnx(
    model: bytes, clouds: Float[np.ndarray, "cloud point 3"], found: Mapping[str, np.ndarray]
) -> dict[str, float]:
    """The largest difference of each output; an error where one is above the tolerance, or not a number. An energy has
    no bound: above 1 its difference is a share of it."""
    outputs = run_onnx(model, clouds)
    size = {"energy": np.maximum(np.abs(found["energy"]), 1.0)}
    worst = {name: float(np.max(np.abs(outputs[name] - found[name]) / size.get(name, 1.0))) for name in OUTPUTS}
    for name, value in worst.items():
        if not value <= TOLERANCE:
            raise ResultsError(
                f"The exported model does not agree with the run: {name} differs by {value:.3g}; {TOLERANCE:g} is "
                "allowed. Nothing was written. Try another model with --method or --seed, and please report this."
            )
    return worst


def load_runtime():
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError as error:
        raise AirbayesError(
            f"Exporting needs onnx and onnxruntime ({error}). Install them with: pip install 'airbayes[export]'"
        ) from None
    return onnxruntime
