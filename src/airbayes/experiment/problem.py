"""What an experiment asks of a problem: data, a start, a potential, and an observer that turns samples into metrics."""

import abc
import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.prediction_files import CellPredictions
from airbayes.models import Augmentation, GaussianPrior, LaplacePrior, LocalData, Model, Posterior
from airbayes.samplers.exact import AffineLaw

DATA_STREAM, START_STREAM = 1, 2  # data and θ⁰ depend on the seed alone, never on the cell


@dataclasses.dataclass(frozen=True)
class Metrics:
    """The outcome of one cell, on the host."""

    scalars: dict[str, float]
    per_agent: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    arrays: dict[str, tuple[tuple[str, ...], np.ndarray]] = dataclasses.field(
        default_factory=dict
    )  # name → (dims, values)
    samples: np.ndarray | None = None  # θ [sample, agent, param], to predict with later
    predictions: CellPredictions | None = None  # for the held-out objects, of classifiers


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What is left of a cell's chains when they have run."""

    seed: int
    is_sampler: bool  # False: an optimiser, whose last iterate is what counts
    tracker: PyTree  # [chain, ...]
    theta: np.ndarray  # the last θ, [chain, agent, param]
    history: dict[str, np.ndarray]  # snapshots over iterations, name → [step, agent]
    law: AffineLaw | None  # the sampler's exact law where it is known (linear problems, no power limit reached)


class Observer(eqx.Module):
    """Looks at samples on the device, so that no trajectory is ever stored."""

    @abc.abstractmethod
    def empty(self, num_agents: int) -> PyTree:
        """The tracker before any kept sample."""

    @abc.abstractmethod
    def update(self, tracker: PyTree, theta: Float[Array, "agent param"]) -> tuple[PyTree, Float[Array, " quantity"]]:
        """The tracker after one more kept sample, and a few scalars of that sample, for R-hat and ESS."""

    @abc.abstractmethod
    def snapshot(self, tracker: PyTree, theta: Float[Array, "agent param"]) -> dict[str, Float[Array, " agent"]]:
        """Metrics of the current state and of what was kept so far, stored over iterations."""


class Problem(abc.ABC):
    """A data source and a model. Everything random in it depends on the seed alone."""

    model: Model
    num_agents: int
    config: ExperimentConfig

    @abc.abstractmethod
    def data(self, seed: int) -> LocalData:
        """Training data of all agents, [agent, example, ...]; drawn once per seed."""

    @abc.abstractmethod
    def observer(self, seed: int, is_sampler: bool) -> Observer:
        """What looks at the samples, or iterates, of this seed."""

    @abc.abstractmethod
    def finish(self, outcome: Outcome) -> Metrics:
        """Metrics of a cell."""

    @abc.abstractmethod
    def typical_rms(self, seed: int) -> tuple[float, str]:
        """The rms(θ) for which to predict transition SNRs, and where the number comes from."""

    def glimpse(self, seeds: list[int], tracker: PyTree) -> dict[str, np.ndarray]:
        """What else can be said cheaply of unfinished cells, to whoever watches; name → [cell]. It is not stored.

        seeds: of every cell. tracker: [cell, chain, ...].
        """
        return {}

    def attributes(self) -> dict[str, str | int]:
        """Facts about the problem that belong into the results file."""
        return {}

    def augmentation(self) -> Augmentation | None:
        """How training inputs are transformed at every step; None leaves them as they are."""
        return None

    def prior_scale(self) -> Float[np.ndarray, "..."] | float:
        """s, one number or one per parameter."""
        return self.config.problem.prior_scale

    def potential(self, num_agents: int) -> Posterior:
        """f_k, with the prior shared by `num_agents`."""
        prior = {"gaussian": GaussianPrior, "laplace": LaplacePrior}[self.config.problem.prior]
        return Posterior(self.model.log_likelihood, prior(self.prior_scale()), num_agents)

    def start(self, seed: int, num_agents: int, chains: int) -> Float[Array, "chain agent param"]:
        """θ⁰ of every chain: one for all agents, or one each."""
        key = jax.random.fold_in(jax.random.key(seed), START_STREAM)
        keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(chains))

        # One program, since a network has a dozen shapes to draw; used once, so it is not worth optimising. It knows no
        # number of agents: whoever asks for the start of another network finds it among the compiled programs.
        options = {"xla_backend_optimization_level": 0} if jax.default_backend() == "cpu" else None
        shared = self.config.sampling.start == "shared"
        if not shared:
            keys = jax.vmap(lambda key: jax.random.split(key, num_agents))(keys)
        draw = jax.vmap(self.model.init) if shared else jax.vmap(jax.vmap(self.model.init))
        drawn = jax.jit(draw, compiler_options=options)(keys)
        return jnp.asarray(np.tile(np.asarray(drawn)[:, None], (1, num_agents, 1))) if shared else drawn


def state_metrics(theta: Float[Array, "agent param"]) -> dict[str, Float[Array, " agent"]]:
    """rms(θ_k), which the power limit caps, and the distance of each agent from the network average."""
    gap = theta - theta.mean(axis=0)
    return {
        "rms": jnp.sqrt(jnp.mean(theta**2, axis=-1)),
        "disagreement": jnp.sqrt(jnp.mean(gap**2, axis=-1)),
    }
