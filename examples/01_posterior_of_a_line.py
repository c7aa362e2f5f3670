"""The posterior of a line y = a + b·x, sampled by four agents over the air, each from its own data."""

import jax
import numpy as np

from airbayes import models, network
from airbayes.channel import AWGN
from airbayes.power import Common
from airbayes.samplers import CDDSGLD

# Your data: every agent holds a few points of its own stretch of the x axis, as rows (1, x) and targets y.
rng = np.random.default_rng(0)
xs = [rng.uniform(k, k + 1, size=8) for k in range(4)]
inputs = [np.stack([np.ones_like(x), x], axis=1).astype(np.float32) for x in xs]
targets = [(0.5 + 2.0 * x + rng.normal(0, 0.5, size=x.size)).astype(np.float32) for x in xs]
data = models.stack_agents(inputs, targets)

line = models.LinearRegression(num_params=2, noise_std=0.5)
posterior = models.Posterior(line.log_likelihood, models.GaussianPrior(scale=3.0), num_agents=4)
mixing = network.build_mixing(network.ring(4))
sampler = CDDSGLD(models.FullGradient(posterior), mixing, AWGN(snr_db=20.0), Common(), step_size=2e-4)


def chain(key):
    """Every 20th of 10,000 steps of agent 0, after 2,000 of burn-in."""

    def step(state, _):
        state, _info = sampler.step(key, state, data)
        return state, state.theta[0]

    return jax.lax.scan(step, sampler.init(jax.numpy.zeros((4, 2))), length=10_000)[1][2_000::20]


draws = np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), 16))).reshape(-1, 2)
mean, cov = models.gaussian_posterior(*models.quadratic_potentials(data, noise_std=0.5, prior_scale=3.0))
for name, (a, b), (da, db) in [("sampled", draws.mean(0), draws.std(0)), ("exact  ", mean, np.diag(cov) ** 0.5)]:
    print(f"{name}: a = {a:.3f} ± {da:.3f}, b = {b:.3f} ± {db:.3f}")
