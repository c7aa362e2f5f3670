"""The box QP against Clarabel in float64. An error is a share of the objective of plain clipping, ρ = min(1, u)."""

import importlib
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from airbayes.power import BoxQPResult, solve_box_qp

clarabel = importlib.import_module("clarabel")  # compiled, without type stubs

SHARE = 1e-5
BATCH = 30  # one compilation per size
solve_one = jax.jit(solve_box_qp)
solve_many = jax.jit(jax.vmap(solve_box_qp))


class Instance(NamedTuple):
    hessian: np.ndarray  # float64, from float32 models; the solver sees its float32 rounding
    upper: np.ndarray  # float32


# Instances ------------------------------------------------------------------------------------------------


def adjacency(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    a = np.zeros((n, n))
    if kind == "full":
        a[:] = 1.0
    elif kind == "star":
        a[0, :] = a[:, 0] = 1.0
    elif kind == "ring":
        for i in range(n):
            a[i, (i + 1) % n] = a[(i + 1) % n, i] = 1.0
    else:
        upper = np.triu(rng.random((n, n)) < 0.4)
        a[:] = upper | upper.T
    np.fill_diagonal(a, 0.0)
    return a


def instance(theta: np.ndarray, a: np.ndarray, upper: np.ndarray) -> Instance:
    theta = theta.astype(np.float32).astype(float)
    return Instance((theta @ theta.T) * (a @ a), upper.astype(np.float32))


def any_graph(n, rng):
    return adjacency(str(rng.choice(["full", "ring", "star", "random"])), n, rng)


def gaussian(n, rng):
    """Gaussian models of different norms; the caps follow from the norms, as they do on the air."""
    theta = rng.standard_normal((n, 40)) * 10 ** rng.uniform(-1, 1, (n, 1))
    norms = np.linalg.norm(theta, axis=1)
    return instance(theta, any_graph(n, rng), 10 ** rng.uniform(-1, 1) * np.median(norms) / norms)


def consensus_star(n, rng):
    """All models nearly equal: H is singular to working precision."""
    theta = rng.standard_normal(40) + 10 ** rng.uniform(-6, -3) * rng.standard_normal((n, 40))
    return instance(theta, adjacency("star", n, rng), rng.uniform(0.3, 2.0, n))


def one_weak(n, rng):
    """One agent can hardly transmit; the others have spare or endless power."""
    upper = np.full(n, rng.choice([1.5, 10.0, np.inf]))
    upper[rng.integers(n)] = 1e-6
    spread = rng.choice([1e-3, 0.1, 1.0])
    return instance(1.0 + spread * rng.standard_normal((n, 40)), any_graph(n, rng), upper)


def all_weak(n, rng):
    return instance(1.0 + rng.standard_normal((n, 40)), any_graph(n, rng), rng.uniform(0.05, 0.95, n))


def mixed_caps(n, rng):
    spread = rng.choice([0.1, 1.0, 10.0])
    return instance(1.0 + spread * rng.standard_normal((n, 40)), any_graph(n, rng), 10 ** rng.uniform(-6, 3, n))


def silent_agents(n, rng):
    theta = rng.standard_normal((n, 40))
    theta[rng.random(n) < 0.4] = 0.0
    return instance(theta, any_graph(n, rng), rng.uniform(0.3, 2.0, n))


def few_parameters(n, rng):
    """Fewer parameters than agents: H is singular without being near consensus."""
    theta = rng.standard_normal((n, int(rng.integers(1, 4))))
    return instance(theta, adjacency("star", n, rng), rng.uniform(0.3, 2.0, n))


FAMILIES = [
    (gaussian, 5, 400),
    (gaussian, 12, 60),
    (gaussian, 50, 30),
    (consensus_star, 5, 300),
    (consensus_star, 50, 60),
    (one_weak, 5, 200),
    (one_weak, 50, 30),
    (all_weak, 5, 150),
    (mixed_caps, 5, 200),
    (mixed_caps, 50, 30),
    (silent_agents, 5, 150),
    (few_parameters, 5, 150),
    (gaussian, 2, 60),
    (all_weak, 1, 10),
]
CASES = [pytest.param(*family, id=f"{family[0].__name__}-{family[1]}") for family in FAMILIES]


def draw(family, n: int, count: int) -> list[Instance]:
    rng = np.random.default_rng([n, count])
    return [family(n, rng) for _ in range(count)]


# Reference ------------------------------------------------------------------------------------------------


def objective(hessian: np.ndarray, rho: np.ndarray) -> float:
    d = np.asarray(rho, float) - 1.0
    return float(d @ hessian @ d)


def clipping(problem: Instance) -> float:
    return objective(problem.hessian, np.minimum(problem.upper, 1.0))


class ReferenceFailedError(Exception):
    """Clarabel did not reach its own tolerance, so it has nothing to say about ours."""


def clarabel_optimum(problem: Instance) -> tuple[float, np.ndarray]:
    """Optimal value and point in float64: the step from plain clipping, in units where clipping costs one."""
    clipped, d = clipping(problem), np.minimum(problem.upper.astype(float) - 1.0, 0.0)
    live = np.diag(problem.hessian) > 0
    s = np.sqrt(np.diag(problem.hessian)[live] / clipped)
    q = problem.hessian[np.ix_(live, live)] / np.outer(s, s) / clipped
    down, up = s * (d[live] + 1.0), s * (problem.upper[live] - 1.0 - d[live])
    bounded, eye = np.isfinite(up), np.eye(len(s))
    rows = sparse.csc_matrix(np.vstack([-eye, eye[bounded]]))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-10
    options.static_regularization_constant = 1e-12
    options.iterative_refinement_reltol, options.iterative_refinement_max_iter = 1e-15, 50
    slope = 2.0 * q @ (s * d[live])
    limits = np.concatenate([down, up[bounded]])
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(2.0 * q)), slope, rows, limits, [clarabel.NonnegativeConeT(len(limits))], options
    ).solve()
    step = np.clip(solution.x, -down, up)
    gain = -float(step @ (slope + q @ step))
    if not abs(gain + solution.obj_val_dual) < 0.1 * SHARE:
        raise ReferenceFailedError(f"the reference itself failed: {solution.status}")
    d[live] += step / s
    return clipped * (1.0 - gain), 1.0 + d


