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

from airbayes.channel import Channel, ImpulsiveNoise, Jammed
from airbayes.channel.checks import check_gain_error, check_noise, check_powers
from airbayes.checks import check_part, one_number
from airbayes.errors import GraphError
from airbayes.keys import Purpose, agent_keys
from airbayes.network import AnyMixing, EdgeMixing, neighbour_sum
from airbayes.power import Gains, PowerPolicy, caps_of_rms, check_gains, receiver_scale, row_rms
from airbayes.samplers.base import Info, Sampler, State, first_step, row_norms
from airbayes.samplers.check_parts import check_network, check_state, drift_rows, gradient_rows, start_theta
from airbayes.samplers.drift import Drift, Plain
from airbayes.samplers.faults import Faults, play_round, start_faults
from airbayes.samplers.outage import Outage
from airbayes.samplers.receiver import Receiver
from airbayes.samplers.step_size import StepSize, as_step_size, eta_at


def over_the_air_mix(
    theta: Float[Array, "agent param"],
    gains: Gains,
    mixing: AnyMixing,
    mask: Float[Array, "*link"] | None = None,
    gain_error: Float[Array, "*link"] | None = None,
    sent: Float[Array, "agent param"] | None = None,
) -> Float[Array, "agent param"]:
    """θ_k + w Σ_j A_kj ((1 + ε_kj) ρ_j θ_j − σ_k θ_k): the received sum plus the self term, before the noise.

    `sent` is what is on the air in place of θ_j, where it differs (an old θ_j, or a lie).
    """
    own, sent = gains.self_gain[:, None] * theta, theta if sent is None else sent
    mixed = theta + neighbour_sum(sent, own, mixing, mask, gains.rho)
    if gain_error is not None:
        surviving = gain_error if mask is None else gain_error * mask
        mixed = mixed + neighbour_sum(sent, jnp.zeros_like(theta), mixing, surviving, gains.rho)
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
    """DSGLD whose sums and noise come from the radio channel.

        ring, radio = network.build_mixing(network.ring(5)), channel.AWGN(snr_db=20.0)
        CDDSGLD(models.FullGradient(posterior), ring, radio, power.Common(), step_size=1e-3)

    `posterior` is a `models.Posterior`, or any function f_k: (θ [param], local data) → one number.
    """

    gradient: Callable  # (keys, theta, data) → ∇f_k(θ_k), [agent, param]
    mixing: AnyMixing
    channel: Channel
    policy: PowerPolicy
    step_size: StepSize = eqx.field(converter=as_step_size)  # η
    drift: Drift = Plain()
    outage: Outage | None = None
    faults: Faults | None = None
    receiver: Receiver | None = None  # what it does about impulses and jammers; None trusts every block

    def __check_init__(self):
        check_network(self.gradient, self.drift, self.mixing, self.outage, self.faults)
        check_part("channel", self.channel, Channel, "channel.AWGN(snr_db=20.0)")
        check_powers(self.channel)
        check_part("policy", self.policy, PowerPolicy, "power.Common()")
        if self.receiver is not None:
            check_part("receiver", self.receiver, Receiver, "samplers.ClippingReceiver(4.0)")
        if self.mixing.edge_weight is None:
            raise GraphError(
                "CD-DSGLD needs one edge weight w: a signal reaches all neighbours with the same amplitude. "
                "'metropolis' or an array gives each link its own; use 'best-constant', 'max-degree' or one number."
            )

    def init(self, theta: Float[Array, "agent param"]) -> State:
        theta = start_theta(theta, self.mixing)
        return State(theta, first_step(), faults=start_faults(self.faults, theta, self.mixing))

    def step(self, key: Key[Array, ""], state: State, data: PyTree) -> tuple[State, Info]:
        check_state(state, State)
        theta, step = state.theta, state.step
        agents, params = theta.shape
        eta, w = eta_at(self.step_size, step), self.mixing.edge_weight
        assert w is not None  # checked when the sampler was made
        grad = gradient_rows(self.gradient, agent_keys(key, step, Purpose.BATCH, agents), theta, data)

        now = play_round(self.outage, self.faults, key, step, state.faults, theta, self.mixing)
        mask = now.mask
        honest = theta if now.state is None or now.state.sent is None else now.state.sent  # what power is planned for
        power = one_number("The channel's power P", self.channel.power)
        beta = receiver_scale(one_number("The channel's noise power N0", self.channel.noise_power), eta)
        rms = row_rms(honest)
        caps = caps_of_rms(rms, w, power, beta)
        if now.present is not None:  # who is away sends nothing and holds nobody back
            caps = jnp.where(now.present > 0, caps, jnp.inf)
        common = common_neighbours(self.mixing, mask) if self.policy.needs_common_neighbours else None
        gains = check_gains(self.policy(honest, caps, common), self.policy, agents)

        slots = 0 if isinstance(self.mixing, EdgeMixing) else self.mixing.weights.shape[1]
        error = self.channel.gain_error(agent_keys(key, step, Purpose.LINKS, agents), slots)
        if error is not None and isinstance(self.mixing, EdgeMixing):
            raise GraphError("Gain errors need the neighbour table: build_mixing(graph, layout='table').")
        check_gain_error(error, self.channel, agents, slots)
        mixed = over_the_air_mix(theta, gains, self.mixing, mask, error, now.sent)
        z = self.channel.noise(agent_keys(key, step, Purpose.CHANNEL, agents), params)
        check_noise(z, self.channel, agents, params)
        doubts: Info = {}
        if self.receiver is not None:
            own_noise = agent_keys(key, step, Purpose.FALLBACK, agents)
            innovation, doubts = self.receiver(mixed - theta + z / beta, own_noise, eta)
            mixed, z = theta + innovation, jnp.zeros_like(z)
        theta_next = now.keep_away(cd_dsgld_update(mixed, drift_rows(self.drift, grad, eta), z, beta, eta), theta)

        amplitude = w * beta * gains.rho * rms  # ‖x_j‖/√m, of honest agents
        if now.present is not None:
            amplitude = amplitude * now.present
        exact = error is None and self.receiver is None and not isinstance(self.channel, ImpulsiveNoise | Jammed)
        info = {
            "eta_grad_norm": eta * row_norms(grad),
            "rho": gains.rho,
            # 1 where the block is DSGLD's: full gain over exact links, Gaussian noise, nothing clipped.
            "unit_gain": jnp.where(exact, gains.rho == 1.0, False).astype(jnp.float32),
            "power_used": amplitude**2 / power,  # ‖x_j‖²/(mP), at most 1
            **now.info(self.mixing),
            **doubts,
        }
        return State(theta_next, step + 1, faults=now.state), info
