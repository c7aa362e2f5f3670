"""Any equinox network as a classifier with one flat parameter vector; and the multi-layer perceptron."""

from collections.abc import Callable

import equinox as eqx
import jax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key, Shaped

from airbayes.checks import check_count, describe
from airbayes.errors import AirbayesError
from airbayes.models.base import Classifier, pick_labels


class NetworkClassifier(Classifier):
    """Wraps `build(key) -> module`, a module mapping one input to class scores.

        NetworkClassifier(lambda key: eqx.nn.MLP(4, 3, width_size=16, depth=1, key=key), num_classes=3)

    The module sees one input, without the `example` axis. θ is the flat vector of its floating-point arrays.
    """

    build: Callable = eqx.field(static=True)
    num_classes: int = eqx.field(static=True)
    num_params: int = eqx.field(static=True)
    unravel: Callable = eqx.field(static=True)  # flat θ → the module's arrays
    skeleton: Callable = eqx.field(static=True)  # the module without its arrays

    def __init__(self, build: Callable[[Key[Array, ""]], Callable], num_classes: int):
        if isinstance(build, eqx.Module) or not callable(build):
            raise AirbayesError(
                f"build must be a function from a key to the module, got {describe(build)}: each θ⁰ is drawn anew. "
                "Give, for example, lambda key: eqx.nn.MLP(..., key=key)."
            )
        check_count("num_classes", num_classes)
        arrays, self.skeleton = eqx.partition(build(jax.random.key(0)), eqx.is_inexact_array)
        flat, self.unravel = ravel_pytree(arrays)
        self.build, self.num_classes, self.num_params = build, num_classes, flat.size

    def init(self, key: Key[Array, ""]) -> Float[Array, " param"]:
        return ravel_pytree(eqx.filter(self.build(key), eqx.is_inexact_array))[0]

    def log_probs(
        self, theta: Float[Array, " param"], inputs: Shaped[Array, "example ..."]
    ) -> Float[Array, "example cls"]:
        network: Callable = eqx.combine(self.unravel(theta), self.skeleton)
        scores = jax.vmap(network)(inputs)
        if scores.shape != (len(inputs), self.num_classes):
            raise AirbayesError(
                f"The network maps an input to shape {list(scores.shape[1:])}; a classifier of {self.num_classes} "
                f"classes needs one score for each, [{self.num_classes}]."
            )
        return jax.nn.log_softmax(scores)

    def log_likelihood(
        self,
        theta: Float[Array, " param"],
        inputs: Shaped[Array, "example ..."],
        targets: Int[Array, " example"],
    ) -> Float[Array, " example"]:
        return pick_labels(self.log_probs(theta, inputs), targets)


def mlp(num_features: int, num_classes: int, width: int = 32, depth: int = 2) -> NetworkClassifier:
    """A ReLU perceptron with `depth` hidden layers of `width` units."""

    def build(key: Key[Array, ""]) -> eqx.nn.MLP:
        return eqx.nn.MLP(num_features, num_classes, width, depth, key=key)

    return NetworkClassifier(build, num_classes)
