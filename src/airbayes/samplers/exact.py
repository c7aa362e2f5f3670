"""Exact laws of the samplers on Gaussian targets, in float64 on the host: what every sampler is tested against.

Target: f_k(θ) = ½ θᵀA_kθ − b_kᵀθ. Stacking the agents, every algorithm with fixed weights is

    θ' = M θ + c + noise ,   noise ~ N(0, Q) ,     so   μ' = Mμ + c ,   Σ' = MΣMᵀ + Q + extra(μ, Σ)

and the law is Gaussian at every step. `extra` holds multiplicative noise (erased links, wrong gains, mini-batches):
there mean and covariance stay exact but the law is no longer Gaussian.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import ArrayLike, Float

from airbayes.checks import POSITIVE_FINITE, check_count, check_number
from airbayes.errors import AirbayesError

Matrix = Float[np.ndarray, "dim dim"]
Vector = Float[np.ndarray, " dim"]
Marginal = Float[np.ndarray, " param"]
MarginalCov = Float[np.ndarray, "param param"]
Extra = Callable[[Vector, Matrix], Matrix]


@dataclasses.dataclass(frozen=True)
class AffineLaw:
    """θ' = M θ + c + N(0, Q), and what multiplicative noise adds to the covariance."""

    transition: Matrix  # M
    offset: Vector  # c
    noise: Matrix  # Q
    extra: Extra | None = None

    def advance(self, mean: Vector, cov: Matrix) -> tuple[Vector, Matrix]:
        """Mean and covariance one step later."""
        added = self.noise if self.extra is None else self.noise + self.extra(mean, cov)
        return self.transition @ mean + self.offset, self.transition @ cov @ self.transition.T + added

    def at(self, steps: int, mean: Vector, cov: Matrix | None = None) -> tuple[Vector, Matrix]:
        """Mean and covariance after `steps` steps from a start of given law (a point when `cov` is None)."""
        if np.shape(mean) != self.offset.shape:
            raise AirbayesError(
                f"The start must be one vector of all agents, {list(self.offset.shape)}, got shape "
                f"{list(np.shape(mean))}. Of θ [agent, param] give theta.ravel(); DSGHMC's momenta follow."
            )
        cov = np.zeros_like(self.transition) if cov is None else cov
        if np.shape(cov) != self.transition.shape:
            raise AirbayesError(
                f"The covariance of the start must be {list(self.transition.shape)}, got shape {list(np.shape(cov))}. "
                "Of variances give np.diag(variances)."
            )
        check_count("steps", steps, 0)
        for _ in range(steps):
            mean, cov = self.advance(mean, cov)
        return mean, cov

    @functools.cached_property
    def spectral_radius(self) -> float:
        """ρ(M): the chain is stable if and only if it is below one."""
        return float(np.max(np.abs(np.linalg.eigvals(self.transition))))

    @functools.cached_property
    def stationary(self) -> tuple[Vector, Matrix]:
        """Mean and covariance as s → ∞, for additive noise only."""
        if self.extra is not None:
            raise AirbayesError(
                "The stationary law is computed for additive noise only, and this law has multiplicative noise "
                "(erased links, gain errors or mini-batches). Use law.at(steps, mean) with many steps."
            )
        if self.spectral_radius >= 1:
            raise AirbayesError(
                f"There is no stationary law: ρ(M) = {self.spectral_radius:.6g} ≥ 1, so the chain diverges. "
                "Take a smaller step size η."
            )
        from scipy.linalg import solve_discrete_lyapunov

        mean = np.linalg.solve(np.eye(len(self.offset)) - self.transition, self.offset)
        return mean, solve_discrete_lyapunov(self.transition, self.noise)


def _block_diagonal(blocks: Float[np.ndarray, "agent param param"]) -> Matrix:
    agents, params, _ = blocks.shape
    out = np.zeros((agents, params, agents, params))
    out[np.arange(agents), :, np.arange(agents), :] = blocks
    return out.reshape(agents * params, agents * params)


def _in_float64(
    mixing_matrix: ArrayLike, precision: ArrayLike, linear: ArrayLike
) -> tuple[Matrix, Float[np.ndarray, "agent param param"], Float[np.ndarray, "agent param"]]:
    """W, A_k and b_k, if their shapes fit."""
    parts = (mixing_matrix, precision, linear)
    shapes = [np.shape(part) for part in parts]
    agents, params = shapes[2] if len(shapes[2]) == 2 else (0, 0)
    if shapes[:2] != [(agents, agents), (agents, params, params)]:
        raise AirbayesError(
            f"A law takes W [agent, agent], A_k [agent, param, param] and b_k [agent, param], got shapes "
            f"{', '.join(str(list(shape)) for shape in shapes)}. W is network.mixing_matrix(graph, w), and [[1]] for "
            "SGLD on pooled data."
        )
    weights, curvature, offset = (np.asarray(part, np.float64) for part in parts)
    return weights, curvature, offset


