"""Faults with a memory or a will: bursts of lost links, agents that leave and rejoin, late ones, and Byzantine ones.

    θ_k' = θ_k + Σ_j w_kj m_kj (s_j − θ_k) + …        m: links that are up, s_j: what agent j's neighbours hear

`m` multiplies whole brackets, so rows sum to one on the survivors. `s_j` is θ_j itself, an older θ_j, or a lie. What a
fault remembers lives in the sampler's state, one row per agent; its draws follow (key, step, purpose). So chunking,
resuming and sharding never change a result. Outages without memory are in `samplers.outage`.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from airbayes.checks import (
    ANY,
    AT_LEAST_ONE,
    BELOW_ONE,
    NOT_NEGATIVE,
    PROBABILITY,
    check_count,
    check_part,
    checked,
    known,
)
from airbayes.errors import AirbayesError
from airbayes.keys import Purpose, agent_keys, normal_rows, step_key
from airbayes.network import AnyMixing, burst_mask, combine, down_below, is_split, links_up
from airbayes.samplers.base import Info
from airbayes.samplers.outage import Outage, outage_mask

AttackKind = Literal["constant", "random", "flip"]
MAX_SPLIT_AGENTS = 64  # up to so many agents every step is searched for partitions
PerLink = Float[Array, "*link"]


_share = checked("The share p of the time that is lost", BELOW_ONE, "10 % is 0.1.", one=True)
_length = checked("The mean length L of a fault", AT_LEAST_ONE, "It is in steps.", one=True)
_probability = checked("The probability p of a fault", PROBABILITY, "10 % is 0.1.", one=True)


def _check_length(share: Float[Array, ""], length: Float[Array, ""]) -> None:
    """What is up fails with probability p/((1 − p)L), which must not exceed one."""
    p, steps = known(share), known(length)
    if p is not None and steps is not None and steps < (1 - 1e-5) * p / (1 - p):
        raise AirbayesError(
            f"What is lost a share p = {p:.6g} of the time is lost p/(1 − p) = {p / (1 - p):.6g} steps at a time or "
            f"more, got L = {steps:.6g}. Take a longer L or a smaller p."
        )


class Bursts(eqx.Module):
    """Gilbert–Elliott links: down a share p of the time, L steps at a time; `one_way` by direction."""

    probability: Float[Array, ""] = eqx.field(converter=_share)  # p
    mean_length: Float[Array, ""] = eqx.field(converter=_length)  # L, steps
    one_way: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        _check_length(self.probability, self.mean_length)


class Churn(eqx.Module):
    """Agents leave and rejoin: away a share p of the time, L steps at a time.

    An agent that is away neither sends nor hears nor computes: its θ_k (and momentum) stand still, and it rejoins with
    them. It starts present or away by the stationary law.
    """

    probability: Float[Array, ""] = eqx.field(converter=_share)  # p
    mean_length: Float[Array, ""] = eqx.field(converter=_length)  # L, steps

    def __check_init__(self):
        _check_length(self.probability, self.mean_length)


class Late(eqx.Module):
    """Stragglers: with probability p an agent's message is not ready and its neighbours use the last one they have,
    which is at most τ steps old: after τ late steps they wait for it."""

    probability: Float[Array, ""] = eqx.field(converter=_probability)  # p
    staleness: Int[Array, ""] = eqx.field(  # τ, steps
        converter=checked("The staleness τ in steps", NOT_NEGATIVE, dtype=jnp.int32, one=True)
    )


class Attack(eqx.Module):
    """Byzantine agents, the last `attackers`, send a lie with probability p; their own θ_k goes on honestly.

    constant: every entry is a. random: a·N(0, 1). flip: −a·θ_j. Nothing holds the lie to the power limit.
    """

    probability: Float[Array, ""] = eqx.field(converter=_probability)  # p
    size: Float[Array, ""] = eqx.field(converter=checked("The size a of a lie", ANY, one=True))  # a
    kind: AttackKind = eqx.field(static=True, default="constant")
    attackers: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if self.kind not in ("constant", "random", "flip"):
            raise AirbayesError(f"An attack is 'constant', 'random' or 'flip', not {self.kind!r}.")
        check_count("attackers", self.attackers, 0)

    def __call__(
        self, key: Key[Array, ""], step: Int[Array, ""], rows: Float[Array, "agent param"]
    ) -> Float[Array, "agent param"]:
        agents, params = rows.shape
        keys = agent_keys(key, step, Purpose.ATTACK, agents)
        lying = _uniforms(keys) < self.probability
        lying = lying & (jnp.arange(agents) >= agents - self.attackers)
        if self.kind == "constant":
            lie = jnp.broadcast_to(self.size, rows.shape)
        elif self.kind == "random":
            lie = self.size * normal_rows(jax.vmap(jax.random.fold_in, (0, None))(keys, 1), params)
        else:
            lie = -self.size * rows
        return jnp.where(lying[:, None], lie, rows)


class FaultState(eqx.Module):
    """What the faults remember; None where a fault is not simulated."""

    links: PerLink | None  # 1 where a link is up
    present: Float[Array, " agent"] | None  # 1 where an agent is there
    sent: Float[Array, "agent param"] | None  # the last θ_j that neighbours have
    age: Int[Array, " agent"] | None  # of `sent`, steps


class Faults(eqx.Module):
    """What goes wrong in a network besides outages; None where a fault does not happen."""

    bursts: Bursts | None = None
    churn: Churn | None = None
    late: Late | None = None
    attack: Attack | None = None

    def __check_init__(self):
        for name, part, kind, example in (
            ("bursts", self.bursts, Bursts, "samplers.Bursts(0.1, 5)"),
            ("churn", self.churn, Churn, "samplers.Churn(0.1, 5)"),
            ("late", self.late, Late, "samplers.Late(0.1, 3)"),
            ("attack", self.attack, Attack, "samplers.Attack(0.1, 1.0)"),
        ):
            if part is not None:
                check_part(name, part, kind, example)

    def init(self, theta: Float[Array, "agent param"], mixing: AnyMixing) -> FaultState:
        agents = len(theta)
        if self.attack is not None and self.attack.attackers > agents:
            raise AirbayesError(f"There are {self.attack.attackers} attackers, but the network has {agents} agents.")
        return FaultState(
            None if self.bursts is None else mixing.links,
            None if self.churn is None else jnp.ones(agents, jnp.float32),
            None if self.late is None else jnp.copy(theta),  # as in Q-DSGD: arrays of its own can be donated
            None if self.late is None else jnp.zeros(agents, jnp.int32),
        )


class Round(eqx.Module):
    """The network at one step, as the faults leave it; None where nothing is wrong."""

    mask: PerLink | None  # m, links that are up
    sent: Float[Array, "agent param"] | None  # s_j
    fresh: Float[Array, " agent"] | None  # 1 where the message of this step got ready
    present: Float[Array, " agent"] | None  # 1 where an agent is there
    state: FaultState | None  # for the next step

    def keep_away(
        self, after: Float[Array, "agent param"], before: Float[Array, "agent param"]
    ) -> Float[Array, "agent param"]:
        """Agents that are away stand still."""
        return after if self.present is None else jnp.where(self.present[:, None] > 0, after, before)

    def info(self, mixing: AnyMixing) -> Info:
        """Links an agent hears over, agents cut off, and whether the network falls apart: for people to look at."""
        if self.mask is None:
            return {}
        up = links_up(self.mask, mixing)
        found = {"links_up": up, "isolated": (up == 0).astype(jnp.float32)}
        if self.present is not None:
            found["present"] = self.present
        if mixing.num_agents <= MAX_SPLIT_AGENTS:
            split = is_split(self.mask, mixing, self.present).astype(jnp.float32)
            found["split"] = jnp.broadcast_to(split, up.shape)
        return found


def start_faults(faults: Faults | None, theta: Float[Array, "agent param"], mixing: AnyMixing) -> FaultState | None:
    return None if faults is None else faults.init(theta, mixing)


def play_round(
    outage: Outage | None,
    faults: Faults | None,
    key: Key[Array, ""],
    step: Int[Array, ""],
    state: FaultState | None,
    theta: Float[Array, "agent param"],
    mixing: AnyMixing,
) -> Round:
    """What fails at this step, of the memoryless outage and of the faults together."""
    mask = outage_mask(outage, key, step, mixing)
    if faults is None:
        return Round(mask, None, None, None, None)
    state = _remembered(faults, state)
    masks = [] if mask is None else [mask]
    links, present, sent, age, fresh = state.links, state.present, state.sent, state.age, None
    if faults.bursts is not None and links is not None:
        b = faults.bursts
        draw = step_key(key, step, Purpose.BURST)
        links = burst_mask(draw, mixing, links, step == 0, b.probability, b.mean_length, b.one_way)
        masks.append(links)
    if faults.churn is not None and present is not None:
        uniforms = _uniforms(agent_keys(key, step, Purpose.CHURN, len(theta)))
        away_below = down_below(present > 0, step == 0, faults.churn.probability, faults.churn.mean_length)
        present = (uniforms >= away_below).astype(jnp.float32)
        masks.append(mixing.links * present[mixing.senders] * present[mixing.receivers])
    said = None
    if faults.late is not None and sent is not None and age is not None:
        uniforms = _uniforms(agent_keys(key, step, Purpose.LATE, len(theta)))
        ready = (uniforms >= faults.late.probability) | (age >= faults.late.staleness) | (step == 0)
        sent = said = jnp.where(ready[:, None], theta, sent)
        age = jnp.where(ready, 0, age + 1)
        fresh = ready.astype(jnp.float32)
    if faults.attack is not None:
        said = faults.attack(key, step, theta if said is None else said)
    mask = combine(*masks) if masks else None
    return Round(mask, said, fresh, present, FaultState(links, present, sent, age))


def _remembered(faults: Faults, state: FaultState | None) -> FaultState:
    """The state, if it knows of these faults; one of another sampler would let them not happen, without a word."""
    known = () if state is None else (state.links, state.present, state.sent)
    wanted = (faults.bursts, faults.churn, faults.late)
    if state is None or any(fault is not None and held is None for fault, held in zip(wanted, known, strict=True)):
        raise AirbayesError(
            "The state was made by a sampler without these faults, which would not happen. Begin with "
            "sampler.init(theta) of a sampler that has them."
        )
    return state


def _uniforms(keys: Key[Array, " agent"]) -> Float[Array, " agent"]:
    return jax.vmap(lambda key: jax.random.uniform(key))(keys)
