"""Looks at a classifier while it is sampled: predictive mean, average iterate, a few samples to keep.

Every agent averages its own softmax over its kept samples; one sample is not the predictive.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from airbayes import metrics
from airbayes.experiment.problem import Observer, state_metrics
from airbayes.metrics import RunningMean, RunningPredictive
from airbayes.models import Classifier

BLOCK = 240  # test examples that go through the network together: activations stay small


class LabelledSet(eqx.Module):
    inputs: Float[Array, "..."]  # [example, ...]
    labels: Int[Array, "*cell example"]  # negative: padding


class ClassTracker(eqx.Module):
    predictive: RunningPredictive  # on the test set, [agent, example, cls]
    average: RunningMean | None  # the mean iterate θ̄ (Polyak), [agent, param]; of optimisers
    samples: Float[Array, "... slot saved param"]  # spread over the kept samples, for prediction later
    held_out: RunningPredictive | None  # of the first agent on the validation set, [1, example, cls]; of samplers


class PredictiveObserver(Observer):
    model: Classifier
    test: LabelledSet
    validation: LabelledSet | None
    draws: int = eqx.field(static=True)  # samples that will be kept
    slots: int = eqx.field(static=True)  # of them stored
    saved_agents: int = eqx.field(static=True)
    is_sampler: bool = eqx.field(static=True)
    keeps_held_out: bool = eqx.field(static=True)  # predictions for the validation set, to be stored

    def empty(self, num_agents: int) -> ClassTracker:
        params = self.model.num_params
        return ClassTracker(
            RunningPredictive.empty((num_agents, len(self.test.labels), self.model.num_classes)),
            None if self.is_sampler else RunningMean.empty((num_agents, params)),
            jnp.zeros((self.slots, min(self.saved_agents, num_agents), params)),
            self._no_held_out(),
        )

    def _no_held_out(self) -> RunningPredictive | None:
        if self.validation is None or not (self.is_sampler and self.keeps_held_out):
            return None
        return RunningPredictive.empty((1, len(self.validation.labels), self.model.num_classes))

    def quantities(self, num_agents: int) -> int:
        return num_agents

    def update(
        self, tracker: ClassTracker, theta: Float[Array, "agent param"]
    ) -> tuple[ClassTracker, Float[Array, " agent"]]:
        """Monitored is the mean test log-likelihood of each agent, from the same predictions."""
        log_probs = predict(self.model, theta, self.test.inputs)
        samples = tracker.samples
        if self.slots:
            # A slot keeps the last sample of its stretch, so the last slot keeps the last sample of all.
            slot = tracker.predictive.count * self.slots // self.draws
            samples = samples.at[slot].set(theta[: samples.shape[1]])
        held_out = tracker.held_out
        if held_out is not None:
            assert self.validation is not None
            held_out = held_out.update_log(predict(self.model, theta[:1], self.validation.inputs))
        seen = ClassTracker(
            tracker.predictive.update_log(log_probs),
            None if tracker.average is None else tracker.average.update(theta),
            samples,
            held_out,
        )
        return seen, -jax.vmap(metrics.nll_from_log, (0, None))(log_probs, self.test.labels)

    def snapshot(self, tracker: ClassTracker, theta: Float[Array, "agent param"]) -> dict[str, Float[Array, " agent"]]:
        """`sample_` of the current θ alone, `mean_` of the predictive mean so far, `validation_` for early stopping."""
        count = len(self.test.labels)
        sets = [self.test] if self.validation is None else [self.test, self.validation]
        # Both sets in one go: the network is compiled once.
        log_probs = predict(self.model, theta, jnp.concatenate([each.inputs for each in sets]))
        out = state_metrics(theta) | agent_scores(jnp.exp(log_probs[:, :count]), self.test.labels, "sample_")
        out |= agent_scores(tracker.predictive.mean(), self.test.labels, "mean_")
        if self.validation is not None:
            held_out = jax.vmap(metrics.nll_from_log, (0, None))
            out["validation_nll"] = held_out(log_probs[:, count:], self.validation.labels)
        return out


def predict(
    model: Classifier, theta: Float[Array, "agent param"], inputs: Float[Array, "example ..."]
) -> Float[Array, "agent example cls"]:
    """log p(y | x, θ_k) of every agent, a block of examples at a time."""
    count = len(inputs)
    blocks = -(-count // BLOCK)
    if blocks == 1:
        return jax.vmap(model.log_probs, (0, None))(theta, inputs)
    padded = jnp.pad(inputs, [(0, blocks * BLOCK - count)] + [(0, 0)] * (inputs.ndim - 1))
    one_block = lambda block: jax.vmap(model.log_probs, (0, None))(theta, block)  # noqa: E731
    out = jax.lax.map(one_block, padded.reshape(blocks, BLOCK, *inputs.shape[1:]))
    return jnp.moveaxis(out, 0, 1).reshape(len(theta), blocks * BLOCK, -1)[:, :count]


def agent_scores(
    probabilities: Float[Array, "agent example cls"], labels: Int[Array, " example"], prefix: str = ""
) -> dict[str, Float[Array, " agent"]]:
    """Accuracy, calibration and proper scores of every agent; NLL and Brier always stand beside ECE."""
    named = {
        "accuracy": metrics.accuracy,
        "balanced_accuracy": metrics.balanced_accuracy,
        "ece": metrics.ece,
        "mce": metrics.mce,
        "nll": metrics.nll,
        "brier": metrics.brier,
    }
    return {prefix + name: jax.vmap(score, (0, None))(probabilities, labels) for name, score in named.items()}
