"""Q-DSGD, the digital benchmark: DSGD over links that carry top-t, quantised messages Q(·).

    memory      θ½ = θ − η∇f ;  q = Q(θ½ − x̂) ;  x̂ ← x̂ + q ;  θ' = θ½ + γ Σ_j w_kj (x̂_j − x̂_k)      (as CHOCO-SGD)
    own-value   θ_k' = θ_k + Σ_j w_kj s_j∘(Q(θ_j) − θ_k) − η∇f_k     s_j marks the coordinates j really sent
    zero-fill   θ_k' = θ_k + Σ_j w_kj (Q(θ_j) − θ_k) − η∇f_k         the paper read literally: what is not sent is 0

t_k is the most coordinates agent k's rate allows (`airbayes.compress.largest_t`). x̂ is known to all neighbours and
starts at x̂⁰ = θ⁰.
"""

from collections.abc import Callable
from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from airbayes.checks import NOT_NEGATIVE, check_part, checked, one_number
from airbayes.compress import Compressor, TopTQSGD
from airbayes.compress.checks import check_top_t, held_to_contract
from airbayes.errors import AirbayesError
from airbayes.keys import Purpose, agent_keys
from airbayes.network import AnyMixing, neighbour_sum
from airbayes.samplers.base import Info, Sampler, State, first_step, row_norms
from airbayes.samplers.check_parts import check_network, check_state, drift_rows, gradient_rows, start_theta
from airbayes.samplers.drift import Drift, Plain
from airbayes.samplers.faults import Faults, play_round, start_faults
from airbayes.samplers.outage import Outage
from airbayes.samplers.step_size import StepSize, as_step_size, eta_at

Mode = Literal["memory", "own-value", "zero-fill"]
MODES = get_args(Mode)


def memory_update(
    half: Float[Array, "agent param"],
    memory: Float[Array, "agent param"],
    gamma: Float[Array, ""],
    mixing: AnyMixing,
) -> Float[Array, "agent param"]:
    """θ½ + γ Σ_j w_kj (x̂_j − x̂_k): of every link, since x̂ assumes that every message arrives."""
    return half + gamma * neighbour_sum(memory, memory, mixing)


def own_value_update(
    theta: Float[Array, "agent param"],
    received: Float[Array, "agent param"],
    mixing: AnyMixing,
    mask: Array | None,
) -> Float[Array, "agent param"]:
    """θ_k + Σ_j w_kj s_j∘(Q(θ_j) − θ_k): coordinates not sent fall back to the receiver's own."""
    sent = (received != 0).astype(theta.dtype)
    nothing = jnp.zeros_like(theta)
    return theta + neighbour_sum(received, nothing, mixing, mask) - theta * neighbour_sum(sent, nothing, mixing, mask)


class MemoryState(State):
    """θ and x̂, what all neighbours know of it."""

    theta: Float[Array, "agent param"]
    step: Int[Array, ""]
    memory: Float[Array, "agent param"]  # x̂_k; unused outside `memory`


class QDSGD(Sampler[MemoryState]):
    """DSGD over digital links that carry t coordinates of every message.

        ring, t = network.build_mixing(network.ring(5)), jnp.full(5, 2)
        QDSGD(models.FullGradient(posterior), ring, t, step_size=1e-3, consensus_step=0.3)

    `posterior` is a `models.Posterior`, or any function f_k: (θ [param], local data) → one number.
    """

    gradient: Callable  # (keys, theta, data) → ∇f_k(θ_k), [agent, param]
    mixing: AnyMixing
    top_t: Int[Array, " agent"]  # t_k, coordinates agent k may send in a block
    step_size: StepSize = eqx.field(converter=as_step_size)  # η
    consensus_step: Float[Array, ""] = eqx.field(converter=checked("The consensus step γ", NOT_NEGATIVE))  # γ
    mode: Mode = eqx.field(static=True, default="memory")
    compressor: Compressor = TopTQSGD()
    drift: Drift = Plain()
    outage: Outage | None = None
    faults: Faults | None = None

    def __check_init__(self):
        check_network(self.gradient, self.drift, self.mixing, self.outage, self.faults)
        if self.mode not in MODES:
            raise AirbayesError(f"Q-DSGD has no mode {self.mode!r}; use one of {', '.join(map(repr, MODES))}.")
        check_part("compressor", self.compressor, Compressor, "compress.TopTQSGD()")
        check_top_t(self.top_t, self.mixing.num_agents)
        lost = self.faults is not None and (self.faults.bursts is not None or self.faults.churn is not None)
        if self.mode == "memory" and (lost or self.outage is not None):
            raise AirbayesError(
                "Q-DSGD's 'memory' mode assumes that every message arrives: its x̂ must be the same at all neighbours. "
                "With outages, bursts or churn use mode='own-value' or 'zero-fill'."
            )

    def init(self, theta: Float[Array, "agent param"]) -> MemoryState:
        theta = start_theta(theta, self.mixing)
        memory = jnp.copy(theta)  # an array of its own: a state whose parts share one cannot be donated to jit
        return MemoryState(theta, first_step(), memory, faults=start_faults(self.faults, theta, self.mixing))

    def step(self, key: Key[Array, ""], state: MemoryState, data: PyTree) -> tuple[MemoryState, Info]:
        check_state(state, MemoryState)
        theta, agents = state.theta, len(state.theta)
        eta = eta_at(self.step_size, state.step)
        grad = gradient_rows(self.gradient, agent_keys(key, state.step, Purpose.BATCH, agents), theta, data)
        move = -eta * drift_rows(self.drift, grad, eta)
        now = play_round(self.outage, self.faults, key, state.step, state.faults, theta, self.mixing)
        mask = now.mask

        if self.mode == "memory":
            message = self._claimed(key, state.step, theta + move) - state.memory
        else:
            message = theta if now.sent is None else now.sent
        keys = agent_keys(key, state.step, Purpose.QUANTISE, agents)
        received, cost = jax.vmap(held_to_contract(self.compressor))(keys, message, self.top_t)

        memory = state.memory
        if self.mode == "memory":
            gamma = one_number("The consensus step γ", self.consensus_step)
            # A late message is not sent at all, and x̂ stays what it was for everyone.
            memory = memory + (received if now.fresh is None else received * now.fresh[:, None])
            theta_next = memory_update(theta + move, memory, gamma, self.mixing)
        elif self.mode == "own-value":
            theta_next = own_value_update(theta, received, self.mixing, mask) + move
        else:
            theta_next = theta + neighbour_sum(received, theta, self.mixing, mask) + move
        info = {
            "eta_grad_norm": eta * row_norms(grad),
            "bits": cost.bits,
            "kept": cost.kept.astype(jnp.float32),
            **now.info(self.mixing),
        }
        return MemoryState(now.keep_away(theta_next, theta), state.step + 1, memory, faults=now.state), info

    def _claimed(
        self, key: Key[Array, ""], step: Int[Array, ""], rows: Float[Array, "agent param"]
    ) -> Float[Array, "agent param"]:
        """What agents claim to hold: a Byzantine one lies."""
        attack = None if self.faults is None else self.faults.attack
        return rows if attack is None else attack(key, step, rows)
