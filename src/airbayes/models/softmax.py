"""Softmax (multinomial logistic) regression:  p(c | x, θ) ∝ exp(x·θ_c + bias_c)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from airbayes.models.base import Classifier, check_features, pick_labels


class SoftmaxRegression(Classifier):
    """θ holds a kernel [feature, class] and a bias [class], flattened; two classes give logistic regression."""

    num_features: int = eqx.field(static=True)
    num_classes: int = eqx.field(static=True)
    num_params: int = eqx.field(static=True)

    def __init__(self, num_features: int, num_classes: int):
        self.num_features, self.num_classes = num_features, num_classes
        self.num_params = (num_features + 1) * num_classes

    def init(self, key: Key[Array, ""]) -> Float[Array, " param"]:
        return 0.1 * jax.random.normal(key, (self.num_params,))

    def log_probs(
        self, theta: Float[Array, " param"], inputs: Float[Array, "example feature"]
    ) -> Float[Array, "example cls"]:
        check_features(inputs, self.num_features)
        table = theta.reshape(self.num_features + 1, self.num_classes)
        return jax.nn.log_softmax(jnp.matmul(inputs, table[:-1]) + table[-1])

    def log_likelihood(
        self,
        theta: Float[Array, " param"],
        inputs: Float[Array, "example feature"],
        targets: Int[Array, " example"],
    ) -> Float[Array, " example"]:
        return pick_labels(self.log_probs(theta, inputs), targets)
