"""Classification: what a method predicts with, and how good and how honest that is.

A sampler predicts with the mean softmax over its kept samples, an optimiser with its last iterate (for Q-DSGD, what
the paper compares with). Remedies of over-confidence that need no sampler stand beside an optimiser: its average
iterate (`polyak_`), the deep ensemble over chains (`ensemble_`), early stopping on the validation set (`early_`), and
temperature scaling (`tempered_`).
"""

import abc
import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from airbayes import metrics
from airbayes.experiment.kept import kept_samples
from airbayes.experiment.prediction_files import CellPredictions, Part
from airbayes.experiment.predictive_observer import (
    ClassTracker,
    LabelledSet,
    PredictiveObserver,
    agent_scores,
    predict,
)
from airbayes.experiment.problem import Metrics, Outcome, Problem
from airbayes.models import Classifier, LocalData

EARLY = ("accuracy", "balanced_accuracy", "ece", "mce", "nll", "brier")


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where the examples of a set come from, padding left out."""

    index: np.ndarray  # i64 [example], row in the data source
    group: np.ndarray  # i32 [example], the physical object


@dataclasses.dataclass(frozen=True)
class ClassData:
    """The data of one seed."""

    train: LocalData  # [agent, example, ...]
    test: LabelledSet
    validation: LabelledSet | None
    test_origin: Origin | None = None  # None: every example is an object of its own
    validation_origin: Origin | None = None


class ClassProblem(Problem):
    """Base of the classification problems: a classifier and, per seed, its data."""

    classifier: Classifier
    class_names: tuple[str, ...]

    @abc.abstractmethod
    def class_data(self, seed: int) -> ClassData:
        """Training, test and validation data; drawn once per seed."""

    def data(self, seed: int) -> LocalData:
        return self.class_data(seed).train

    def observer(self, seed: int, is_sampler: bool) -> PredictiveObserver:
        drawn, config = self.class_data(seed), self.config
        draws = kept_samples(config)
        slots = min(config.saved_samples, draws) if is_sampler else 0  # of an optimiser the last iterate is kept
        return PredictiveObserver(
            self.classifier,
            drawn.test,
            drawn.validation,
            draws,
            slots,
            config.saved_agents,
            is_sampler,
            config.saved_predictions,
        )

    def attributes(self) -> dict[str, str | int]:
        return {"num_classes": len(self.class_names), "class_names": "\n".join(self.class_names)}

    def finish(self, outcome: Outcome) -> Metrics:
        """Scores of what the method predicts with; chains are averaged, except where they make an ensemble."""
        observer = self.observer(outcome.seed, outcome.is_sampler)
        # From the host: as numpy arrays filter_vmap would not map over them.
        tracker, theta = jax.tree.map(jnp.asarray, (outcome.tracker, outcome.theta))
        per_chain, (count, accuracy, confidence), confusion, predicted = jax.tree.map(
            np.asarray, _scores(observer, tracker, theta)
        )
        per_agent = {name: values.mean(axis=0) for name, values in per_chain.items()}
        if not outcome.is_sampler:
            per_agent |= _early_stopped(outcome.history)
        if len(theta) > 1:
            per_agent |= jax.tree.map(np.asarray, _ensemble(observer, tracker, theta))
        scalars = {name: float(values.mean()) for name, values in per_agent.items()}
        bins = _bin_arrays(count, accuracy, confidence, confusion)
        predictions = None
        if self.config.saved_predictions:
            first = jax.tree.map(lambda leaf: leaf[0], predicted)
            predictions = _to_store(self.class_data(outcome.seed), *first)
        return Metrics(scalars, per_agent, bins, self._samples(outcome), predictions)

    def _samples(self, outcome: Outcome) -> np.ndarray | None:
        """θ to predict with later, of the first chain."""
        if not self.config.saved_samples:
            return None
        if outcome.is_sampler:
            return np.asarray(outcome.tracker.samples[0])
        return np.asarray(outcome.theta[:1, : self.config.saved_agents])


@eqx.filter_jit
def _scores(observer: PredictiveObserver, tracker: ClassTracker, theta: Float[Array, "chain agent param"]):
    """Scores per chain and agent, reliability bins, confusion matrices, and what the first agent of each chain predicts
    (probabilities and mutual information on the test and the validation set)."""
    labels, validation = observer.test.labels, observer.validation

    def of_sampler(tracker: ClassTracker, theta: Float[Array, "agent param"]):
        used, information = tracker.predictive.mean(), tracker.predictive.mutual_information()
        held_out = tracker.held_out
        unseen = None if held_out is None else (held_out.mean()[0], held_out.mutual_information()[0])
        scores = {"mutual_information": metrics.mean_over_real(information, labels)}
        return used, scores, ((used[0], information[0]), unseen)

    def of_optimiser(tracker: ClassTracker, theta: Float[Array, "agent param"]):
        assert tracker.average is not None
        agents, count = len(theta), len(labels)
        sets = [observer.test] if validation is None else [observer.test, validation]
        # Both models and both sets in one go: the network is compiled once.
        models = jnp.concatenate([theta, tracker.average.mean()])
        log_probs = predict(observer.model, models, jnp.concatenate([each.inputs for each in sets]))
        last, held_out = log_probs[:agents, :count], log_probs[:agents, count:]
        scores = agent_scores(jnp.exp(log_probs[agents:, :count]), labels, "polyak_")
        scores["mutual_information"] = jnp.zeros(agents)  # one model knows nothing of others
        unseen = None
        if validation is not None:
            temperature = jax.vmap(metrics.fit_temperature, (0, None))(held_out, validation.labels)
            tempered = jax.vmap(metrics.temper)(last, temperature)
            scores |= agent_scores(jnp.exp(tempered), labels, "tempered_") | {"temperature": temperature}
            unseen = jnp.exp(held_out[0]), jnp.zeros(len(validation.labels))
        return jnp.exp(last), scores, ((jnp.exp(last[0]), jnp.zeros(count)), unseen)

    def one_chain(tracker: ClassTracker, theta: Float[Array, "agent param"]):
        used, scores, predicted = (of_sampler if observer.is_sampler else of_optimiser)(tracker, theta)
        scores |= agent_scores(used, labels)
        scores["entropy"] = metrics.mean_over_real(metrics.predictive_entropy(used), labels)
        bins = jax.vmap(metrics.reliability_bins, (0, None))(used, labels)
        confusion = jax.vmap(metrics.confusion_matrix, (0, None))(used, labels)
        return scores, (bins.count, bins.accuracy, bins.confidence), confusion, predicted

    return eqx.filter_vmap(one_chain)(tracker, theta)


def _to_store(drawn: ClassData, test: tuple, validation: tuple | None) -> CellPredictions:
    def part(labelled: LabelledSet, origin: Origin | None, found: tuple) -> Part:
        labels = np.asarray(labelled.labels, np.int32)
        real = labels >= 0
        count = int(real.sum())
        origin = origin or Origin(np.arange(count), np.arange(count, dtype=np.int32))
        return Part(found[0][real], labels[real], found[1][real], origin.index, origin.group)

    held_out = None
    if drawn.validation is not None and validation is not None:
        held_out = part(drawn.validation, drawn.validation_origin, validation)
    return CellPredictions(part(drawn.test, drawn.test_origin, test), held_out)


@eqx.filter_jit
def _ensemble(observer: PredictiveObserver, tracker: ClassTracker, theta: Float[Array, "chain agent param"]):
    """All chains together: independent starts on the same data, a deep ensemble where the method optimises."""
    if observer.is_sampler:
        members = eqx.filter_vmap(lambda each: each.predictive.mean())(tracker)
    else:
        members = jnp.exp(jax.vmap(lambda each: predict(observer.model, each, observer.test.inputs))(theta))
    return agent_scores(members.mean(axis=0), observer.test.labels, "ensemble_")


def _early_stopped(history: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Each agent at its own step of least validation NLL, among the evaluated ones."""
    if "validation_nll" not in history:
        return {}
    seen = np.isfinite(history["validation_nll"])
    best = np.argmin(np.where(seen, history["validation_nll"], np.inf), axis=0)
    agents = np.arange(seen.shape[1])
    return {
        f"early_{name}": np.where(seen.any(axis=0), history[f"sample_{name}"][best, agents], np.nan) for name in EARLY
    }


def _bin_arrays(
    count: np.ndarray, accuracy: np.ndarray, confidence: np.ndarray, confusion: np.ndarray
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Reliability bins pooled over chains (leading axis); an empty bin is NaN."""
    total = count.sum(axis=0)

    def pooled(values: np.ndarray) -> np.ndarray:
        share = np.nansum(count * values, axis=0) / np.maximum(total, 1)
        return np.where(total > 0, share, np.nan)

    return {
        "bin_count": (("agent", "bin"), total / len(count)),
        "bin_accuracy": (("agent", "bin"), pooled(accuracy)),
        "bin_confidence": (("agent", "bin"), pooled(confidence)),
        "confusion": (("agent", "label", "predicted"), confusion.mean(axis=0)),
    }
