"""Your own channel, power policy, graph, potential and compressor, without touching the package.

An urban channel: AWGN plus, now and then, a strong burst of interference at one receiver. Does CD-DSGLD still sample?
"""

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
from jaxtyping import Array, Float, Int, Key

from airbayes import network
from airbayes.channel import AWGN, Channel
from airbayes.compress import CompressInfo, Compressor
from airbayes.keys import normal_rows
from airbayes.models import FullGradient
from airbayes.power import Gains, PowerPolicy, Truncated
from airbayes.samplers import CDDSGLD, QDSGD


class BurstyChannel(Channel):
    """AWGN of power N0; with probability p a receiver's whole block is hit by noise 100 times as strong."""

    power: Float[Array, ""]
    noise_power: Float[Array, ""]
    burst_probability: float

    def noise(self, keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
        hit = jax.vmap(lambda key: jax.random.bernoulli(jax.random.fold_in(key, 1), self.burst_probability))(keys)
        scale = jnp.sqrt(self.noise_power * jnp.where(hit, 100.0, 1.0))
        return scale[:, None] * normal_rows(keys, num_params)

    def gain_error(self, keys: Key[Array, " agent"], num_slots: int) -> None:
        return None


class HalfPower(PowerPolicy):
    """Everybody stays 3 dB below the limit, to spare the battery."""

    needs_common_neighbours = False

    def __call__(self, theta, caps, common_neighbours=None) -> Gains:
        rho = jnp.minimum(1.0, caps / jnp.sqrt(2.0))
        return Gains(rho, jnp.ones_like(rho))


class SignOnly(Compressor):
    """Send only the signs, with one common magnitude: one bit a coordinate, whatever t."""

    def __call__(
        self, key: Key[Array, ""], values: Float[Array, " param"], t: Int[Array, ""] | int
    ) -> tuple[Float[Array, " param"], CompressInfo]:
        scale = jnp.mean(jnp.abs(values))
        bits = jnp.asarray(values.size + 32.0, jnp.float32)
        return scale * jnp.sign(values), CompressInfo(jnp.asarray(values.size), scale, bits)


def my_potential(theta, centre):
    """f_k: a ring-shaped valley around each agent's own centre; any differentiable function of (θ, local data)."""
    return 4.0 * (jnp.linalg.norm(theta - centre) - 1.0) ** 2


def run(sampler, steps=4_000):
    def step(state, _):
        state, info = sampler.step(jax.random.key(1), state, centres)
        return state, (state.theta.mean(axis=0), info)

    return jax.lax.scan(step, sampler.init(0.1 * jnp.ones((6, 2))), length=steps)[1]


centres = jnp.asarray(np.random.default_rng(0).normal(0, 0.1, size=(6, 2)), jnp.float32)  # the local data
mixing = network.build_mixing(network.from_networkx(nx.circular_ladder_graph(3)))
gradient = FullGradient(my_potential)
clean = AWGN(snr_db=14.0)
bursty = BurstyChannel(clean.power, clean.noise_power, burst_probability=0.01)

if __name__ == "__main__":
    for name, channel, policy in [
        ("clean channel, full power", clean, Truncated()),
        ("clean channel, half power", clean, HalfPower()),
        ("bursty channel, full power", bursty, Truncated()),
    ]:
        thetas, info = run(CDDSGLD(gradient, mixing, channel, policy, step_size=1e-3))
        radius = np.linalg.norm(np.asarray(thetas)[1_000:], axis=1)
        power = float(info["power_used"].max())
        print(f"{name:28} radius {radius.mean():.2f} ± {radius.std():.2f}, peak power used {power:.0%}")
    digital = QDSGD(gradient, mixing, jnp.full((6,), 2), step_size=1e-3, consensus_step=0.3, compressor=SignOnly())
    thetas, info = run(digital)
    radius, bits = float(jnp.linalg.norm(thetas[-1])), float(info["bits"].mean())
    print(f"{'one-bit Q-DSGD':28} radius {radius:.2f}, {bits:.0f} bits a block")