def float32_allowance(problem: Instance, gains: np.ndarray, optimum: np.ndarray) -> float:
    """What float32 cannot say: ρ to better than its last bit, and, for an optimum far away, H to better than that."""
    size, ulp, far = np.abs(problem.hessian), 2.0**-24 * gains.astype(float), np.abs(optimum - 1.0)
    return float(ulp @ size @ ulp + 2.0**-21 * far @ size @ far)


def check_feasible(problem: Instance, gains: np.ndarray) -> None:
    assert gains.dtype == np.float32
    assert np.all(np.isfinite(gains))
    assert np.all(gains >= 0)
    assert np.all(gains <= problem.upper)


def as_arrays(problem: Instance) -> tuple[jax.Array, jax.Array]:
    return jnp.asarray(problem.hessian, jnp.float32), jnp.asarray(problem.upper)


def solve_all(problems: list[Instance]) -> BoxQPResult:
    padded = problems + problems[-1:] * (-len(problems) % BATCH)
    hessians, uppers = (jnp.stack(column) for column in zip(*map(as_arrays, padded), strict=True))
    parts = [solve_many(hessians[i : i + BATCH], uppers[i : i + BATCH]) for i in range(0, len(padded), BATCH)]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(problems)], *parts)


# Tests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "n", "count"), CASES)
def test_optimal_feasible_and_never_worse_than_clipping(family, n, count):
    problems = draw(family, n, count)
    result = solve_all(problems)
    for problem, gains in zip(problems, result.gains, strict=True):
        check_feasible(problem, gains)
        clipped, found = clipping(problem), objective(problem.hessian, gains)
        if clipped == 0:
            np.testing.assert_array_equal(gains, np.minimum(problem.upper, 1.0))
            continue
        assert found <= clipped * (1.0 + 1e-12)
        assert found - clarabel_optimum(problem)[0] <= SHARE * clipped
    assert np.mean(result.converged) >= 0.99
    assert np.max(result.iterations) <= n + 10


def test_plain_clipping_would_be_caught():
    """The mutant ρ = min(1, u) misses the optimum by more than the tolerance on most instances."""
    problems = [p for family in FAMILIES for p in draw(*family) if clipping(p) > 0]
    assert len(problems) >= 1000
    caught = [clipping(p) - clarabel_optimum(p)[0] > SHARE * clipping(p) for p in problems]
    assert np.mean(caught) > 0.5


def check_up_to_float32(problem: Instance, gains: np.ndarray) -> None:
    check_feasible(problem, gains)
    clipped, found = clipping(problem), objective(problem.hessian, gains)
    assert found <= clipped * (1.0 + 1e-12)
    if clipped > 0:
        value, optimum = clarabel_optimum(problem)
        assert found - value <= SHARE * clipped + float32_allowance(problem, gains, optimum)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(
    arrays(np.float32, (5, 3), elements=st.integers(-4, 4).map(float)),
    arrays(np.float32, 5, elements=st.floats(2.0**-20, 1e3, width=32) | st.just(np.inf)),
    st.sampled_from(["full", "ring", "star"]),
)
def test_any_small_integer_models(theta, upper, kind):
    problem = instance(theta, adjacency(kind, 5, np.random.default_rng(0)), upper)
    gains = np.asarray(solve_one(*as_arrays(problem)).gains)
    try:
        check_up_to_float32(problem, gains)
    except ReferenceFailedError:  # a rare drawn example is too hard for it; which one depends on the machine
        reject()


