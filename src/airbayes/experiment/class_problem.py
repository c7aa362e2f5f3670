"""Classification of Gaussian blobs, IID or not over the agents: accuracy and calibration of the predictive."""

from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from airbayes import metrics
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.problem import DATA_STREAM, Metrics, Observer, Problem, state_metrics
from airbayes.metrics import RunningPredictive
from airbayes.models import Classifier, LocalData, SoftmaxRegression, mlp, stack_agents
from airbayes.samplers.exact import AffineLaw


class PredictiveObserver(Observer):
    """Every agent averages its own softmax over its kept samples; one sample is not the predictive."""

    model: Classifier
    inputs: Float[Array, "example ..."]
    labels: Int[Array, " example"]

    def empty(self, num_agents: int) -> RunningPredictive:
        return RunningPredictive.empty((num_agents, len(self.labels), self.model.num_classes))

    def log_probs(self, theta: Float[Array, "agent param"]) -> Float[Array, "agent example cls"]:
        return jax.vmap(self.model.log_probs, (0, None))(theta, self.inputs)

    def update(self, tracker: RunningPredictive, theta: Float[Array, "agent param"]) -> RunningPredictive:
        return tracker.update_log(self.log_probs(theta))

    def monitor(self, theta: Float[Array, "agent param"]) -> Float[Array, " quantity"]:
        """The mean test log-likelihood of each agent."""
        picked = jnp.take_along_axis(self.log_probs(theta), self.labels[None, :, None], axis=2)
        return picked[..., 0].mean(axis=1)

    def snapshot(self, theta: Float[Array, "agent param"]) -> dict[str, Float[Array, " agent"]]:
        return state_metrics(theta) | agent_scores(jnp.exp(self.log_probs(theta)), self.labels, "sample_")


def agent_scores(
    probabilities: Float[Array, "agent example cls"], labels: Int[Array, " example"], prefix: str = ""
) -> dict[str, Float[Array, " agent"]]:
    """Accuracy, calibration and proper scores of every agent; NLL and Brier always stand beside ECE."""
    named = {
        "accuracy": metrics.accuracy,
        "ece": metrics.ece,
        "mce": metrics.mce,
        "nll": metrics.nll,
        "brier": metrics.brier,
    }
    return {prefix + name: jax.vmap(score, (0, None))(probabilities, labels) for name, score in named.items()}


@eqx.filter_jit
def _scores(observer: PredictiveObserver, tracker: RunningPredictive, theta: Float[Array, "chain agent param"]):
    """Scores per chain and agent, and the reliability bins."""

    def one_chain(tracker, theta):
        mean = tracker.mean()
        bins = jax.vmap(metrics.reliability_bins, (0, None))(mean, observer.labels)
        per_agent = agent_scores(mean, observer.labels)
        per_agent |= agent_scores(jnp.exp(observer.log_probs(theta)), observer.labels, "last_")
        per_agent["entropy"] = metrics.predictive_entropy(mean).mean(axis=-1)
        per_agent["mutual_information"] = tracker.mutual_information().mean(axis=-1)
        return per_agent, (bins.count, bins.accuracy, bins.confidence)

    # The trackers come from the host; as numpy arrays filter_vmap would not map over them.
    return eqx.filter_vmap(one_chain)(jax.tree.map(jnp.asarray, tracker), theta)


class ClassProblem(Problem):
    """Blobs of width σ around random class centres; agents see them shifted by their own `heterogeneity`."""

    def __init__(self, config: ExperimentConfig):
        self.config = config
        self.num_agents = config.network.agents
        settings = config.problem
        self.model = self.classifier = (
            SoftmaxRegression(settings.features, settings.classes)
            if settings.kind == "softmax"
            else mlp(settings.features, settings.classes, settings.width, settings.depth)
        )
        self.draw = lru_cache(self._draw)

    def _draw(self, seed: int) -> tuple[LocalData, np.ndarray, np.ndarray]:
        settings, agents = self.config.problem, self.num_agents
        rng = np.random.default_rng([seed, DATA_STREAM])
        centres = rng.normal(size=(settings.classes, settings.features))

        def blobs(count: int, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            labels = rng.permutation(np.arange(count) % settings.classes)
            noise = settings.noise_std * rng.normal(size=(count, settings.features))
            return (centres[labels] + shift + noise).astype(np.float32), labels.astype(np.int32)

        shifts = settings.heterogeneity * settings.noise_std * rng.normal(size=(agents, settings.features))
        local = [blobs(settings.examples, shift) for shift in shifts]
        # The test set is what the whole network meets: every agent's shift in turn.
        owner = rng.integers(agents, size=settings.test_examples)
        inputs, labels = blobs(settings.test_examples, shifts[owner])
        data = stack_agents([inputs for inputs, _ in local], [labels for _, labels in local])
        return data, inputs, labels

    def data(self, seed: int) -> LocalData:
        return self.draw(seed)[0]

    def observer(self, seed: int) -> PredictiveObserver:
        _, inputs, labels = self.draw(seed)
        return PredictiveObserver(self.classifier, jnp.asarray(inputs), jnp.asarray(labels))

    def typical_rms(self, seed: int) -> tuple[float, str]:
        return self.config.problem.prior_scale, "the prior"

    def finish(self, seed: int, tracker: RunningPredictive, theta: np.ndarray, law: AffineLaw | None) -> Metrics:
        """Scores of the predictive mean over kept samples, and of the last sample alone; chains are averaged."""
        observer = self.observer(seed)

        per_chain, (count, accuracy, confidence) = jax.tree.map(
            np.asarray, _scores(observer, tracker, jnp.asarray(theta))
        )
        per_agent = {name: values.mean(axis=0) for name, values in per_chain.items()}
        total = count.sum(axis=0)  # over chains; an empty bin is NaN

        def pooled(values: np.ndarray) -> np.ndarray:
            share = np.nansum(count * values, axis=0) / np.maximum(total, 1)
            return np.where(total > 0, share, np.nan)

        arrays = {
            "bin_count": (("agent", "bin"), total / len(count)),
            "bin_accuracy": (("agent", "bin"), pooled(accuracy)),
            "bin_confidence": (("agent", "bin"), pooled(confidence)),
        }
        scalars = {name: float(values.mean()) for name, values in per_agent.items()}
        return Metrics(scalars, per_agent, arrays)
