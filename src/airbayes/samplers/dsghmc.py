"""DSGHMC, decentralised stochastic gradient Hamiltonian Monte Carlo (Gürbüzbalaban et al., 2021):

    ν_k' = ν_k − η [γ ν_k + ∇f_k(θ_k)] + √(2γη) ξ_k
    θ_k' = Σ_j w_kj θ_j + η ν_k'

Slow at small η: the network average relaxes in about γN/(η·curvature) steps of its own η, so take η larger than SGLD's.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from airbayes.checks import POSITIVE_FINITE, checked, one_number
from airbayes.keys import Purpose, agent_keys, normal_rows
from airbayes.network import AnyMixing, mix
from airbayes.samplers.base import Info, Sampler, State, first_step, row_norms
from airbayes.samplers.check_parts import check_network, check_state, drift_rows, gradient_rows, start_theta
from airbayes.samplers.drift import Drift, Plain
from airbayes.samplers.faults import Faults, play_round, start_faults
from airbayes.samplers.outage import Outage
from airbayes.samplers.step_size import StepSize, as_step_size, eta_at


def momentum_update(
    nu: Float[Array, "agent param"],
    drift: Float[Array, "agent param"],
    xi: Float[Array, "agent param"],
    eta: Float[Array, ""],
    friction: Float[Array, ""],
) -> Float[Array, "agent param"]:
    """ν' = ν − η[γν + ∇f] + √(2γη) ξ."""
    return nu - eta * (friction * nu + drift) + jnp.sqrt(2.0 * friction * eta) * xi


class MomentumState(State):
    """θ and the momentum ν."""

    theta: Float[Array, "agent param"]
    step: Int[Array, ""]
    nu: Float[Array, "agent param"]  # ν_k, the momentum


class DSGHMC(Sampler[MomentumState]):
    """DSGLD with momentum and friction, over ideal links.

        DSGHMC(models.FullGradient(posterior), network.build_mixing(network.ring(5)), step_size=0.01, friction=10.0)

    `posterior` is a `models.Posterior`, or any function f_k: (θ [param], local data) → one number.
    """

    gradient: Callable  # (keys, theta, data) → ∇f_k(θ_k), [agent, param]
    mixing: AnyMixing
    step_size: StepSize = eqx.field(converter=as_step_size)  # η
    friction: Float[Array, ""] = eqx.field(converter=checked("The friction γ", POSITIVE_FINITE))  # γ
    drift: Drift = Plain()
    outage: Outage | None = None
    faults: Faults | None = None

    def __check_init__(self):
        check_network(self.gradient, self.drift, self.mixing, self.outage, self.faults)

    def init(self, theta: Float[Array, "agent param"]) -> MomentumState:
        theta = start_theta(theta, self.mixing)
        remembered = start_faults(self.faults, theta, self.mixing)
        return MomentumState(theta, first_step(), jnp.zeros_like(theta), faults=remembered)

    def step(self, key: Key[Array, ""], state: MomentumState, data: PyTree) -> tuple[MomentumState, Info]:
        check_state(state, MomentumState)
        agents, params = state.theta.shape
        eta = eta_at(self.step_size, state.step)
        grad = gradient_rows(self.gradient, agent_keys(key, state.step, Purpose.BATCH, agents), state.theta, data)
        xi = normal_rows(agent_keys(key, state.step, Purpose.LANGEVIN, agents), params)
        friction = one_number("The friction γ", self.friction)
        nu = momentum_update(state.nu, drift_rows(self.drift, grad, eta), xi, eta, friction)
        now = play_round(self.outage, self.faults, key, state.step, state.faults, state.theta, self.mixing)
        mixed = mix(state.theta, self.mixing, now.mask, now.sent)
        info = {"eta_grad_norm": eta * row_norms(grad), **now.info(self.mixing)}
        theta, nu = now.keep_away(mixed + eta * nu, state.theta), now.keep_away(nu, state.nu)
        return MomentumState(theta, state.step + 1, nu, faults=now.state), info
