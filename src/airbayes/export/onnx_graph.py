"""The predictive mean of PointNet as an ONNX graph, all samples of θ side by side.

    clouds [batch, points, 3] → probabilities [batch, classes], entropy, mutual_information, energy [batch]

    p = mean_s softmax(z_s) ,   H = −Σ_c p_c log p_c ,   I = H − mean_s H(p_s) ≥ 0 ,   E = −mean_s log Σ_c exp z_sc

Weights have shape [sample, in, out]: one MatMul does a layer of every sample. Only plain operators of opset 17 are
used, none of which depends on a device. Written from the equation of the model, not from its JAX code: that both agree
is checked, see `export.check`.

A frame without objects is a batch of none. With it, onnxruntime 1.31 neither broadcasts in MatMul, so the points of all
clouds stand in one row there, nor counts axes from the end when it reduces, so they are counted from the start.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

OPSET = 17
ENCODERS = {"tnet_input": 3, "tnet_feature": 8, "head": 0}  # name → width of the matrix it predicts; 0: scores
OUTPUTS = ("probabilities", "entropy", "mutual_information", "energy")
TINY = float(np.finfo(np.float32).tiny)


class _Graph:
    """Nodes and weights, in the order in which they are used."""

    def __init__(self, tensors: dict[str, Float[np.ndarray, "sample ..."]], points: int):
        self.tensors, self.points = tensors, points
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def constant(self, name: str, values: np.ndarray) -> str:
        from onnx import numpy_helper

        if name not in {each.name for each in self.weights}:
            self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        out = out or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [out], **attributes))
        return out

    def reshape(self, x: str, *shape: int) -> str:
        """0: as it is; -1: what is left, which may be none."""
        return self.add("Reshape", x, self.constant(f"shape{shape}", np.array(shape, np.int64)))

    def dense(self, layer: str, x: str) -> str:
        """xW + b of every sample; x is [sample, row, feature]."""
        weights = self.constant(f"{layer}.kernel", self.tensors[f"{layer}.kernel"])
        offsets = self.constant(f"{layer}.bias", self.tensors[f"{layer}.bias"][:, None])
        return self.add("Add", self.add("MatMul", x, weights), offsets)

    def relu_chain(self, layers: list[str], x: str) -> str:
        for layer in layers:
            x = self.add("Relu", self.dense(layer, x))
        return x

    def point_chain(self, layers: list[str], x: str) -> str:
        """The same for every point: x is [sample, cloud, point, feature]."""
        first, last = (self.tensors[f"{layer}.kernel"].shape for layer in (layers[0], layers[-1]))
        return self.reshape(self.relu_chain(layers, self.reshape(x, 0, -1, first[1])), 0, -1, self.points, last[2])

    def encoder(self, name: str, x: str) -> str:
        """Points to one output per cloud: [sample, cloud, out]."""
        x = self.point_chain([f"{name}.points.0", f"{name}.points.1", f"{name}.wide"], x)
        pooled = self.add("ReduceMax", x, axes=[2], keepdims=0)
        return self.dense(f"{name}.last", self.relu_chain([f"{name}.cloud.0", f"{name}.cloud.1"], pooled))

    def transform(self, name: str, x: str) -> str:
        """The points of each cloud times the matrix predicted from them."""
        width = ENCODERS[name]
        return self.add("MatMul", x, self.reshape(self.encoder(name, x), 0, 0, width, width))

    def sum_over(self, axis: int, x: str) -> str:
        return self.add("ReduceSum", x, self.constant(f"axis{axis}", np.array([axis], np.int64)), keepdims=0)

    def entropy(self, probabilities: str, axis: int) -> str:
        """−Σ_c p_c log p_c, with 0·log 0 = 0; classes are on the axis."""
        floor = self.constant("tiny", np.array(TINY, np.float32))
        log = self.add("Log", self.add("Max", probabilities, floor))
        return self.add("Neg", self.sum_over(axis, self.add("Mul", probabilities, log)))

    def energy(self, scores: str) -> str:
        """−mean_s log Σ_c exp z_sc, the largest taken out first; scores are [sample, cloud, class]."""
        top, flat = (self.add("ReduceMax", scores, axes=[2], keepdims=kept) for kept in (1, 0))
        log = self.add("Log", self.sum_over(2, self.add("Exp", self.add("Sub", scores, top))))
        mean = self.add("ReduceMean", self.add("Add", log, flat), axes=[0], keepdims=0)
        return self.add("Neg", mean, out="energy")


def build_model(tensors: dict[str, Float[np.ndarray, "sample ..."]], points: int, facts: dict[str, str]) -> Any:
    """An ONNX model from the named tensors of all samples; `facts` become its metadata."""
    from onnx import TensorProto, checker, helper

    graph = _Graph(tensors, points)
    classes = tensors["head.last.bias"].shape[-1]
    first = graph.constant("first_axis", np.array([0], np.int64))
    x = graph.transform("tnet_input", graph.add("Unsqueeze", "clouds", first))
    x = graph.point_chain(["shared.0", "shared.1"], x)
    scores = graph.encoder("head", graph.transform("tnet_feature", x))
    each = graph.add("Softmax", scores, axis=-1)
    mean = graph.add("ReduceMean", each, axes=[0], keepdims=0, out="probabilities")
    expected = graph.add("ReduceMean", graph.entropy(each, 2), axes=[0], keepdims=0)
    total = graph.add("Identity", graph.entropy(mean, 1), out="entropy")
    zero = graph.constant("zero", np.array(0, np.float32))
    graph.add("Max", graph.add("Sub", total, expected), zero, out="mutual_information")
    graph.energy(scores)
    shapes = {name: ["batch", classes] if name == "probabilities" else ["batch"] for name in OUTPUTS}
    made = helper.make_graph(
        graph.nodes,
        "airbayes",
        [helper.make_tensor_value_info("clouds", TensorProto.FLOAT, ["batch", points, 3])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        graph.weights,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="airbayes")
    model.ir_version = 8  # what came with opset 17: runtimes of 2022 and later read it
    helper.set_model_props(model, facts)
    checker.check_model(model, full_check=True)
    return model