def dsgld_law(
    mixing_matrix: Float[np.ndarray, "agent agent"],
    precision: Float[np.ndarray, "agent param param"],
    linear: Float[np.ndarray, "agent param"],
    eta: float,
    extra: Extra | None = None,
) -> AffineLaw:
    """M = W⊗I − η blkdiag(A_k), c = ηb, Q = 2ηI. SGLD is W = [[1]]; gains replace W by `gain_matrix`."""
    check_number("The step size η", eta, POSITIVE_FINITE, dtype=np.float64)
    mixing_matrix, precision, linear = _in_float64(mixing_matrix, precision, linear)
    params = linear.shape[1]
    transition = np.kron(mixing_matrix, np.eye(params)) - eta * _block_diagonal(precision)
    return AffineLaw(transition, eta * linear.ravel(), 2 * eta * np.eye(linear.size), extra)


def gain_matrix(
    adjacency: Float[np.ndarray, "agent agent"],
    edge_weight: float,
    rho: Float[np.ndarray, " agent"],
    self_gain: Float[np.ndarray, " agent"] | None = None,
) -> Float[np.ndarray, "agent agent"]:
    """diag(1 − w σ_k deg_k) + w A diag(ρ): what CD-DSGLD applies under fixed gains; ρ = σ = 1 is W."""
    sigma = np.ones(len(rho)) if self_gain is None else self_gain
    return np.diag(1 - edge_weight * sigma * adjacency.sum(axis=1)) + edge_weight * adjacency * rho


def dsghmc_law(
    mixing_matrix: Float[np.ndarray, "agent agent"],
    precision: Float[np.ndarray, "agent param param"],
    linear: Float[np.ndarray, "agent param"],
    eta: float,
    friction: float,
) -> AffineLaw:
    """The law of (θ, ν), stacked: θ first."""
    check_number("The step size η", eta, POSITIVE_FINITE, dtype=np.float64)
    check_number("The friction γ", friction, POSITIVE_FINITE, dtype=np.float64)
    mixing_matrix, precision, linear = _in_float64(mixing_matrix, precision, linear)
    size, params = linear.size, linear.shape[1]
    identity, curvature = np.eye(size), _block_diagonal(precision)
    keep = 1 - eta * friction
    mixing = np.kron(mixing_matrix, np.eye(params))
    transition = np.block([[mixing - eta**2 * curvature, eta * keep * identity], [-eta * curvature, keep * identity]])
    offset = np.concatenate([eta**2 * linear.ravel(), eta * linear.ravel()])
    noise = 2 * friction * eta * np.block([[eta**2 * identity, eta * identity], [eta * identity, identity]])
    return AffineLaw(transition, offset, noise)


def erasure_extra(edges: np.ndarray, num_agents: int, num_params: int, edge_weight: float, probability: float) -> Extra:
    """Links down i.i.d. with probability p: w² p(1−p) Σ_e (L_e⊗I)(Σ + μμᵀ)(L_e⊗I). The mean mixes with w(1−p)."""
    differences = _differences(edges, num_agents)
    laplacians = np.einsum("ei,ej->eij", differences, differences)
    return _independent_losses(laplacians, num_params, edge_weight, probability)


def one_way_extra(edges: np.ndarray, num_agents: int, num_params: int, edge_weight: float, probability: float) -> Extra:
    """Each direction j → k down i.i.d.: w² p(1−p) Σ_kj (B_kj⊗I)(Σ + μμᵀ)(B_kj⊗I)ᵀ, B_kj = e_k (e_k − e_j)ᵀ."""
    directed = np.concatenate([edges, edges[:, ::-1]])
    rows = np.eye(num_agents)[directed[:, 0]]
    brackets = np.einsum("ei,ej->eij", rows, _differences(directed, num_agents))
    return _independent_losses(brackets, num_params, edge_weight, probability)


def _differences(edges: np.ndarray, num_agents: int) -> Float[np.ndarray, "edge agent"]:
    return np.eye(num_agents)[edges[:, 0]] - np.eye(num_agents)[edges[:, 1]]


def _independent_losses(
    brackets: Float[np.ndarray, "loss agent agent"], num_params: int, edge_weight: float, probability: float
) -> Extra:
    """What losing each bracket w·B with probability p by itself adds to the covariance."""
    lifted = np.stack([np.kron(one, np.eye(num_params)) for one in brackets])

    def extra(mean: Vector, cov: Matrix) -> Matrix:
        second_moment = cov + np.outer(mean, mean)
        spread = (lifted @ second_moment @ lifted.transpose(0, 2, 1)).sum(axis=0)
        return edge_weight**2 * probability * (1 - probability) * spread

    return extra


def gain_error_extra(
    adjacency: Float[np.ndarray, "agent agent"], num_params: int, edge_weight: float, gain_std: float
) -> Extra:
    """Gain error σ per directed link: σ²w² blkdiag_k(Σ_j A_kj (Σ_jj + μ_jμ_jᵀ))."""
    agents = len(adjacency)

    def extra(mean: Vector, cov: Matrix) -> Matrix:
        second_moment = (cov + np.outer(mean, mean)).reshape(agents, num_params, agents, num_params)
        own = np.einsum("jajb->jab", second_moment)
        return gain_std**2 * edge_weight**2 * _block_diagonal(np.einsum("kj,jab->kab", adjacency, own))

    return extra


