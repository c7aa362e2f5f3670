"""What all samplers ask of their parts, asked when a sampler is made, and of θ⁰ when it is initialised.

    gradient   (keys, θ, data) → ∇f_k(θ_k)       of potentials f_k with 1/N of the prior each, N agents in the network
    θ⁰         [agent, param], float             one row per agent of the network

And at every step: that its state came from `init`, and that gradient and drift gave one row per agent.
Kinds and shapes only, which are known under jit and vmap, too.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from airbayes.checks import check_part, describe
from airbayes.errors import AirbayesError, GraphError
from airbayes.models import Posterior
from airbayes.network import AnyMixing
from airbayes.samplers.base import State
from airbayes.samplers.drift import Drift
from airbayes.samplers.faults import Faults
from airbayes.samplers.outage import check_outage


def check_rows(gradient: object, drift: object) -> None:
    """The parts of every sampler."""
    if isinstance(gradient, Posterior | type) or not callable(gradient):
        raise AirbayesError(
            "gradient must be a function (keys, theta, data) → ∇f [agent, param], such as "
            f"models.FullGradient(posterior), got {describe(gradient)}."
        )
    check_part("drift", drift, Drift, "samplers.Tamed()")


def check_network(gradient: object, drift: object, mixing: object, outage: object, faults: object) -> None:
    """The parts of every sampler whose agents talk."""
    if not isinstance(mixing, AnyMixing):
        raise GraphError(f"mixing must come from network.build_mixing(graph), got {describe(mixing)}.")
    check_rows(gradient, drift)
    posterior, agents = _posterior_of(gradient), mixing.num_agents
    if posterior is not None and posterior.num_agents != agents:
        raise AirbayesError(
            f"The posterior has num_agents = {posterior.num_agents}, but the network has {agents}: the prior would not "
            f"be counted once. Use models.Posterior(..., num_agents={agents})."
        )
    if outage is not None:
        check_outage("outage", outage)
    if faults is not None:
        check_part("faults", faults, Faults, "samplers.Faults(late=samplers.Late(0.1, 3))")


def start_theta(theta: Any, mixing: AnyMixing | None = None) -> Float[Array, "agent param"]:
    """θ⁰ of every sampler, as JAX's own kind of float; without a network it may have any number of rows.

    That kind is float32, or float64 after `jax.config.update("jax_enable_x64", True)`: noise is drawn in it, so any
    other θ would change its type in the first step, which a scan refuses.
    """
    shape, dtype = getattr(theta, "shape", None), getattr(theta, "dtype", None)
    agents = "agents" if mixing is None else mixing.num_agents
    if shape is None or dtype is None:
        plain = isinstance(theta, int | float) or (
            isinstance(theta, list | tuple) and not any(getattr(leaf, "shape", ()) for leaf in theta)
        )
        fix = (
            "Use jnp.asarray(theta)."
            if plain
            else "Flatten a pytree: point, unravel = jax.flatten_util.ravel_pytree(tree) for one agent, "
            f"then jnp.tile(point, ({agents}, 1)); the likelihood calls unravel(theta)."
        )
        raise AirbayesError(f"θ must be an array [agent, param], got {describe(theta)}. {fix}")
    if len(shape) != 2:
        raise AirbayesError(
            f"θ must have two axes, [agent, param], got shape {list(shape)}. "
            f"To start all agents at one point: jnp.tile(point, ({agents}, 1))."
        )
    if dtype not in (jnp.float32, jnp.float64):
        raise AirbayesError(f"θ must be float32, got {dtype}. Use theta.astype(jnp.float32).")
    if mixing is not None and shape[0] != mixing.num_agents:
        raise AirbayesError(
            f"θ has {shape[0]} rows, but the network has {agents} agents. Give one row per agent, "
            f"or build the mixing from a graph of {shape[0]} agents."
        )
    return jnp.asarray(theta, float)


def check_prior(gradient: object, theta: Float[Array, "agent param"]) -> None:
    """Without a network: one row is one place, where the prior counts in full. Of N rows each may take a share."""
    posterior = _posterior_of(gradient)
    if posterior is not None and len(theta) == 1 and posterior.num_agents > 1:
        raise AirbayesError(
            f"The posterior has num_agents = {posterior.num_agents}, but θ has one row: only 1/{posterior.num_agents} "
            "of the prior would count. Where all data are in one place, use models.Posterior(..., num_agents=1)."
        )


def check_state(state: object, kind: type[State]) -> None:
    """The state of a sampler of this kind, or of one that remembers more: not θ alone, nor the key."""
    if not isinstance(state, kind):
        raise AirbayesError(
            f"The state must be what sampler.init(theta) or the last step gave, a {kind.__name__}, got "
            f"{describe(state)}. The order is sampler.step(key, state, data)."
        )


def gradient_rows(
    gradient: Callable, keys: Key[Array, " agent"], theta: Float[Array, "agent param"], data: PyTree
) -> Float[Array, "agent param"]:
    """∇f_k(θ_k) of every agent."""
    return _rows("gradient", gradient(keys, theta, data), theta, "models.FullGradient(potential) maps f_k over them.")


def drift_rows(
    drift: Drift, gradient: Float[Array, "agent param"], eta: Float[Array, ""]
) -> Float[Array, "agent param"]:
    """What moves θ_k in place of ∇f_k."""
    return _rows(
        type(drift).__name__, drift(gradient, eta), gradient, "Of sums over parameters keep the axis: [:, None]."
    )


def _rows(what: str, found: Any, like: Float[Array, "agent param"], fix: str) -> Float[Array, "agent param"]:
    """A row for all agents, or a number for each, would be broadcast and move the others without a word."""
    shape = getattr(found, "shape", None)
    if shape != like.shape:
        got = describe(found) if shape is None else f"shape {list(shape)}"
        raise AirbayesError(f"{what} must give one row per agent, [agent, param], {list(like.shape)}, got {got}. {fix}")
    return found


def _posterior_of(gradient: object) -> Posterior | None:
    """The potential below our gradients and whatever wraps them; None where it is a function of the user's own."""
    part = gradient
    while part is not None and not isinstance(part, Posterior):
        part = getattr(part, "potential", getattr(part, "gradient", None))
    return part
