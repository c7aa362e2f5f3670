"""The Gaussian setting of the oracle suite: heterogeneous linear regression over small graphs, and many chains."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from airbayes import network
from airbayes.models import (
    FullGradient,
    GaussianPrior,
    LinearRegression,
    LocalData,
    Posterior,
    quadratic_potentials,
    stack_agents,
)
from airbayes.network import Graph, build_mixing

AGENTS, PARAMS, EXAMPLES = 5, 2, 6
CHAINS = 8192
STEPS = 40
ETA = 0.03
NOISE_STD = 1.5

IRREGULAR = network.from_edges([(0, 1), (0, 2), (1, 2), (1, 3), (3, 4)], name="irregular")
GRAPHS = {
    "full": network.full(AGENTS),
    "star": network.star(AGENTS),
    "ring": network.ring(AGENTS),
    "irregular": IRREGULAR,
}


@functools.cache
def data() -> LocalData:
    """Every agent sees its own slope and its own inputs: heterogeneity makes order and weights visible."""
    rng = np.random.default_rng(7)
    inputs = rng.normal(size=(AGENTS, EXAMPLES, PARAMS))
    slopes = rng.normal(size=(AGENTS, PARAMS)) + np.array([1.5, -1.0])
    targets = np.einsum("khi,ki->kh", inputs, slopes) + NOISE_STD * rng.normal(size=(AGENTS, EXAMPLES))
    return stack_agents(list(inputs.astype(np.float32)), list(targets.astype(np.float32)))


def posterior(num_agents: int = AGENTS) -> Posterior:
    return Posterior(LinearRegression(PARAMS, NOISE_STD).log_likelihood, GaussianPrior(1.0), num_agents)


def gradient(num_agents: int = AGENTS) -> FullGradient:
    return FullGradient(posterior(num_agents))


def quadratics() -> tuple[np.ndarray, np.ndarray]:
    """A_k, b_k of every agent."""
    return quadratic_potentials(data(), NOISE_STD)


def start() -> np.ndarray:
    """A common starting point away from the answer."""
    return np.tile(np.array([[-0.5, 0.8]], np.float32), (AGENTS, 1))


def mixing_of(graph: Graph):
    return build_mixing(graph, "best-constant")


def run_chains(sampler, local: LocalData, theta0: np.ndarray, steps: int = STEPS, chains: int = CHAINS, seed: int = 0):
    """The final state of many independent chains, as the real sampler produces it."""

    def one(key):
        def body(_, state):
            return sampler.step(key, state, local)[0]

        return jax.lax.fori_loop(0, steps, body, sampler.init(jnp.asarray(theta0)))

    return eqx.filter_jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), chains))


def flat_theta(state) -> np.ndarray:
    """[chain, agent·param]."""
    theta = np.asarray(state.theta)
    return theta.reshape(len(theta), -1)