def minibatch_extra(
    example_precision: Float[np.ndarray, "agent example param param"],
    example_linear: Float[np.ndarray, "agent example param"],
    eta: float,
    batch_size: int,
    replace: bool = False,
) -> Extra:
    """η² blkdiag(C_k), C_k = (E²/B) κ mean_i[r_i r_iᵀ + ΔH_i Σ_kk ΔH_i], r_i = ΔH_i μ_k − Δb_i.

    H_i and b_i are one example's share of the quadratic potential; κ = 1 with replacement, (E−B)/(E−1) without.
    """
    agents, examples, params, _ = example_precision.shape
    kappa = 1.0 if replace else (examples - batch_size) / (examples - 1)
    delta_h = example_precision - example_precision.mean(axis=1, keepdims=True)
    delta_b = example_linear - example_linear.mean(axis=1, keepdims=True)

    def extra(mean: Vector, cov: Matrix) -> Matrix:
        own = np.einsum("kakb->kab", cov.reshape(agents, params, agents, params))
        residual = np.einsum("kiab,kb->kia", delta_h, mean.reshape(agents, params)) - delta_b
        spread = np.einsum("kia,kib->kab", residual, residual)
        spread += np.einsum("kiab,kbc,kicd->kad", delta_h, own, delta_h)
        return eta**2 * _block_diagonal(examples**2 / batch_size * kappa * spread / examples)

    return extra


def switched_moments(
    modes: Sequence[AffineLaw],
    chain: Float[np.ndarray, "mode mode"],
    first: Float[np.ndarray, " mode"],
    steps: int,
    start: Vector,
) -> tuple[Vector, Matrix]:
    """Mean and covariance after `steps` ≥ 1 steps of a map chosen by a Markov chain: bursts of lost links, churn.

    chain[i, j] is the probability of mode j after mode i, first[j] that of mode j in the first step. Carried along are
    E[1{mode}], E[θ 1{mode}] and E[θθᵀ 1{mode}]; the law is a mixture of Gaussians.
    """
    maps = np.stack([mode.transition for mode in modes])
    offsets = np.stack([mode.offset for mode in modes])
    noises = np.stack([mode.noise for mode in modes])
    weight, one, two = first, first[:, None] * start, first[:, None, None] * np.outer(start, start)
    for step in range(steps):
        if step > 0:
            weight, one, two = weight @ chain, chain.T @ one, np.einsum("ij,iab->jab", chain, two)
        moved = np.einsum("jab,jb->ja", maps, one)
        cross = np.einsum("ja,jb->jab", moved, offsets)
        shared = weight[:, None, None] * (np.einsum("ja,jb->jab", offsets, offsets) + noises)
        two = maps @ two @ maps.transpose(0, 2, 1) + cross + cross.transpose(0, 2, 1) + shared
        one = moved + weight[:, None] * offsets
    mean = one.sum(axis=0)
    return mean, two.sum(axis=0) - np.outer(mean, mean)


def two_state_chains(count: int, probability: float, mean_length: float) -> tuple[Matrix, Vector, np.ndarray]:
    """Independent links or agents, down a share p of the time, L steps at a time, as one chain of 2^count modes.

    Returns the transition matrix, the stationary law, and up [mode, count] of 0 and 1.
    """
    heals, fails = 1 / mean_length, probability / (1 - probability) / mean_length
    one, law = np.array([[1 - fails, fails], [heals, 1 - heals]]), np.array([1 - probability, probability])
    chain, first = np.ones((1, 1)), np.ones(1)
    for _ in range(count):
        chain, first = np.kron(chain, one), np.kron(first, law)
    up = 1 - (np.arange(2**count)[:, None] >> np.arange(count)[::-1]) % 2
    return chain, first, up


def agent_law(mean: Vector, cov: Matrix, agent: int, num_params: int) -> tuple[Marginal, MarginalCov]:
    """The marginal law of one agent."""
    if not 0 <= agent < len(mean) // num_params:
        raise AirbayesError(f"There is no agent {agent} of {num_params} parameters in a law of dimension {len(mean)}.")
    rows = slice(agent * num_params, (agent + 1) * num_params)
    return mean[rows], cov[rows, rows]


def average_law(mean: Vector, cov: Matrix, num_agents: int, num_params: int) -> tuple[Marginal, MarginalCov]:
    """The law of the network average (1/N) Σ_k θ_k: not that of a single agent."""
    size = num_agents * num_params
    if len(mean) not in (size, 2 * size):  # twice: DSGHMC, whose momenta follow
        raise AirbayesError(
            f"A law of {num_agents} agents of {num_params} parameters has dimension {size}, got {len(mean)}."
        )
    average = np.kron(np.full((1, num_agents), 1 / num_agents), np.eye(num_params))
    return average @ mean[:size], average @ cov[:size, :size] @ average.T
