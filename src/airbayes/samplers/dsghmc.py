"""DSGHMC, decentralised stochastic gradient Hamiltonian Monte Carlo (Gürbüzbalaban et al., 2021):

    ν_k' = ν_k − η [γ ν_k + ∇f_k(θ_k)] + √(2γη) ξ_k
    θ_k' = Σ_j w_kj θ_j + η ν_k'

Slow at small η: the network average relaxes in about γN/(η·curvature) steps of its own η, so take η larger than SGLD's.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from airbayes.keys import Purpose, agent_keys, normal_rows
from airbayes.network import AnyMixing, mix
from airbayes.samplers.base import Info, Sampler, State, first_step, require_mixing, row_norms
from airbayes.samplers.drift import Drift, Plain
from airbayes.samplers.outage import Outage, outage_mask
from airbayes.samplers.step_size import StepSize, as_step_size


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
    theta: Float[Array, "agent param"]
    step: Int[Array, ""]
    nu: Float[Array, "agent param"]  # ν_k, the momentum


class DSGHMC(Sampler[MomentumState]):
    gradient: Callable  # (keys, theta, data) → ∇f_k(θ_k), [agent, param]
    mixing: AnyMixing
    step_size: StepSize = eqx.field(converter=as_step_size)  # η
    friction: Float[Array, ""] = eqx.field(converter=lambda g: jnp.asarray(g, jnp.float32))  # γ
    drift: Drift = Plain()
    outage: Outage | None = None

    def __check_init__(self):
        require_mixing(self.mixing)

    def init(self, theta: Float[Array, "agent param"]) -> MomentumState:
        return MomentumState(theta, first_step(), jnp.zeros_like(theta))

    def step(self, key: Key[Array, ""], state: MomentumState, data: PyTree) -> tuple[MomentumState, Info]:
        agents, params = state.theta.shape
        eta = self.step_size(state.step)
        grad = self.gradient(agent_keys(key, state.step, Purpose.BATCH, agents), state.theta, data)
        xi = normal_rows(agent_keys(key, state.step, Purpose.LANGEVIN, agents), params)
        nu = momentum_update(state.nu, self.drift(grad, eta), xi, eta, self.friction)
        mixed = mix(state.theta, self.mixing, outage_mask(self.outage, key, state.step, self.mixing))
        info = {"eta_grad_norm": eta * row_norms(grad)}
        return MomentumState(mixed + eta * nu, state.step + 1, nu), info
