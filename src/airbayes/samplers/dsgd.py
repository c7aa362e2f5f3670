"""DSGD, decentralised gradient descent over ideal links: DSGLD without its noise.

θ_k' = θ_k + Σ_j w_kj (θ_j − θ_k) − η ∇f_k(θ_k)
"""

from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, Float, Key, PyTree

from airbayes.keys import Purpose, agent_keys
from airbayes.network import AnyMixing, mix
from airbayes.samplers.base import Info, Sampler, State, first_step, row_norms
from airbayes.samplers.check_parts import check_network, check_state, drift_rows, gradient_rows, start_theta
from airbayes.samplers.drift import Drift, Plain
from airbayes.samplers.faults import Faults, play_round, start_faults
from airbayes.samplers.outage import Outage
from airbayes.samplers.step_size import StepSize, as_step_size, eta_at


def dsgd_update(
    mixed: Float[Array, "agent param"], drift: Float[Array, "agent param"], eta: Float[Array, ""]
) -> Float[Array, "agent param"]:
    """Σ_j w_kj θ_j − η∇f_k(θ_k), given the mixed rows."""
    return mixed - eta * drift


class DSGD(Sampler[State]):
    """Gossip and gradient descent without noise: an optimiser, not a sampler.

        DSGD(models.FullGradient(posterior), network.build_mixing(network.ring(5)), step_size=1e-3)

    `posterior` is a `models.Posterior`, or any function f_k: (θ [param], local data) → one number.
    """

    gradient: Callable  # (keys, theta, data) → ∇f_k(θ_k), [agent, param]
    mixing: AnyMixing
    step_size: StepSize = eqx.field(converter=as_step_size)  # η
    drift: Drift = Plain()
    outage: Outage | None = None
    faults: Faults | None = None

    def __check_init__(self):
        check_network(self.gradient, self.drift, self.mixing, self.outage, self.faults)

    def init(self, theta: Float[Array, "agent param"]) -> State:
        theta = start_theta(theta, self.mixing)
        return State(theta, first_step(), faults=start_faults(self.faults, theta, self.mixing))

    def step(self, key: Key[Array, ""], state: State, data: PyTree) -> tuple[State, Info]:
        check_state(state, State)
        eta = eta_at(self.step_size, state.step)
        grad = gradient_rows(
            self.gradient, agent_keys(key, state.step, Purpose.BATCH, len(state.theta)), state.theta, data
        )
        now = play_round(self.outage, self.faults, key, state.step, state.faults, state.theta, self.mixing)
        mixed = mix(state.theta, self.mixing, now.mask, now.sent)
        theta = now.keep_away(dsgd_update(mixed, drift_rows(self.drift, grad, eta), eta), state.theta)
        info = {"eta_grad_norm": eta * row_norms(grad), **now.info(self.mixing)}
        return State(theta, state.step + 1, faults=now.state), info
