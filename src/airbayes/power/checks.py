"""Mistakes in a power policy, said in words: of its kind and shapes while a step is traced, of its gains in a trial."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from airbayes.checks import check_count, check_part
from airbayes.errors import AirbayesError
from airbayes.power.policies import Gains, PowerPolicy

SLACK = 1e-5  # relative; caps are kept a little below the limit


def check_gains(gains: object, policy: PowerPolicy, num_agents: int) -> Gains:
    """The gains, if they are some: one ρ and one σ for each agent. Only kinds and shapes: nothing is computed."""
    name = type(policy).__name__
    if not isinstance(gains, Gains):
        raise AirbayesError(f"{name} must return power.Gains(rho, self_gain), got a {type(gains).__name__}.")
    for field, symbol in (("rho", "ρ"), ("self_gain", "σ")):
        shape = np.shape(getattr(gains, field))
        if shape != (num_agents,):
            raise AirbayesError(
                f"{name}: {field} ({symbol}) must have one entry for each of the {num_agents} agents, shape "
                f"({num_agents},), got shape {shape}. Use jnp.full_like(caps, ...) for one gain of all."
            )
    return gains


def check_policy(policy: PowerPolicy, num_agents: int, num_params: int = 8) -> None:
    """Try a policy of your own at caps u from 0.1 to 10, and refuse gains outside 0 ≤ ρ ≤ u, which no step notices.

    For a test or a script, before a run: it computes, with JAX as it is, on θ of ones.
    """
    check_part("policy", policy, PowerPolicy, "power.Common()")
    check_count("num_agents", num_agents)
    theta = jnp.ones((num_agents, num_params))
    common = jnp.ones((num_agents, num_agents)) if policy.needs_common_neighbours else None
    rising = jnp.geomspace(0.1, 10.0, num_agents) if num_agents > 1 else jnp.full((1,), 0.1)
    for caps in (jnp.full((num_agents,), 0.1), rising, jnp.full((num_agents,), 10.0)):
        gains = check_gains(policy(theta, caps, common), policy, num_agents)
        _refuse_outside(np.asarray(gains.rho), np.asarray(caps), type(policy).__name__)


def _refuse_outside(
    rho: Float[np.ndarray, " agent"] | Float[Array, " agent"], caps: Float[np.ndarray, " agent"], name: str
) -> None:
    bad = np.flatnonzero(~((rho >= 0) & (rho <= caps * (1 + SLACK))))  # NaN is bad too
    if len(bad):
        agent = bad[0]
        raise AirbayesError(
            f"{name}: agent {agent} takes the gain ρ = {rho[agent]:.3g} where its cap is u = {caps[agent]:.3g}; "
            "it would send above its power limit. Take jnp.clip(rho, 0, caps)."
        )
