"""A sampler of this installation, on this machine, against its closed-form law: is what it samples what it should?

CD-DSGLD over a ring of five agents at 40 dB, linear regression, 4,096 independent chains at step 40. There every gain
is 1 and the law is that of DSGLD, N(μ, Σ) in closed form (`samplers.exact`). Of n whitened samples x of dimension d:

    mean         n ‖x̄‖²                                            ~ χ²(d)
    covariance   n Σ_{i<j} S_ij² + (n/2) Σ_i (S_ii − 1)²,  S = XᵀX/n     ~ χ²(d(d+1)/2), for large n

The key is fixed: a sound installation passes today and tomorrow.
"""

import dataclasses
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from airbayes import network
from airbayes.channel import AWGN
from airbayes.models import (
    FullGradient,
    GaussianPrior,
    LinearRegression,
    Posterior,
    quadratic_potentials,
    stack_agents,
)
from airbayes.network import build_mixing, mixing_matrix
from airbayes.power import Common
from airbayes.samplers import CDDSGLD
from airbayes.samplers.exact import dsgld_law

FALSE_ALARM = 1e-4  # of each of the two p-values
AGENTS, PARAMS, EXAMPLES, CHAINS, STEPS, ETA = 5, 2, 6, 4096, 40, 0.03


@dataclasses.dataclass(frozen=True)
class SelfTest:
    p_mean: float
    p_covariance: float
    seconds: float

    @property
    def passed(self) -> bool:
        return min(self.p_mean, self.p_covariance) > FALSE_ALARM


def sampler_against_its_law(eta_sampled: float = ETA) -> SelfTest:
    """eta_sampled: η of the sampler; another than that of the law must fail."""
    started = time.perf_counter()
    rng = np.random.default_rng(7)
    inputs = rng.normal(size=(AGENTS, EXAMPLES, PARAMS)).astype(np.float32)
    slopes = rng.normal(size=(AGENTS, PARAMS)) + np.array([1.5, -1.0])
    targets = np.einsum("khi,ki->kh", inputs, slopes) + rng.normal(size=(AGENTS, EXAMPLES))
    data = stack_agents(list(inputs), list(targets.astype(np.float32)))
    potential = Posterior(LinearRegression(PARAMS).log_likelihood, GaussianPrior(), AGENTS)
    ring = network.ring(AGENTS)
    sampler = CDDSGLD(FullGradient(potential), build_mixing(ring), AWGN(40.0), Common(), eta_sampled)

    def one(key):
        def body(_, state):
            return sampler.step(key, state, data)[0]

        return jax.lax.fori_loop(0, STEPS, body, sampler.init(jnp.zeros((AGENTS, PARAMS)))).theta

    theta = eqx.filter_jit(jax.vmap(one))(jax.random.split(jax.random.key(0), CHAINS))
    law = dsgld_law(mixing_matrix(ring, network.best_constant(ring)), *quadratic_potentials(data, 1.0), ETA)
    mean, cov = law.at(STEPS, np.zeros(AGENTS * PARAMS))
    p_mean, p_covariance = p_values(np.asarray(theta, np.float64).reshape(CHAINS, -1), mean, cov)
    return SelfTest(p_mean, p_covariance, time.perf_counter() - started)


def p_values(samples: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> tuple[float, float]:
    from scipy import stats

    count, dim = samples.shape
    white = np.linalg.solve(np.linalg.cholesky(cov), (samples - mean).T).T
    second = white.T @ white / count
    upper = np.triu_indices(dim, 1)
    spread = count * np.sum(second[upper] ** 2) + count / 2 * np.sum((np.diag(second) - 1) ** 2)
    of_mean = stats.chi2.sf(count * np.sum(white.mean(axis=0) ** 2), dim)
    return float(of_mean), float(stats.chi2.sf(spread, dim * (dim + 1) / 2))
