"""The paper's PointNet with made-up clouds: agents × clouds × points, for one or many cells."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from airbayes.bench.loops import CompiledLoop, over_cells
from airbayes.models import FullGradient, GaussianPrior, LocalData, PointNetClassifier, Posterior, pointnet

START_SPREAD = 0.05  # around θ⁰: the T-Nets leave the identity, so that every layer has a gradient


@dataclasses.dataclass(frozen=True)
class PointNetCase:
    """What a step of an experiment works on; every array has a leading cell axis."""

    model: PointNetClassifier
    gradient: FullGradient
    theta: Float[Array, "cell agent param"]
    data: LocalData  # [cell, agent, cloud, ...]

    @property
    def cells(self) -> int:
        return self.theta.shape[0]

    @functools.cached_property
    def gradient_loop(self) -> CompiledLoop:
        """∇f_k of all agents and cells, as an experiment computes it; compiled once for all sections."""

        def part(step, theta, data):
            return jax.vmap(lambda theta, data: self.gradient(None, theta, data))(theta, data)

        return CompiledLoop(part, self.theta, self.data)


@functools.lru_cache(maxsize=4)
def make_case(agents: int, clouds: int, points: int, cells: int = 1, seed: int = 0) -> PointNetCase:
    """Clouds and labels do not matter to the time: points are normal, classes uniform."""
    model = pointnet()
    keys = jax.random.split(jax.random.key(seed), 3)
    theta, data = _one_cell(model, keys, agents, clouds, points)
    gradient = FullGradient(Posterior(model.log_likelihood, GaussianPrior(), agents))
    return PointNetCase(model, gradient, over_cells(theta, cells), over_cells(data, cells))


@eqx.filter_jit
def _one_cell(
    model: PointNetClassifier, keys: Key[Array, "3"], agents: int, clouds: int, points: int
) -> tuple[Float[Array, "agent param"], LocalData]:
    start = model.init(keys[0])
    theta = start + START_SPREAD * jax.random.normal(keys[0], (agents, model.num_params))
    inputs = jax.random.normal(keys[1], (agents, clouds, points, 3))
    labels = jax.random.randint(keys[2], (agents, clouds), 0, model.num_classes)
    return theta, LocalData(inputs, labels, jnp.ones((agents, clouds)))
