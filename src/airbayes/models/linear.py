"""Bayesian linear regression:  y = xᵀθ + noise,  noise ~ N(0, σ²).

Its local potentials are quadratic, f_k = ½ θᵀA_kθ − b_kᵀθ + const with

    A_k = X_kᵀX_k/σ² + I/(N s²) ,   b_k = X_kᵀy_k/σ² ,

so the posterior N(A⁻¹b, A⁻¹), A = Σ_k A_k, b = Σ_k b_k, and every sampler's law are known exactly.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from airbayes.checks import POSITIVE, POSITIVE_FINITE, check_count, check_number, describe, one_number
from airbayes.errors import AirbayesError
from airbayes.models.base import Model, check_features
from airbayes.models.local_data import LocalData

_BLOCK = 10_000  # agents whose inputs are converted to float64 at a time


def _check_noise(noise_std: float) -> None:
    what = "The standard deviation σ of the noise"
    check_number(what, noise_std, POSITIVE_FINITE)
    one_number(what, noise_std)


def _check_problem(data: object, noise_std: float, prior_scale: float) -> None:
    _check_noise(noise_std)
    check_number("The scale s of a prior", prior_scale, POSITIVE, "inf is a flat prior.")
    if not isinstance(data, LocalData):
        raise AirbayesError(f"The data must come from models.stack_agents(inputs, targets), got {describe(data)}.")
    if data.inputs.ndim != 3 or data.targets.shape != data.weights.shape:
        raise AirbayesError(
            f"Regression takes inputs [agent, example, param] and targets [agent, example], got shapes "
            f"{list(data.inputs.shape)} and {list(data.targets.shape)}."
        )


class LinearRegression(Model):
    """θ holds one weight per feature, no bias: give a column of ones for one."""

    num_params: int = eqx.field(static=True)  # m, the number of features
    noise_std: float = eqx.field(static=True, default=1.0)  # σ

    def __check_init__(self):
        check_count("The number of features m", self.num_params)
        _check_noise(self.noise_std)

    def init(self, key: Key[Array, ""]) -> Float[Array, " param"]:
        return 0.1 * jax.random.normal(key, (self.num_params,))

    def log_likelihood(
        self,
        theta: Float[Array, " param"],
        inputs: Float[Array, "example param"],
        targets: Float[Array, " example"],
    ) -> Float[Array, " example"]:
        check_features(inputs, self.num_params, "For an intercept give a column of ones.")
        if theta.shape != (self.num_params,):
            raise AirbayesError(
                f"θ of a LinearRegression has {self.num_params} entries, got shape {list(theta.shape)}."
            )
        if targets.shape != inputs.shape[:-1]:
            raise AirbayesError(
                f"Targets of shape {list(targets.shape)} do not fit inputs of shape {list(inputs.shape)}: regression "
                "takes one number per example. Of a column [example, 1] give targets[:, 0]."
            )
        # A product and a sum over the last axis, not a matrix product: exact in float32 on any device (no TF32),
        # and independent of how many agents share the device.
        residual = targets - jnp.sum(inputs * theta, axis=-1)
        return -0.5 * (residual / self.noise_std) ** 2


def quadratic_potentials(
    data: LocalData, noise_std: float, prior_scale: float = 1.0
) -> tuple[Float[np.ndarray, "agent param param"], Float[np.ndarray, "agent param"]]:
    """A_k and b_k of every agent, in float64; the prior N(0, s² I) is shared, 1/N to each."""
    _check_problem(data, noise_std, prior_scale)
    inputs = np.asarray(data.inputs, np.float64)
    targets = np.asarray(data.targets, np.float64)
    weights = np.asarray(data.weights, np.float64) / noise_std**2
    agents, _, params = inputs.shape
    precision = np.einsum("kh,khi,khj->kij", weights, inputs, inputs)
    precision += np.eye(params) / (agents * prior_scale**2)
    return precision, np.einsum("kh,khi,kh->ki", weights, inputs, targets)


def pooled_quadratic(
    data: LocalData, noise_std: float, prior_scale: float = 1.0
) -> tuple[Float[np.ndarray, "param param"], Float[np.ndarray, " param"]]:
    """A = Σ_k A_k and b = Σ_k b_k, in float64, without the single A_k: for networks of any size."""
    _check_problem(data, noise_std, prior_scale)
    all_inputs, all_targets, all_weights = (np.asarray(part) for part in (data.inputs, data.targets, data.weights))
    params = all_inputs.shape[-1]
    precision, linear = np.eye(params) / prior_scale**2, np.zeros(params)
    for begin in range(0, len(all_inputs), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        inputs = all_inputs[rows].astype(np.float64).reshape(-1, params)
        weighted = inputs * (all_weights[rows].astype(np.float64).reshape(-1, 1) / noise_std**2)
        precision += weighted.T @ inputs
        linear += weighted.T @ all_targets[rows].astype(np.float64).ravel()
    return precision, linear


def gaussian_posterior(
    precision: Float[np.ndarray, "agent param param"], linear: Float[np.ndarray, "agent param"]
) -> tuple[Float[np.ndarray, " param"], Float[np.ndarray, "param param"]]:
    """Mean and covariance of the global posterior, A⁻¹b and A⁻¹."""
    if np.ndim(precision) != 3 or np.shape(linear) != np.shape(precision)[:2]:
        raise AirbayesError(
            f"A_k must be [agent, param, param] and b_k [agent, param], got shapes {list(np.shape(precision))} and "
            f"{list(np.shape(linear))}. Of a pooled A and b give A[None] and b[None]."
        )
    covariance = np.linalg.inv(precision.sum(axis=0))
    return covariance @ linear.sum(axis=0), covariance
