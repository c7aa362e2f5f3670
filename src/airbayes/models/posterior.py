"""The local potential of agent k,

    f_k(θ) = −log p(D_k | θ) − (1/N) log p(θ) ,      Σ_k f_k = −log posterior + constant

so that the prior is counted once by the whole network.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from airbayes.models.local_data import LocalData, draw_minibatch


class Posterior(eqx.Module):
    """f_k from a log-likelihood per example and a log-prior."""

    log_likelihood: Callable  # (θ, inputs, targets) → log p(target_h | input_h, θ), one per example
    log_prior: Callable  # θ → log p(θ)
    num_agents: int = eqx.field(static=True)  # N; 1 for a centralised sampler

    def __call__(self, theta: Float[Array, " param"], data: LocalData) -> Float[Array, ""]:
        log_likelihood = jnp.sum(data.weights * self.log_likelihood(theta, data.inputs, data.targets))
        return -log_likelihood - self.log_prior(theta) / self.num_agents


class FullGradient(eqx.Module):
    """∇f_k(θ_k) of every agent over all of its data. `potential` is any (θ, local data) → scalar; no key is used."""

    potential: Callable

    def __call__(
        self, keys: Key[Array, " agent"] | None, theta: Float[Array, "agent param"], data: PyTree
    ) -> Float[Array, "agent param"]:
        return jax.vmap(jax.grad(self.potential))(theta, data)


class MiniBatchGradient(eqx.Module):
    """An unbiased estimate of ∇f_k from B examples drawn afresh at every step."""

    potential: Callable
    batch_size: int = eqx.field(static=True)  # B
    replace: bool = eqx.field(static=True, default=False)

    def __call__(
        self, keys: Key[Array, " agent"], theta: Float[Array, "agent param"], data: LocalData
    ) -> Float[Array, "agent param"]:
        def one_agent(key, row, local):
            batch = draw_minibatch(key, local, self.batch_size, replace=self.replace)
            return jax.grad(self.potential)(row, batch)

        return jax.vmap(one_agent)(keys, theta, data)
