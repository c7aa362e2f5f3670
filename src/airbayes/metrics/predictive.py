"""Means kept on the device while a chain runs, so that no trajectory is stored.

    m_n = m_{n−1} + (x_n − m_{n−1})/n

In float32 the increment falls below half a unit in the last place of m once |x − m| < n·6e-8·|m| (0.003 at
n = 10^5 and m = 0.5), and m stops moving. So the part of each increment that rounding cut off is carried
along (Kahan): the mean is m + r with r the remainder, and its error does not grow with n.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from airbayes.errors import AirbayesError
from airbayes.metrics.uncertainty import mutual_information_from_means, predictive_entropy


class RunningMean(eqx.Module):
    """The mean of the arrays seen so far; zero before the first."""

    rounded: Float[Array, "*shape"]  # m
    remainder: Float[Array, "*shape"]  # r
    count: Int[Array, ""]  # n

    @staticmethod
    def empty(shape: tuple[int, ...]) -> "RunningMean":
        return RunningMean(jnp.zeros(shape), jnp.zeros(shape), jnp.zeros((), jnp.int32))

    def mean(self) -> Float[Array, "*shape"]:
        return self.rounded + self.remainder

    def update(self, value: Float[Array, "*shape"]) -> "RunningMean":
        if jnp.shape(value) != self.rounded.shape:
            raise AirbayesError(
                f"This mean was made for shape {list(self.rounded.shape)}, got {list(jnp.shape(value))}. Make it with "
                f"empty({jnp.shape(value)}), or give one value at a time."
            )
        count = self.count + 1
        return self._add(((value - self.rounded) - self.remainder) / count, count)

    def combine(self, other: "RunningMean") -> "RunningMean":
        """The mean of both streams together."""
        count = self.count + other.count
        share = other.count / jnp.maximum(count, 1)
        difference = (other.rounded - self.rounded) + (other.remainder - self.remainder)
        return self._add(share * difference, count)

    def _add(self, increment: Float[Array, "*shape"], count: Int[Array, ""]) -> "RunningMean":
        total = self.remainder + increment
        rounded = self.rounded + total
        return RunningMean(rounded, total - (rounded - self.rounded), count)


class RunningPredictive(eqx.Module):
    """The Bayesian predictive mean_s p(y | x, θ_s) of every example, and the mean entropy of its terms."""

    probabilities: RunningMean  # [*batch, example, cls]
    entropy: RunningMean  # [*batch, example], nats

    @staticmethod
    def empty(shape: tuple[int, ...]) -> "RunningPredictive":
        """Nothing seen yet; `shape` is that of the probabilities, e.g. (agent, example, cls)."""
        return RunningPredictive(RunningMean.empty(shape), RunningMean.empty(shape[:-1]))

    @property
    def count(self) -> Int[Array, ""]:
        """The number S of samples seen."""
        return self.probabilities.count

    def update(self, probabilities: Float[Array, "*batch cls"]) -> "RunningPredictive":
        """Take in the predictions of one more sample."""
        entropy = predictive_entropy(probabilities)
        return RunningPredictive(self.probabilities.update(probabilities), self.entropy.update(entropy))

    def update_log(self, log_probabilities: Float[Array, "*batch cls"]) -> "RunningPredictive":
        """The same from normalised log-probabilities (log_softmax)."""
        return self.update(jnp.exp(log_probabilities))

    def mean(self) -> Float[Array, "*batch cls"]:
        """The predictive probabilities; NaN before the first sample, when there is no prediction."""
        return jnp.where(self.count > 0, self.probabilities.mean(), jnp.nan)

    def mutual_information(self) -> Float[Array, "*batch"]:
        """Between the label and θ, nats; NaN before the first sample."""
        return mutual_information_from_means(self.mean(), self.entropy.mean())


class RunningMoments(eqx.Module):
    """Mean and covariance of vectors [*batch, dim]; each leading index is a stream of its own.

        δ = x_n − m_{n−1}      S_n = S_{n−1} + ((n−1)/n · δδᵀ − S_{n−1})/n      (Welford, S = scatter/n)

    Never NaN: before the first vector the mean is zero, before the second the covariance is zero.
    """

    average: RunningMean  # m, [*batch, dim]
    spread: RunningMean  # S, [*batch, dim, dim]

    @staticmethod
    def empty(shape: tuple[int, ...]) -> "RunningMoments":
        """Nothing seen yet; `shape` is that of the vectors, e.g. (agent, param)."""
        return RunningMoments(RunningMean.empty(shape), RunningMean.empty((*shape, shape[-1])))

    @property
    def count(self) -> Int[Array, ""]:
        return self.average.count

    def update(self, vector: Float[Array, "*batch dim"]) -> "RunningMoments":
        delta = (vector - self.average.rounded) - self.average.remainder
        shrink = self.count / (self.count + 1)  # (n−1)/n
        return RunningMoments(self.average.update(vector), self.spread.update(shrink * _outer(delta)))

    def combine(self, other: "RunningMoments") -> "RunningMoments":
        """Both streams together (Chan): S = (n₁S₁ + n₂S₂)/n + n₁n₂/n² · δδᵀ, δ = m₂ − m₁."""
        average, spread = self.average.combine(other.average), self.spread.combine(other.spread)
        total = jnp.maximum(average.count, 1)
        weight = (self.count / total) * (other.count / total)
        delta = other.average.mean() - self.average.mean()
        return RunningMoments(average, spread._add(weight * _outer(delta), spread.count))

    def mean(self) -> Float[Array, "*batch dim"]:
        return self.average.mean()

    def covariance(self) -> Float[Array, "*batch dim dim"]:
        """The unbiased covariance, scatter/(n − 1); zero while n < 2."""
        return self.spread.mean() * (self.count / jnp.maximum(self.count - 1, 1))


def _outer(vector: Float[Array, "*batch dim"]) -> Float[Array, "*batch dim dim"]:
    return vector[..., :, None] * vector[..., None, :]
