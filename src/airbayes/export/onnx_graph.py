"""The predictive mean of PointNet as an ONNX graph, all samples of θ side by side.

    clouds [batch, points, 3] → probabilities [batch, classes], entropy [batch], mutual_information [batch]

    p = mean_s softmax(z_s) ,   H = −Σ_c p_c log p_c ,   I = H − mean_s H(p_s) ≥ 0

Weights have shape [sample, 1, in, out]: one MatMul with broadcasting does a layer of every sample. Only plain
operators of opset 17 are used, none of which depends on a device. Written from the equation of the model, not from its
JAX code: that both agree is checked, see `export.check`.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

OPSET = 17
ENCODERS = {"tnet_input": 3, "tnet_feature": 8, "head": 0}  # name → width of the matrix it predicts; 0: scores
TINY = float(np.finfo(np.float32).tiny)


class _Graph:
    """Nodes and weights, in the order in which they are used."""

    def __init__(self, tensors: dict[str, Float[np.ndarray, "sample ..."]]):
        self.tensors = tensors
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

    def dense(self, layer: str, x: str, rank: int) -> str:
        """xW + b of every sample; x is [sample, cloud, feature] (rank 3), or with points before features (rank 4)."""
        kernel, bias = self.tensors[f"{layer}.kernel"], self.tensors[f"{layer}.bias"]
        samples, gap = len(kernel), (1,) * (rank - 3)
        weights = self.constant(f"{layer}.kernel", kernel.reshape(samples, *gap, *kernel.shape[1:]))
        offsets = self.constant(f"{layer}.bias", bias.reshape(samples, *gap, 1, -1))
        return self.add("Add", self.add("MatMul", x, weights), offsets)

    def relu_chain(self, layers: list[str], x: str, rank: int) -> str:
        for layer in layers:
            x = self.add("Relu", self.dense(layer, x, rank))
        return x

    def encoder(self, name: str, x: str) -> str:
        """Points to one output per cloud: [sample, cloud, out]."""
        x = self.relu_chain([f"{name}.points.0", f"{name}.points.1", f"{name}.wide"], x, 4)
        pooled = self.add("ReduceMax", x, axes=[2], keepdims=0)
        return self.dense(f"{name}.last", self.relu_chain([f"{name}.cloud.0", f"{name}.cloud.1"], pooled, 3), 3)

    def transform(self, name: str, x: str) -> str:
        """The points of each cloud times the matrix predicted from them."""
        width, samples = ENCODERS[name], len(self.tensors[f"{name}.last.bias"])
        shape = self.constant(f"{name}.shape", np.array([samples, -1, width, width], np.int64))
        return self.add("MatMul", x, self.add("Reshape", self.encoder(name, x), shape))

    def entropy(self, probabilities: str) -> str:
        """−Σ_c p_c log p_c, with 0·log 0 = 0."""
        floor = self.constant("tiny", np.array(TINY, np.float32))
        log = self.add("Log", self.add("Max", probabilities, floor))
        last = self.constant("last_axis", np.array([-1], np.int64))
        return self.add("Neg", self.add("ReduceSum", self.add("Mul", probabilities, log), last, keepdims=0))


def build_model(tensors: dict[str, Float[np.ndarray, "sample ..."]], points: int, facts: dict[str, str]) -> Any:
    """An ONNX model from the named tensors of all samples; `facts` become its metadata."""
    from onnx import TensorProto, checker, helper

    graph = _Graph(tensors)
    classes = tensors["head.last.bias"].shape[-1]
    first = graph.constant("first_axis", np.array([0], np.int64))
    x = graph.transform("tnet_input", graph.add("Unsqueeze", "clouds", first))
    x = graph.relu_chain(["shared.0", "shared.1"], x, 4)
    scores = graph.encoder("head", graph.transform("tnet_feature", x))
    each = graph.add("Softmax", scores, axis=-1)
    mean = graph.add("ReduceMean", each, axes=[0], keepdims=0, out="probabilities")
    expected = graph.add("ReduceMean", graph.entropy(each), axes=[0], keepdims=0)
    total = graph.add("Identity", graph.entropy(mean), out="entropy")
    zero = graph.constant("zero", np.array(0, np.float32))
    graph.add("Max", graph.add("Sub", total, expected), zero, out="mutual_information")
    shapes = {"probabilities": ["batch", classes], "entropy": ["batch"], "mutual_information": ["batch"]}
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
