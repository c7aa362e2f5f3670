"""What the experiment layer asks of a model: a flat parameter vector and a log-likelihood per example."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Shaped

from airbayes.errors import AirbayesError


class Model(eqx.Module):
    """A likelihood p(target | input, θ) with θ flat, so that samplers and radios see one vector of m numbers."""

    num_params: eqx.AbstractVar[int]

    @abc.abstractmethod
    def init(self, key: Key[Array, ""]) -> Float[Array, " param"]:
        """A starting point θ⁰."""

    @abc.abstractmethod
    def log_likelihood(
        self,
        theta: Float[Array, " param"],
        inputs: Shaped[Array, "example ..."],
        targets: Shaped[Array, "example ..."],
    ) -> Float[Array, " example"]:
        """log p(target_h | input_h, θ) for every example."""


class Classifier(Model):
    """A model over classes."""

    num_classes: eqx.AbstractVar[int]

    @abc.abstractmethod
    def log_probs(
        self, theta: Float[Array, " param"], inputs: Shaped[Array, "example ..."]
    ) -> Float[Array, "example cls"]:
        """log-softmax of the network's outputs."""


def check_features(inputs: Float[Array, "example feature"], features: int, fix: str = "") -> None:
    """A single column would be broadcast with θ, without a word."""
    if inputs.ndim != 2 or inputs.shape[1] != features:
        raise AirbayesError(
            f"The model takes inputs [example, {features}], got shape {list(inputs.shape)}. Of one feature give "
            f"x[:, None]. {fix}".rstrip()
        )


def pick_labels(log_probs: Float[Array, "example cls"], labels: Int[Array, " example"]) -> Float[Array, " example"]:
    """log p(label_h): the likelihood of every classifier."""
    return jnp.take_along_axis(log_probs, labels[:, None], axis=1)[:, 0]
