"""SGD, gradient descent of every agent on its own:

    θ_k' = θ_k − η ∇f_k(θ_k)

What the agents could do without a radio and without asking how sure they are.
"""

from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, Float, Key, PyTree

from airbayes.keys import Purpose, agent_keys
from airbayes.samplers.base import Info, Sampler, State, first_step, row_norms
from airbayes.samplers.check_parts import check_prior, check_rows, check_state, drift_rows, gradient_rows, start_theta
from airbayes.samplers.drift import Drift, Plain
from airbayes.samplers.step_size import StepSize, as_step_size, eta_at


def sgd_update(
    theta: Float[Array, "agent param"], drift: Float[Array, "agent param"], eta: Float[Array, ""]
) -> Float[Array, "agent param"]:
    """θ − η∇f."""
    return theta - eta * drift


class SGD(Sampler[State]):
    """Gradient descent of every agent alone, without noise or network.

        SGD(models.FullGradient(posterior), step_size=1e-3)

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
        eta = eta_at(self.step_size, state.step)
        grad = gradient_rows(
            self.gradient, agent_keys(key, state.step, Purpose.BATCH, len(state.theta)), state.theta, data
        )
        theta = sgd_update(state.theta, drift_rows(self.drift, grad, eta), eta)
        return State(theta, state.step + 1), {"eta_grad_norm": eta * row_norms(grad)}
