"""Bayesian linear regression whose posterior is known: how far is what was sampled from the truth?"""

import contextlib
from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from airbayes.errors import AirbayesError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.problem import DATA_STREAM, Metrics, Observer, Outcome, Problem, state_metrics
from airbayes.experiment.shown import shown_agents
from airbayes.metrics import RunningMoments, w2_gaussians
from airbayes.models import (
    LinearRegression,
    LocalData,
    gaussian_posterior,
    pooled_quadratic,
    quadratic_potentials,
)
from airbayes.samplers.exact import agent_law, average_law

MAX_GLIMPSE = 1_000_000  # cells·agents·m³ up to which W2 is computed while a run goes on: some milliseconds
BLOCK = 10_000  # agents whose data are drawn at a time


class MomentTracker(eqx.Module):
    """Rows of agents by themselves: they may be split over devices, the average is the same on all."""

    agents: RunningMoments  # [shown, param]
    network: RunningMoments  # of the network average, [1, param]


class MomentObserver(Observer):
    """Running mean and covariance of the shown agents and of the network average."""

    num_params: int = eqx.field(static=True)
    shown: Int[Array, " shown"]

    def empty(self, num_agents: int) -> MomentTracker:
        shown = min(num_agents, len(self.shown))
        return MomentTracker(*(RunningMoments.empty((rows, self.num_params)) for rows in (shown, 1)))

    def quantities(self, num_agents: int) -> int:
        return self.num_params

    def update(
        self, tracker: MomentTracker, theta: Float[Array, "agent param"]
    ) -> tuple[MomentTracker, Float[Array, " param"]]:
        """Monitored is the network average."""
        rows = theta if len(theta) <= len(self.shown) else theta[self.shown]
        average = theta.mean(axis=0, keepdims=True)
        return MomentTracker(tracker.agents.update(rows), tracker.network.update(average)), average[0]

    def snapshot(self, tracker: MomentTracker, theta: Float[Array, "agent param"]) -> dict[str, Float[Array, " agent"]]:
        return state_metrics(theta)


