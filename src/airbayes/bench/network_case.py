"""A network of any size on a linear model: CD-DSGLD with one common gain, on a ring or a random geometric graph."""

import math

import jax
import jax.numpy as jnp

from airbayes.bench.loops import CompiledLoop
from airbayes.channel import AWGN
from airbayes.models import FullGradient, GaussianPrior, LinearRegression, LocalData, Posterior
from airbayes.network import AnyMixing, Graph, build_mixing, random_geometric, ring
from airbayes.power import Common
from airbayes.samplers import CDDSGLD

EXAMPLES = 2  # per agent
MEAN_DEGREE = 16  # of the geometric graph, whatever its size: the work of an agent then stays the same
MOST_SLOTS = 64  # a guess at its largest degree, to estimate memory
ETA, SNR_DB = 1e-4, 20.0
GRAPHS = ("ring", "random geometric")


def make_graph(name: str, agents: int) -> Graph:
    if name == "ring":
        return ring(agents)
    return random_geometric(agents, min(1.5, math.sqrt(MEAN_DEGREE / (math.pi * agents))), seed=0)


def make_mixing(graph: Graph) -> AnyMixing:
    """Max-degree weights need no eigenvalues. A few agents at the border may hear nobody; the time is the same."""
    return build_mixing(graph, "max-degree", check=False)


def bytes_expected(agents: int, params: int) -> int:
    """θ, its successor, gradient, noise and mixed sum, the data and the neighbour table, before anything is made."""
    per_agent = 5 * params + 2 * EXAMPLES * params + 3 * MOST_SLOTS
    return 4 * agents * per_agent


def network_loop(mixing: AnyMixing, params: int) -> CompiledLoop:
    """Step after step of the whole network, with what the sampler reports."""
    agents, model = mixing.num_agents, LinearRegression(params)
    gradient = FullGradient(Posterior(model.log_likelihood, GaussianPrior(), agents))
    sampler = CDDSGLD(gradient, mixing, AWGN(SNR_DB), Common(), ETA)

    @jax.jit
    def draw(key):
        keys = jax.random.split(key, 3)
        data = LocalData(
            jax.random.normal(keys[0], (agents, EXAMPLES, params)),
            jax.random.normal(keys[1], (agents, EXAMPLES)),
            jnp.ones((agents, EXAMPLES)),
        )
        return 0.1 * jax.random.normal(keys[2], (agents, params)), data

    theta, data = draw(jax.random.key(0))
    return CompiledLoop(
        lambda step, state, fixed: fixed[0].step(fixed[1], state, fixed[2]),
        sampler.init(theta),
        (sampler, jax.random.key(1), data),
        evolving=True,
    )