def test_caps_close_to_one():
    """Caps within 1e-3 of one and norms from 1e-2 to 1e2: the optimum is a matter of the last bits of ρ."""
    rng = np.random.default_rng(3)
    problems = []
    for _ in range(200):
        theta = rng.standard_normal((5, 40)) * 10 ** rng.uniform(-2, 2, (5, 1))
        problems.append(instance(theta, any_graph(5, rng), 1.0 + rng.uniform(-1e-3, 1e-3, 5)))
    for problem, gains in zip(problems, solve_all(problems).gains, strict=True):
        check_up_to_float32(problem, gains)


def test_agents_do_not_take_turns_in_leaving_their_bounds():
    """Opposed models in three dimensions, half of them capped: plain projected Newton creeps on one in twenty.

    The last seeds are picked: a method that holds agents but still stops short of the next bound creeps there.
    """
    problems = []
    for seed in [*range(200), 366, 795, 3937]:
        rng = np.random.default_rng(seed)
        theta = (1.0 + 0.1 * rng.standard_normal((7, 3))) * rng.choice([-1.0, 1.0], (7, 1))
        upper = np.where(rng.random(7) < 0.5, rng.uniform(0.05, 0.9, 7), np.inf)
        problems.append(instance(theta, adjacency("star", 7, rng), upper))
    result = solve_all(problems)
    assert np.mean(result.converged) >= 0.99
    for problem, gains in zip(problems, result.gains, strict=True):
        check_up_to_float32(problem, gains)


@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_spare_power_everywhere_gives_exactly_one(n):
    rng = np.random.default_rng(n)
    for upper in (np.ones(n), np.full(n, np.inf), rng.uniform(1.0, 5.0, n)):
        problem = instance(rng.standard_normal((n, 7)), adjacency("full", n, rng), upper)
        result = solve_one(*as_arrays(problem))
        np.testing.assert_array_equal(result.gains, np.ones(n, np.float32))
        assert result.iterations == 0
        assert result.objective == 0
        assert result.converged


def test_agents_nobody_hears_are_clipped():
    hessian = np.diag([0.0, 2.0, 2.0, 0.0])
    hessian[1, 2] = hessian[2, 1] = 1.9
    upper = np.array([0.3, 0.5, 7.0, 8.0], np.float32)
    gains = np.asarray(solve_one(jnp.asarray(hessian, jnp.float32), jnp.asarray(upper)).gains)
    np.testing.assert_array_equal(gains[[0, 1, 3]], np.array([0.3, 0.5, 1.0], np.float32))
    np.testing.assert_allclose(gains[2], 1.0 + 0.5 * 1.9 / 2.0, rtol=1e-5)


def test_ties_go_to_the_point_nearest_to_clipping():
    """A star in exact consensus: any gains whose errors sum to zero are optimal. The nearest share the burden."""
    n = 6
    problem = instance(np.ones((n, 8)), adjacency("star", n, np.random.default_rng(0)), np.full(n, np.inf))
    problem.upper[3] = 0.5
    gains = np.asarray(solve_one(*as_arrays(problem)).gains)
    np.testing.assert_allclose(gains, [1.0, 1.125, 1.125, 0.5, 1.125, 1.125], atol=0.02)


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6, 1e12])
def test_scale_of_the_objective_does_not_matter(factor):
    problems = [p for p in draw(gaussian, 5, 60) + draw(consensus_star, 5, 60) if clipping(p) > 0]
    scaled = [Instance(p.hessian * factor, p.upper) for p in problems]
    for problem, gains in zip(problems, solve_all(scaled).gains, strict=True):
        gap = objective(problem.hessian, gains) - clarabel_optimum(problem)[0]
        assert gap <= SHARE * clipping(problem)


def test_reported_objective():
    problems = draw(gaussian, 5, 60)
    result = solve_all(problems)
    expected = [objective(p.hessian, g) for p, g in zip(problems, result.gains, strict=True)]
    scale = np.array([max(clipping(p), 1e-30) for p in problems])
    assert np.max(np.abs(np.asarray(result.objective) - expected) / scale) < 1e-5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_diverged_models_fall_back_to_clipping(bad):
    hessian = np.eye(5, dtype=np.float32)
    hessian[1, 2] = hessian[2, 1] = bad
    upper = np.array([0.5, 0.7, 2.0, np.inf, 0.0], np.float32)
    result = solve_one(jnp.asarray(hessian), jnp.asarray(upper))
    np.testing.assert_array_equal(result.gains, np.minimum(upper, 1.0))
    assert not result.converged


@pytest.mark.parametrize("n", [5, 12])
def test_vmap_is_a_loop_and_jit_changes_nothing(n):
    problems = [p for p in draw(gaussian, n, 20) if clipping(p) > 0]
    for i, (problem, expected) in enumerate(zip(problems, solve_all(problems).gains, strict=True)):
        for solve in (solve_one, solve_box_qp) if i < 2 else (solve_one,):
            gains = np.asarray(solve(*as_arrays(problem)).gains)
            np.testing.assert_allclose(gains, expected, rtol=1e-4, atol=1e-5)
            change = objective(problem.hessian, gains) - objective(problem.hessian, expected)
            assert abs(change) <= 1e-6 * clipping(problem)
