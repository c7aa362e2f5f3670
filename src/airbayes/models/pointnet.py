"""PointNet without batch normalisation, the model of the paper: m = 40,855 parameters in 40 tensors for 6 classes.

    T-Net(3) : 3→8→16→128, max over points, →64→32→9  | shared 3→8→8
    T-Net(8) : 8→8→16→128, max over points, →64→32→64 | shared 8→8→16→128, max over points, →64→32→classes

A T-Net predicts a matrix that its points are multiplied with. It starts at the identity (zero kernel, identity bias);
all other kernels start Glorot-uniform, all other biases at zero. The priors here have mean zero everywhere, also on the
T-Nets' last biases: they pull the matrices towards zero, not towards the identity, as the paper's N(0, I) does.
"""

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key

from airbayes.errors import AirbayesError
from airbayes.models import pointnet_cpu, pointnet_gpu
from airbayes.models.base import Classifier, pick_labels
from airbayes.models.max_pool import PRECISION, dense_max_pool, dense_max_pool_plain

Pooling = Literal["fast", "plain"]
POOLINGS: dict[str, Callable] = {"fast": dense_max_pool, "plain": dense_max_pool_plain}


class Dense(eqx.Module):
    """xW + b over the last axis."""

    kernel: Float[Array, "feature channel"]
    bias: Float[Array, " channel"]

    def __call__(self, x: Float[Array, "*batch feature"]) -> Float[Array, "*batch channel"]:
        return jnp.matmul(x, self.kernel, precision=PRECISION) + self.bias


def glorot(key: Key[Array, ""], features: int, channels: int) -> Dense:
    """Uniform kernel of variance 2/(fan-in + fan-out), zero bias."""
    kernel = jax.nn.initializers.glorot_uniform()(key, (features, channels), jnp.float32)
    return Dense(kernel, jnp.zeros(channels))


def dense_chain(key: Key[Array, ""], *widths: int) -> list[Dense]:
    """Layers of the given widths, the first being the input's."""
    keys = jax.random.split(key, len(widths) - 1)
    return [glorot(k, *pair) for k, pair in zip(keys, pairwise(widths), strict=True)]


def relu_chain(layers: list[Dense], x: Float[Array, "*batch feature"]) -> Float[Array, "*batch channel"]:
    """Every layer followed by a ReLU."""
    for layer in layers:
        x = jax.nn.relu(layer(x))
    return x


class CloudEncoder(eqx.Module):
    """Points to one output per cloud: width→8→16→128, max over points, →64→32→out; no ReLU after the last layer."""

    points: list[Dense]  # the same layers for every point
    wide: Dense  # 16→128, pooled at once
    cloud: list[Dense]
    last: Dense

    def __init__(self, key: Key[Array, ""], width: int, out: int):
        before, after = jax.random.split(key)
        *self.points, self.wide = dense_chain(before, width, 8, 16, 128)
        *self.cloud, self.last = dense_chain(after, 128, 64, 32, out)

    def __call__(self, pool: Callable, x: Float[Array, "cloud point feature"]) -> Float[Array, "cloud out"]:
        pooled = pool(relu_chain(self.points, x), self.wide.kernel, self.wide.bias)
        return self.last(relu_chain(self.cloud, pooled))


def identity_start(encoder: CloudEncoder, width: int) -> CloudEncoder:
    """The same T-Net, predicting the identity whatever its input."""
    last = Dense(jnp.zeros_like(encoder.last.kernel), jnp.eye(width).reshape(-1))
    return eqx.tree_at(lambda tree: tree.last, encoder, last)


def transform(
    encoder: CloudEncoder, pool: Callable, x: Float[Array, "cloud point feature"]
) -> Float[Array, "cloud point feature"]:
    """x_p T(x): the points of each cloud times the matrix predicted from them."""
    matrices = encoder(pool, x).reshape(-1, x.shape[-1], x.shape[-1])
    return jnp.matmul(x, matrices, precision=PRECISION)


class PointNet(eqx.Module):
    """Class scores of a batch of clouds; leaves in the order of the equation above, kernel before bias."""

    tnet_input: CloudEncoder
    shared: list[Dense]
    tnet_feature: CloudEncoder
    head: CloudEncoder

    def __init__(self, key: Key[Array, ""], num_classes: int):
        first, shared, second, head = jax.random.split(key, 4)
        self.tnet_input = identity_start(CloudEncoder(first, 3, 9), 3)
        self.shared = dense_chain(shared, 3, 8, 8)
        self.tnet_feature = identity_start(CloudEncoder(second, 8, 64), 8)
        self.head = CloudEncoder(head, 8, num_classes)

    def __call__(self, pool: Callable, clouds: Float[Array, "cloud point 3"]) -> Float[Array, "cloud cls"]:
        x = relu_chain(self.shared, transform(self.tnet_input, pool, clouds))
        return self.head(pool, transform(self.tnet_feature, pool, x))


