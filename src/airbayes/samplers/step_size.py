"""Step sizes η_s as functions of the step s (0 for the first move)."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from airbayes.errors import AirbayesError


def _scalar(value) -> Float[Array, ""]:
    return jnp.asarray(value, jnp.float32)


class StepSize(eqx.Module):
    """η as a function of the step."""

    @abc.abstractmethod
    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """η at this step."""


class Constant(StepSize):
    """η_s = η."""

    eta: Float[Array, ""] = eqx.field(converter=_scalar)

    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        return self.eta


class PolynomialDecay(StepSize):
    """η_s = η (1 + s/b)^(−γ): Welling and Teh's schedule; γ in (½, 1] lets SGLD converge."""

    eta: Float[Array, ""] = eqx.field(converter=_scalar)
    offset: Float[Array, ""] = eqx.field(converter=_scalar)  # b, in steps
    power: Float[Array, ""] = eqx.field(converter=_scalar)  # γ

    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        return self.eta * (1.0 + step / self.offset) ** (-self.power)


class CosineCycles(StepSize):
    """η_s = η/2 (1 + cos(π (s mod c)/c)): cyclical exploration, restarting every c steps."""

    eta: Float[Array, ""] = eqx.field(converter=_scalar)
    period: Int[Array, ""] = eqx.field(converter=lambda c: jnp.asarray(c, jnp.int32))  # c, in steps

    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        phase = (step % self.period) / self.period
        # Never exactly zero: β = √(N0/(2η)) must stay finite.
        return jnp.maximum(0.5 * self.eta * (1.0 + jnp.cos(jnp.pi * phase)), 1e-3 * self.eta)


def as_step_size(eta: StepSize | float) -> StepSize:
    """A number means a constant step size; it must be positive."""
    if isinstance(eta, StepSize):
        return eta
    if isinstance(eta, int | float) and not eta > 0:
        raise AirbayesError(f"The step size η must be positive, got {eta}.")
    return Constant(eta)
