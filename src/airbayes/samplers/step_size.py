"""Step sizes η_s as functions of the step s (0 for the first move)."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from airbayes.checks import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE, POSITIVE_FINITE, checked, one_number

_eta = checked("The step size η", POSITIVE_FINITE, "Give a number such as 1e-3, or a StepSize.")


class StepSize(eqx.Module):
    """η as a function of the step."""

    @abc.abstractmethod
    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """η at this step."""


class Constant(StepSize):
    """η_s = η."""

    eta: Float[Array, ""] = eqx.field(converter=_eta)

    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        return self.eta


class PolynomialDecay(StepSize):
    """η_s = η (1 + s/b)^(−γ): Welling and Teh's schedule; γ in (½, 1] lets SGLD converge."""

    eta: Float[Array, ""] = eqx.field(converter=_eta)
    offset: Float[Array, ""] = eqx.field(converter=checked("The offset b of the decay", POSITIVE))  # b, in steps
    power: Float[Array, ""] = eqx.field(converter=checked("The power γ of the decay", NOT_NEGATIVE))  # γ

    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        return self.eta * (1.0 + step / self.offset) ** (-self.power)


class CosineCycles(StepSize):
    """η_s = η/2 (1 + cos(π (s mod c)/c)): cyclical exploration, restarting every c steps."""

    eta: Float[Array, ""] = eqx.field(converter=_eta)
    period: Int[Array, ""] = eqx.field(  # c, in steps
        converter=checked("The period c of the cycles", AT_LEAST_ONE, dtype=jnp.int32)
    )

    def __call__(self, step: Int[Array, ""]) -> Float[Array, ""]:
        phase = (step % self.period) / self.period
        # Never exactly zero: β = √(N0/(2η)) must stay finite.
        return jnp.maximum(0.5 * self.eta * (1.0 + jnp.cos(jnp.pi * phase)), 1e-3 * self.eta)


def as_step_size(eta: StepSize | ArrayLike) -> StepSize:
    """A number means a constant step size."""
    return eta if isinstance(eta, StepSize) else Constant(eta)


def eta_at(step_size: StepSize, step: Int[Array, ""]) -> Float[Array, ""]:
    """η at this step, one for the whole network; a user's own StepSize may give a Python number."""
    return one_number("The step size η", step_size(step))
