"""The drift: how a gradient becomes a move.

    plain    g                             the equations as they stand
    tamed    g / (1 + η‖g‖)                bounded by 1/η, unbiased as η → 0
    clipped  g · min(1, c/‖g‖)             bounded by c, biased wherever it acts

It acts on each agent's whole gradient g = ∇f_k(θ_k).
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from airbayes.checks import POSITIVE, checked
from airbayes.samplers.base import row_norms


class Drift(eqx.Module):
    """What is done to a gradient before the step."""

    @abc.abstractmethod
    def __call__(self, gradient: Float[Array, "agent param"], eta: Float[Array, ""]) -> Float[Array, "agent param"]:
        """The drift used in place of the gradient."""


class Plain(Drift):
    """The gradient as it is."""

    def __call__(self, gradient: Float[Array, "agent param"], eta: Float[Array, ""]) -> Float[Array, "agent param"]:
        return gradient


class Tamed(Drift):
    """g/(1 + η‖g‖): a step of at most length 1."""

    def __call__(self, gradient: Float[Array, "agent param"], eta: Float[Array, ""]) -> Float[Array, "agent param"]:
        return gradient / (1.0 + eta * row_norms(gradient))[:, None]


class Clipped(Drift):
    """The gradient, scaled down to a largest norm."""

    max_norm: Float[Array, ""] = eqx.field(converter=checked("The largest norm c", POSITIVE))  # c

    def __call__(self, gradient: Float[Array, "agent param"], eta: Float[Array, ""]) -> Float[Array, "agent param"]:
        norms = row_norms(gradient)
        return gradient * jnp.minimum(1.0, self.max_norm / jnp.maximum(norms, 1e-30))[:, None]