@functools.cache
def _shape_of(num_classes: int) -> tuple[jax.ShapeDtypeStruct, Callable]:
    """The shape of the flat θ and the way back, without computing a network."""
    found = {}

    def flatten():
        flat, found["unravel"] = ravel_pytree(PointNet(jax.random.key(0), num_classes))
        return flat

    return jax.eval_shape(flatten), found["unravel"]


@functools.cache
def _on_cpu(num_classes: int) -> pointnet_cpu.OnCPU:
    unravel = _shape_of(num_classes)[1]
    return pointnet_cpu.on_cpu(lambda theta, clouds: unravel(theta)(dense_max_pool, clouds), num_classes)


class PointNetClassifier(Classifier):
    """PointNet with one flat θ. Whole batches go through it, so that the pooling may work on chunks of clouds."""

    num_classes: int = eqx.field(static=True)
    num_params: int = eqx.field(static=True)
    pooling: Pooling = eqx.field(static=True)
    unravel: Callable = eqx.field(static=True)  # flat θ → PointNet

    def __init__(self, num_classes: int = 6, pooling: Pooling = "fast"):
        if num_classes < 2:
            raise AirbayesError(f"PointNet needs at least 2 classes, got {num_classes}.")
        if pooling not in POOLINGS:
            raise AirbayesError(f"Pooling {pooling!r} is not known; use one of {', '.join(POOLINGS)}.")
        flat, self.unravel = _shape_of(num_classes)
        self.num_classes, self.num_params, self.pooling = num_classes, flat.size, pooling

    def init(self, key: Key[Array, ""]) -> Float[Array, " param"]:
        return ravel_pytree(PointNet(key, self.num_classes))[0]

    def log_probs(
        self, theta: Float[Array, " param"], inputs: Float[Array, "example point 3"]
    ) -> Float[Array, "example cls"]:
        if self.pooling == "plain":
            return jax.nn.log_softmax(self._scores(dense_max_pool_plain)(theta, inputs))
        if jax.default_backend() == "cpu":  # no other device: spares tracing and differentiating their branches
            return jax.nn.log_softmax(_on_cpu(self.num_classes).scores(theta, inputs))
        branches = {"default": self._scores(dense_max_pool)}
        if pointnet_gpu.fits(inputs.shape[-2]):
            branches["cuda"] = lambda theta, inputs: pointnet_gpu.pointnet_on_gpu(self.unravel(theta), inputs)
        # Only the branch of the device at hand is compiled.
        scores = jax.lax.platform_dependent(theta, inputs, **branches)
        return jax.nn.log_softmax(scores)

    def log_likelihood(
        self,
        theta: Float[Array, " param"],
        inputs: Float[Array, "example point 3"],
        targets: Int[Array, " example"],
    ) -> Float[Array, " example"]:
        if self.pooling == "fast" and jax.default_backend() == "cpu":
            return _on_cpu(self.num_classes).log_likelihood(theta, inputs, targets)
        return pick_labels(self.log_probs(theta, inputs), targets)

    def _scores(self, pool: Callable) -> Callable:
        return lambda theta, inputs: self.unravel(theta)(pool, inputs)

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of the 40 tensors, in the order in which θ holds them."""
        shapes = jax.eval_shape(lambda: PointNet(jax.random.key(0), self.num_classes))
        leaves = jax.tree_util.tree_leaves_with_path(shapes)
        return {jax.tree_util.keystr(path, simple=True, separator="."): leaf.shape for path, leaf in leaves}

    def fan_in_scale(self) -> Float[np.ndarray, " param"]:
        """1/√fan-in of every parameter, the scale of a fan-in prior N(0, 1/fan-in); a bias takes its layer's."""
        scale, fan_in = [], 0
        for shape in self.tensors().values():
            fan_in = shape[0] if len(shape) == 2 else fan_in  # a kernel comes just before its bias
            scale.append(np.full(np.prod(shape), fan_in**-0.5, np.float32))
        return np.concatenate(scale)


def pointnet(num_classes: int = 6, pooling: Pooling = "fast") -> PointNetClassifier:
    """The paper's PointNet over clouds [example, point, 3]; `plain` pooling is the slow, readable reference."""
    return PointNetClassifier(num_classes, pooling)
