"""Parts of your own for airbayes: a graph, a channel, a power policy and a sampler, in one study that runs as it is.

    python NAME_parts.py

Change what you need and delete the rest: any part can be replaced by one of the package (docs/plugins.md has the rules
and more kinds of parts). Arrays are float32; functions are traced by JAX, so no Python `if` on their values; draw noise
only from the keys you are given, row k from key k.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from airbayes import models, network
from airbayes.channel import AWGN, Channel, db_to_linear
from airbayes.keys import Purpose, agent_keys, normal_rows
from airbayes.network import AnyMixing, mix
from airbayes.power import Gains, PowerPolicy, check_policy
from airbayes.samplers import CDDSGLD, Sampler, State
from airbayes.samplers.dsgld import dsgld_update

AGENTS, PARAMS, EXAMPLES = 6, 3, 20


def my_graph() -> network.Graph:
    """Who hears whom: two triangles joined by a bridge. Also from_csv, from_networkx, from_adjacency."""
    return network.from_edges([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)], AGENTS, "two triangles")


class MyChannel(Channel):
    """Receiver noise that is Laplace instead of Gaussian, of the same variance N0."""

    power: Float[Array, ""]  # P, linear
    noise_power: Float[Array, ""]  # N0, linear

    def __init__(self, snr_db: float, power: float = 1.0):
        self.power = jnp.asarray(power, jnp.float32)
        self.noise_power = jnp.asarray(power / db_to_linear(snr_db), jnp.float32)

    def noise(self, keys, num_params: int):
        scale = jnp.sqrt(self.noise_power / 2)  # a Laplace variable of this scale has variance N0
        return scale * jax.vmap(lambda key: jax.random.laplace(key, (num_params,)))(keys)

    def gain_error(self, keys, num_slots: int):
        # Exact links. Otherwise ε_kj of y_k = Σ_j A_kj (1 + ε_kj) x_j + z_k, [agent, slot]: the gain of the link from
        # neighbour j, minus one, drawn by receiver k from its key.
        return None


class MyPolicy(PowerPolicy):
    """One gain for all, kept 1 dB below what the weakest agent can afford."""

    needs_common_neighbours = False

    def __call__(self, theta, caps, common_neighbours=None):
        rho = jnp.full_like(caps, jnp.minimum(1.0, 0.89 * jnp.min(caps)))
        return Gains(rho, rho)  # the self term shrinks alike, so that rows sum to one


class MySampler(Sampler[State]):
    """DSGLD that talks only every `period` steps."""

    gradient: Callable
    mixing: AnyMixing
    eta: Float[Array, ""] = eqx.field(converter=lambda value: jnp.asarray(value, jnp.float32))
    period: int = eqx.field(static=True, default=5)

    def init(self, theta):
        return State(theta, jnp.zeros((), jnp.int32))

    def step(self, key, state, data):
        agents, params = state.theta.shape
        grad = self.gradient(agent_keys(key, state.step, Purpose.BATCH, agents), state.theta, data)
        xi = normal_rows(agent_keys(key, state.step, Purpose.LANGEVIN, agents), params)
        talks = state.step % self.period == 0
        mixed = jnp.where(talks, mix(state.theta, self.mixing), state.theta)
        theta = dsgld_update(mixed, grad, xi, self.eta)
        return State(theta, state.step + 1), {"talks": jnp.full((agents,), talks, jnp.float32)}


def my_data() -> tuple[models.LocalData, np.ndarray]:
    """Every agent's own examples of one linear relation, and the truth. Put your data here."""
    rng = np.random.default_rng(0)
    truth = np.array([1.0, -2.0, 0.5])
    inputs = rng.normal(size=(AGENTS, EXAMPLES, PARAMS)).astype(np.float32)
    targets = (inputs @ truth + rng.normal(size=(AGENTS, EXAMPLES))).astype(np.float32)
    return models.stack_agents(list(inputs), list(targets)), truth


def run(sampler: Sampler, data: models.LocalData, steps: int = 3000, burn_in: int = 1000) -> np.ndarray:
    """Samples after burn-in, [step, agent, param]."""
    key = jax.random.key(0)  # the same at every step: samplers fold the step in

    def one_step(state, _):
        state, _ = sampler.step(key, state, data)
        return state, state.theta

    start = sampler.init(jnp.zeros((AGENTS, PARAMS)))
    thetas = eqx.filter_jit(lambda: jax.lax.scan(one_step, start, length=steps)[1])()
    return np.asarray(thetas[burn_in:])


def main() -> dict[str, np.ndarray]:
    """The mean of every scheme's samples, over steps and agents, beside the exact posterior mean."""
    data, truth = my_data()
    potential = models.Posterior(models.LinearRegression(PARAMS).log_likelihood, models.GaussianPrior(), AGENTS)
    gradient, mixing = models.FullGradient(potential), network.build_mixing(my_graph())
    check_policy(MyPolicy(), AGENTS)  # no step checks that gains stay within the power limit
    samplers: dict[str, Sampler] = {
        "my channel, my policy": CDDSGLD(gradient, mixing, MyChannel(20.0), MyPolicy(), step_size=1e-3),
        "Gaussian noise, my policy": CDDSGLD(gradient, mixing, AWGN(20.0), MyPolicy(), step_size=1e-3),
        "my sampler, ideal links": MySampler(gradient, mixing, jnp.float32(1e-3)),
    }
    means = {name: run(sampler, data).mean(axis=(0, 1)) for name, sampler in samplers.items()}
    exact, _ = models.gaussian_posterior(*models.quadratic_potentials(data, 1.0))
    means |= {"exact posterior": exact, "truth": truth}
    for name, mean in means.items():
        print(f"{name:28}", np.round(mean, 3))
    return means


if __name__ == "__main__":
    main()
