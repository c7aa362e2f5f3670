"""Classification of Gaussian blobs, IID or not over the agents: small enough to try things in seconds."""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np

from airbayes.experiment.class_problem import ClassData, ClassProblem
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.predictive_observer import LabelledSet
from airbayes.experiment.problem import DATA_STREAM
from airbayes.models import SoftmaxRegression, mlp, stack_agents


class BlobProblem(ClassProblem):
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
        self.class_names = tuple(f"blob {index}" for index in range(settings.classes))
        self.draw = lru_cache(self._draw)

    def class_data(self, seed: int) -> ClassData:
        return self.draw(seed)

    def _draw(self, seed: int) -> ClassData:
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
        train = stack_agents([inputs for inputs, _ in local], [labels for _, labels in local])
        return ClassData(train, LabelledSet(jnp.asarray(inputs), jnp.asarray(labels)), None)

    def typical_rms(self, seed: int) -> tuple[float, str]:
        return self.config.problem.prior_scale, "the prior"