class LinearProblem(Problem):
    """Every agent's inputs lie around its own centre; the slope has rms 1, so that predictions at rms 1 apply."""

    def __init__(self, config: ExperimentConfig):
        self.config = config
        self.num_agents = config.network.agents
        self.model = LinearRegression(config.problem.features, config.problem.noise_std)
        self.shown = shown_agents(config)
        self.draw = lru_cache(self._draw)  # one draw per seed, shared by all cells
        self.posterior = lru_cache(self._posterior)

    def data(self, seed: int) -> LocalData:
        return self.draw(seed)

    def _draw(self, seed: int) -> LocalData:
        """Drawn block by block into float32: at most the centres are ever there in float64."""
        settings, agents = self.config.problem, self.num_agents
        rng = np.random.default_rng([seed, DATA_STREAM])
        slope = rng.normal(size=settings.features)
        slope /= np.sqrt(np.mean(slope**2))
        centres = rng.normal(size=(agents, 1, settings.features))
        inputs = np.empty((agents, settings.examples, settings.features), np.float32)
        clean = np.empty((agents, settings.examples))
        for begin in range(0, agents, BLOCK):
            rows = slice(begin, min(begin + BLOCK, agents))
            around = settings.heterogeneity * centres[rows]
            block = around + rng.normal(size=(len(around), settings.examples, settings.features))
            inputs[rows], clean[rows] = block, block @ slope
        targets = clean + settings.noise_std * rng.normal(size=clean.shape)
        return LocalData(jnp.asarray(inputs), jnp.asarray(targets, jnp.float32), jnp.ones(clean.shape))

    def quadratics(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """A_k and b_k of every agent, for the exact laws of small networks."""
        settings = self.config.problem
        return quadratic_potentials(self.data(seed), settings.noise_std, settings.prior_scale)

    def _posterior(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The true mean and covariance."""
        settings = self.config.problem
        precision, linear = pooled_quadratic(self.data(seed), settings.noise_std, settings.prior_scale)
        return gaussian_posterior(precision[None], linear[None])

    def observer(self, seed: int, is_sampler: bool) -> MomentObserver:
        return MomentObserver(self.model.num_params, jnp.asarray(self.shown))

    def typical_rms(self, seed: int) -> tuple[float, str]:
        mean, cov = self.posterior(seed)
        return float(np.sqrt(np.mean(mean**2 + np.diag(cov)))), "a draw from the exact posterior"

    def glimpse(self, seeds: list[int], tracker: MomentTracker) -> dict[str, np.ndarray]:
        """W2 to the posterior so far, of a single agent; NaN before there are two samples."""
        rows, params = tracker.agents.average.rounded.shape[-2:]
        if len(seeds) * rows * params**3 > MAX_GLIMPSE:
            return {}
        found = np.full(len(seeds), np.nan)
        for index, seed in enumerate(seeds):
            mine: RunningMoments = jax.tree.map(lambda leaf, index=index: np.asarray(leaf[index]), tracker.agents)
            if np.min(mine.average.count) < 2:
                continue
            # Of a cell that diverges these are not finite, or nonsense: no reason to stop the others.
            with np.errstate(all="ignore"), contextlib.suppress(AirbayesError):
                mean, cov = _pool_chains(mine)
                found[index] = np.mean(w2_gaussians(mean, cov, *self.posterior(seed)))
        return {"w2_agent": found}

    def finish(self, outcome: Outcome) -> Metrics:
        """Distances of the sampled moments to the true posterior and, where known, to the sampler's own exact law."""
        pooled = [_pool_chains(part) for part in (outcome.tracker.agents, outcome.tracker.network)]
        mean, cov = (np.concatenate(parts) for parts in zip(*pooled, strict=True))
        agents, params = len(mean) - 1, mean.shape[1]  # the shown ones, and the average after them
        law = outcome.law
        true_mean, true_cov = self.posterior(outcome.seed)
        w2 = w2_gaussians(mean, cov, true_mean, true_cov)
        mean_error = np.sqrt(np.sum((mean - true_mean) ** 2, axis=-1))
        cov_error = np.linalg.norm(cov - true_cov, axis=(-2, -1)) / np.linalg.norm(true_cov)
        scalars = {
            "w2_agent": float(np.mean(w2[:agents])),
            "w2_network": float(w2[agents]),
            "mean_error_agent": float(np.mean(mean_error[:agents])),
            "mean_error_network": float(mean_error[agents]),
            "cov_error_agent": float(np.mean(cov_error[:agents])),
            "cov_error_network": float(cov_error[agents]),
        }
        if law is not None and law.spectral_radius < 1:  # an unstable chain has no stationary law to compare with
            stationary = law.stationary
            laws = [agent_law(*stationary, k, params) for k in range(agents)]
            laws.append(average_law(*stationary, agents, params))
            exact_mean, exact_cov = (np.stack(part) for part in zip(*laws, strict=True))
            to_law = w2_gaussians(mean, cov, exact_mean, exact_cov)
            bias = w2_gaussians(exact_mean, exact_cov, true_mean, true_cov)
            scalars |= {
                "w2_agent_to_law": float(np.mean(to_law[:agents])),
                "w2_network_to_law": float(to_law[agents]),
                "w2_agent_predicted": float(np.mean(bias[:agents])),
                "w2_network_predicted": float(bias[agents]),
            }
        arrays = {
            "sampled_mean": (("agent", "param"), mean[:agents]),
            "sampled_cov": (("agent", "param", "param2"), cov[:agents]),
            "network_mean": (("param",), mean[agents]),
            "network_cov": (("param", "param2"), cov[agents]),
            "posterior_mean": (("param",), true_mean),
            "posterior_cov": (("param", "param2"), true_cov),
        }
        return Metrics(scalars, {"w2": w2[:agents]}, arrays)


def _pool_chains(tracker: RunningMoments) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance [agent, ...] over all chains, which have equal counts, in float64."""
    count = np.asarray(tracker.average.count, np.float64)[:, None, None]
    means = np.asarray(tracker.average.rounded, np.float64) + np.asarray(tracker.average.remainder, np.float64)
    spread = np.asarray(tracker.spread.rounded, np.float64) + np.asarray(tracker.spread.remainder, np.float64)
    mean = means.mean(axis=0)
    gaps = means - mean
    scatter = spread.mean(axis=0) + np.einsum("cki,ckj->kij", gaps, gaps) / len(gaps)
    total = count.sum()
    return mean, scatter * total / max(total - 1, 1)
