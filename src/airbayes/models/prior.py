"""Priors: log p(θ) up to a constant. Any function θ → scalar can be used instead."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from airbayes.checks import POSITIVE, checked
from airbayes.errors import AirbayesError

_scale = checked("The scale s of a prior", POSITIVE, "inf is a flat prior.")


def check_scale(scale: Float[Array, "..."], theta: Float[Array, " param"]) -> None:
    """A column of scales would be broadcast with θ to a table, and the prior counted once for each."""
    if scale.shape not in ((), theta.shape):
        raise AirbayesError(
            f"The scale s of a prior is one number, or one per parameter, {list(theta.shape)}; got shape "
            f"{list(scale.shape)}."
        )


class Prior(eqx.Module):
    """A log-density of θ, up to a constant."""

    @abc.abstractmethod
    def __call__(self, theta: Float[Array, " param"]) -> Float[Array, ""]:
        """log p(θ) up to a constant."""


class GaussianPrior(Prior):
    """N(0, s² I); `scale` s is one number or one per parameter (for example 1/√fan_in)."""

    scale: Float[Array, "..."] = eqx.field(default=1.0, converter=_scale)

    def __call__(self, theta: Float[Array, " param"]) -> Float[Array, ""]:
        check_scale(self.scale, theta)
        return -0.5 * jnp.sum((theta / self.scale) ** 2)


class LaplacePrior(Prior):
    """Independent Laplace(0, s) on every parameter."""

    scale: Float[Array, "..."] = eqx.field(default=1.0, converter=_scale)

    def __call__(self, theta: Float[Array, " param"]) -> Float[Array, ""]:
        check_scale(self.scale, theta)
        return -jnp.sum(jnp.abs(theta) / self.scale)
