"""The local potential of agent k,

    f_k(θ) = −log p(D_k | θ) − (1/N) log p(θ) ,      Σ_k f_k = −log posterior + constant

so that the prior is counted once by the whole network. What does not fit together is refused before it is computed:
shapes are known while JAX traces, so this costs a run nothing.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from airbayes.checks import check_count, describe
from airbayes.errors import AirbayesError
from airbayes.models.base import Classifier, Model
from airbayes.models.local_data import LocalData, check_labels, draw_minibatch


class Posterior(eqx.Module):
    """f_k(θ) = −log p(D_k | θ) − (1/N) log p(θ), from a log-likelihood per example and a log-prior.

        Posterior(models.LinearRegression(num_params=2, noise_std=0.5).log_likelihood, models.GaussianPrior(), 5)

    `log_likelihood` is a function (θ [param], inputs [example, ...], targets [example, ...]) → log p of each example,
    [example], in nats; `log_prior` is θ [param] → log p(θ), one number. The data are what
    `models.stack_agents(inputs, targets)` gives.
    """

    log_likelihood: Callable
    log_prior: Callable
    num_agents: int = eqx.field(static=True)  # N; 1 for a centralised sampler

    def __check_init__(self):
        check_count("num_agents", self.num_agents, fix="So many share the prior; 1 where all data are in one place.")
        for name, part, example in (
            ("log_likelihood", self.log_likelihood, "model.log_likelihood"),
            ("log_prior", self.log_prior, "models.GaussianPrior()"),
        ):
            if isinstance(part, type) or not callable(part):
                raise AirbayesError(f"{name} must be a function such as {example}, got {describe(part)}.")

    def __call__(self, theta: Float[Array, " param"], data: LocalData) -> Float[Array, ""]:
        each = self.log_likelihood(theta, data.inputs, data.targets)
        if jnp.shape(each) != data.weights.shape:
            fix = (
                "Are the targets or the predictions a column? Give targets[:, 0]."
                if jnp.shape(each)
                else "Leave out the sum over the examples: each has a weight."
            )
            raise AirbayesError(
                f"log_likelihood gave shape {list(jnp.shape(each))} for {data.weights.shape[-1]} examples with targets "
                f"{list(data.targets.shape)}; it must give one number each. {fix}"
            )
        log_prior = self.log_prior(theta)
        if jnp.shape(log_prior):
            raise AirbayesError(
                f"log_prior gave shape {list(jnp.shape(log_prior))}; it must give one number. Give jnp.sum of it."
            )
        return -jnp.sum(data.weights * each) - log_prior / self.num_agents

    def check_data(self, theta: Float[Array, "agent param"], data: object) -> None:
        """Refuse data that are not ours, and θ and labels that do not fit the model, where it is one of ours."""
        if not isinstance(data, LocalData):
            raise AirbayesError(f"A Posterior needs models.stack_agents(inputs, targets), got {describe(data)}.")
        model = getattr(self.log_likelihood, "__self__", None)
        if isinstance(model, Model) and theta.shape[-1] != model.num_params:
            raise AirbayesError(
                f"θ has {theta.shape[-1]} parameters an agent, but the {type(model).__name__} has {model.num_params} "
                "(model.num_params)."
            )
        if isinstance(model, Classifier):
            check_labels(data.targets, data.weights, model.num_classes)


def check_data(potential: Callable, theta: Float[Array, "agent param"], data: PyTree) -> None:
    """What every gradient asks before it maps a potential over the agents."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(data):
        if jnp.shape(leaf)[:1] != theta.shape[:1]:
            raise AirbayesError(
                f"θ has {theta.shape[0]} rows, one per agent, but data{jax.tree_util.keystr(path)} has shape "
                f"{list(jnp.shape(leaf))}. Its first axis must be the agents."
            )
    if isinstance(potential, Posterior):
        potential.check_data(theta, data)


def _grad(potential: Callable) -> Callable:
    """∇f, of a potential that gives one number."""

    def one_number(theta: Float[Array, " param"], data: PyTree) -> Float[Array, ""]:
        value = potential(theta, data)
        if jnp.shape(value):
            raise AirbayesError(
                f"The potential gave shape {list(jnp.shape(value))}; f_k(θ) is one number. Give jnp.sum of it."
            )
        return value

    return jax.grad(one_number)


class FullGradient(eqx.Module):
    """∇f_k(θ_k) of every agent over all of its data. `potential` is any (θ, local data) → scalar; no key is used.

    On stacked data a potential of your own must multiply each example by `data.weights`: they are 0 on padding.
    """

    potential: Callable

    def __call__(
        self, keys: Key[Array, " agent"] | None, theta: Float[Array, "agent param"], data: PyTree
    ) -> Float[Array, "agent param"]:
        check_data(self.potential, theta, data)
        return jax.vmap(_grad(self.potential))(theta, data)


class MiniBatchGradient(eqx.Module):
    """An unbiased estimate of ∇f_k from B examples drawn afresh at every step.

    A potential of your own must multiply each example by `data.weights`, as `Posterior` does: they hold E_k/B.
    """

    potential: Callable
    batch_size: int = eqx.field(static=True)  # B
    replace: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        check_count("The mini-batch B", self.batch_size, fix="For all data use models.FullGradient.")

    def __call__(
        self, keys: Key[Array, " agent"], theta: Float[Array, "agent param"], data: LocalData
    ) -> Float[Array, "agent param"]:
        check_data(self.potential, theta, data)

        def one_agent(key, row, local):
            batch = draw_minibatch(key, local, self.batch_size, replace=self.replace)
            return _grad(self.potential)(row, batch)

        return jax.vmap(one_agent)(keys, theta, data)
