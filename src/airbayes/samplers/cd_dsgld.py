"""CD-DSGLD, channel-driven DSGLD (Barbieri, Simeone and Nicoli, 2023; the paper's eqs. 1 and 6 to 8).

    send      x_j = w α_j θ_j                       ‖x_j‖² ≤ mP
    receive   y_k = Σ_j A_kj x_j + z_k              z_k ~ N(0, N0 I)
    update    θ_k' = w_kk θ_k + y_k/β − η ∇f_k(θ_k) ,   β = √(N0/(2η))

With gains ρ_j = α_j/β it is computed as θ_k + w Σ_j A_kj (ρ_j θ_j − σ_k θ_k) + z_k/β − η∇f_k, where σ_k = 1 is the
paper's receiver and σ_k = ρ is `common`'s. At ρ = 1 this is DSGLD driven by ξ = z/√N0.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from airbayes.channel import Channel
from airbayes.errors import AirbayesError, GraphError
from airbayes.keys import Purpose, agent_keys
from airbayes.network import AnyMixing, EdgeMixing, neighbour_sum
from airbayes.power import Gains, PowerPolicy, gain_caps, receiver_scale
from airbayes.samplers.base import Info, Sampler, State, first_step, require_mixing, row_norms
from airbayes.samplers.drift import Drift, Plain
from airbayes.samplers.outage import Outage, outage_mask
from airbayes.samplers.step_size import StepSize, as_step_size


def over_the_air_mix(
    theta: Float[Array, "agent param"],
    gains: Gains,
    mixing: AnyMixing,
    mask: Float[Array, "*link"] | None = None,
    gain_error: Float[Array, "*link"] | None = None,
) -> Float[Array, "agent param"]:
    """θ_k + w Σ_j A_kj ((1 + ε_kj) ρ_j θ_j − σ_k θ_k): the received sum plus the self term, before the noise."""
    own = gains.self_gain[:, None] * theta
    mixed = theta + neighbour_sum(theta, own, mixing, mask, gains.rho)
    if gain_error is not None:
        surviving = gain_error if mask is None else gain_error * mask
        mixed = mixed + neighbour_sum(theta, jnp.zeros_like(theta), mixing, surviving, gains.rho)
    return mixed


def common_neighbours(mixing: AnyMixing, mask: Float[Array, "*link"] | None = None) -> Float[Array, "agent agent"]:
    """AᵀA over the links that are up: how many receivers hear both j and l. Only for policies that ask for it."""
    agents = mixing.num_agents
    links = mixing.links if mask is None else mixing.links * mask
    receivers = jnp.broadcast_to(mixing.receivers, links.shape)
    adjacency = jnp.zeros((agents, agents)).at[receivers, mixing.senders].add(links)
    return jnp.matmul(adjacency.T, adjacency, precision=jax.lax.Precision.HIGHEST)


def cd_dsgld_update(
    mixed: Float[Array, "agent param"],
    drift: Float[Array, "agent param"],
    z: Float[Array, "agent param"],
    beta: Float[Array, ""],
    eta: Float[Array, ""],
) -> Float[Array, "agent param"]:
    """w_kk θ_k + y_k/β − η∇f_k(θ_k), given the noiseless part of w_kk θ_k + y_k/β."""
    return mixed - eta * drift + z / beta


class CDDSGLD(Sampler[State]):
    gradient: Callable  # (keys, theta, data) → ∇f_k(θ_k), [agent, param]
    mixing: AnyMixing
    channel: Channel
    policy: PowerPolicy
    step_size: StepSize = eqx.field(converter=as_step_size)  # η
    drift: Drift = Plain()
    outage: Outage | None = None

    def __check_init__(self):
        require_mixing(self.mixing)
        if not isinstance(self.policy, PowerPolicy):
            raise AirbayesError(f"policy must be a PowerPolicy such as power.Common(), got {self.policy!r}.")
        if self.mixing.edge_weight is None:
            raise GraphError(
                "CD-DSGLD needs one edge weight w: a signal reaches all neighbours with the same amplitude. "
                "Metropolis weights differ per link; use 'best-constant' or 'max-degree'."
            )

    def init(self, theta: Float[Array, "agent param"]) -> State:
        return State(theta, first_step())

    def step(self, key: Key[Array, ""], state: State, data: PyTree) -> tuple[State, Info]:
        theta, step = state.theta, state.step
        agents, params = theta.shape
        eta, w = self.step_size(step), self.mixing.edge_weight
        assert w is not None  # checked when the sampler was made
        grad = self.gradient(agent_keys(key, step, Purpose.BATCH, agents), theta, data)

        mask = outage_mask(self.outage, key, step, self.mixing)
        beta = receiver_scale(self.channel.noise_power, eta)
        caps = gain_caps(theta, w, self.channel.power, beta)
        common = common_neighbours(self.mixing, mask) if self.policy.needs_common_neighbours else None
        gains = self.policy(theta, caps, common)

        slots = 0 if isinstance(self.mixing, EdgeMixing) else self.mixing.weights.shape[1]
        error = self.channel.gain_error(agent_keys(key, step, Purpose.LINKS, agents), slots)
        if error is not None and isinstance(self.mixing, EdgeMixing):
            raise GraphError("Gain errors need the neighbour table: build_mixing(graph, layout='table').")
        mixed = over_the_air_mix(theta, gains, self.mixing, mask, error)
        z = self.channel.noise(agent_keys(key, step, Purpose.CHANNEL, agents), params)
        theta_next = cd_dsgld_update(mixed, self.drift(grad, eta), z, beta, eta)

        amplitude = w * beta * gains.rho * row_norms(theta)  # ‖x_j‖
        info = {
            "eta_grad_norm": eta * row_norms(grad),
            "rho": gains.rho,
            # 1 where the block is DSGLD's: full gain over exact links.
            "unit_gain": jnp.where(error is None, gains.rho == 1.0, False).astype(jnp.float32),
            "power_used": amplitude**2 / (params * self.channel.power),  # ‖x_j‖²/(mP), at most 1
        }
        return State(theta_next, step + 1), info
