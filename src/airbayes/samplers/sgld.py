"""SGLD, stochastic gradient Langevin dynamics (Welling and Teh, 2011; the paper's eq. 3):

    θ' = θ − η ∇f(θ) + √(2η) ξ ,   ξ ~ N(0, I)

Rows do not talk to each other: one row with all the data is the centralised reference, a row per agent with its own
data is what the agents could do without a radio.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from airbayes.keys import Purpose, agent_keys, normal_rows
from airbayes.samplers.base import Info, Sampler, State, first_step, row_norms
from airbayes.samplers.check_parts import check_prior, check_rows, check_state, drift_rows, gradient_rows, start_theta
from airbayes.samplers.drift import Drift, Plain
from airbayes.samplers.step_size import StepSize, as_step_size, eta_at


def sgld_update(
    theta: Float[Array, "agent param"],
    drift: Float[Array, "agent param"],
    xi: Float[Array, "agent param"],
    eta: Float[Array, ""],
) -> Float[Array, "agent param"]:
    """θ − η∇f + √(2η) ξ."""
    return theta - eta * drift + jnp.sqrt(2.0 * eta) * xi


class SGLD(Sampler[State]):
    """All data in one place, one agent: the reference without a network.

        SGLD(models.FullGradient(posterior), step_size=1e-3)

    `posterior` is a `models.Posterior`, or any function f_k: (θ [param], local data) → one number.
    """

    gradient: Callable  # (keys, theta, data) → ∇f, [agent, param]
    step_size: StepSize = eqx.field(converter=as_step_size)  # η
    drift: Drift = Plain()

    def __check_init__(self):
        check_rows(self.gradient, self.drift)

    def init(self, theta: Float[Array, "agent param"]) -> State:
        theta = start_theta(theta)
        check_prior(self.gradient, theta)
        return State(theta, first_step())

    def step(self, key: Key[Array, ""], state: State, data: PyTree) -> tuple[State, Info]:
        check_state(state, State)
        agents, params = state.theta.shape
        eta = eta_at(self.step_size, state.step)
        grad = gradient_rows(self.gradient, agent_keys(key, state.step, Purpose.BATCH, agents), state.theta, data)
        xi = normal_rows(agent_keys(key, state.step, Purpose.LANGEVIN, agents), params)
        theta = sgld_update(state.theta, drift_rows(self.drift, grad, eta), xi, eta)
        return State(theta, state.step + 1), {"eta_grad_norm": eta * row_norms(grad)}
