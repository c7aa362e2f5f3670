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
        draws = (config.sampling.steps - config.sampling.burn_in) // config.sampling.thin
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
        per_chain, (count, accuracy, confidence), confusion = jax.tree.map(
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
            predicted = jax.tree.map(np.asarray, _predictions(observer, tracker, theta))
            predictions = _to_store(self.class_data(outcome.seed), *predicted)
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
    """Scores per chain and agent, the reliability bins, and the confusion matrices."""
    labels = observer.test.labels

    def one_chain(tracker: ClassTracker, theta: Float[Array, "agent param"]):
        last = predict(observer.model, theta, observer.test.inputs)
        used = tracker.predictive.mean() if observer.is_sampler else jnp.exp(last)
        scores = agent_scores(used, labels)
        scores["entropy"] = metrics.mean_over_real(metrics.predictive_entropy(used), labels)
        if observer.is_sampler:
            scores["mutual_information"] = metrics.mean_over_real(tracker.predictive.mutual_information(), labels)
        else:
            assert tracker.average is not None
            scores["mutual_information"] = jnp.zeros(len(theta))  # one model knows nothing of others
            average = predict(observer.model, tracker.average.mean(), observer.test.inputs)
            scores |= agent_scores(jnp.exp(average), labels, "polyak_")
            if observer.validation is not None:
                held_out = predict(observer.model, theta, observer.validation.inputs)
                temperature = jax.vmap(metrics.fit_temperature, (0, None))(held_out, observer.validation.labels)
                tempered = jax.vmap(metrics.temper)(last, temperature)
                scores |= agent_scores(jnp.exp(tempered), labels, "tempered_") | {"temperature": temperature}
        bins = jax.vmap(metrics.reliability_bins, (0, None))(used, labels)
        confusion = jax.vmap(metrics.confusion_matrix, (0, None))(used, labels)
        return scores, (bins.count, bins.accuracy, bins.confidence), confusion

    return eqx.filter_vmap(one_chain)(tracker, theta)


@eqx.filter_jit
def _predictions(observer: PredictiveObserver, tracker: ClassTracker, theta: Float[Array, "chain agent param"]):
    """Probabilities and mutual information on the test and the validation set: first chain, first agent."""
    first = jax.tree.map(lambda leaf: leaf[0], tracker)

    def of_set(labelled: LabelledSet | None, running: metrics.RunningPredictive | None):
        if labelled is None:
            return None
        if not observer.is_sampler:
            return jnp.exp(predict(observer.model, theta[0, :1], labelled.inputs)[0]), jnp.zeros(len(labelled.labels))
        assert running is not None
        return running.mean()[0], running.mutual_information()[0]

    return of_set(observer.test, first.predictive), of_set(observer.validation, first.held_out)


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
