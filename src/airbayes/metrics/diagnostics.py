"""Have the chains mixed? Rank-normalised split R-hat and effective sample size (host, float64).

Vehtari, Gelman, Simpson, Carpenter, Bürkner, "Rank-normalization, folding, and localization: an improved
R-hat", Bayesian Analysis 16 (2021). Chains must be independent (seeds): the agents of one network are coupled
and would make R-hat look better than it is. Chains come first: a scan over vmapped chains stacks [draw, chain, ...],
which needs `swapaxes(0, 1)`. Rules of thumb: R-hat < 1.01, ESS > 100 for each chain.
"""

import numpy as np
from jaxtyping import Array, Bool, Float

from airbayes.errors import AirbayesError

MIN_DRAWS = 4
TAIL = (0.05, 0.95)  # the quantiles whose smaller ESS is the tail ESS


def rhat(draws: Float[np.ndarray | Array, "chain draw *quantity"]) -> Float[np.ndarray, "*quantity"]:
    """R-hat of each quantity: the larger of bulk and folded (scale), each chain cut in halves first.

    One chain is enough, but only tells whether its own parts agree; it is cut in quarters and needs 8 draws.
    A quantity that never changes gives NaN: nothing can be said about it.
    """
    draws = _checked(draws)
    if len(draws) == 1:  # arviz-stats refuses a single chain: hand it the two halves, which it halves again
        half = draws.shape[1] // 2
        draws = np.concatenate([draws[:, :half], draws[:, -half:]])

    from arviz_stats.base.array import array_stats

    with np.errstate(divide="ignore", invalid="ignore"):  # a chain that is constant by itself has no variance
        value = array_stats.rhat(draws, chain_axis=0, draw_axis=1, method="rank")
    return np.where(_constant(draws), np.nan, value)


def ess(draws: Float[np.ndarray | Array, "chain draw *quantity"], kind: str = "bulk") -> Float[np.ndarray, "*quantity"]:
    """The effective sample size of each quantity, all chains together.

    `bulk` is for means, `tail` (the smaller of the 5 % and 95 % quantiles') for intervals. Antithetic chains
    may exceed the number of draws. A quantity that never changes gives NaN.
    """
    if kind not in ("bulk", "tail"):
        raise AirbayesError(f"Unknown kind of effective sample size {kind!r}. Choose bulk or tail.")
    draws = _checked(draws, one_chain=MIN_DRAWS)

    from arviz_stats.base.array import array_stats

    prob = TAIL if kind == "tail" else None
    value = array_stats.ess(draws, chain_axis=0, draw_axis=1, method=kind, prob=prob)
    return np.where(_constant(draws), np.nan, value)


def _checked(
    draws: Float[np.ndarray | Array, "*any"], one_chain: int = 2 * MIN_DRAWS
) -> Float[np.ndarray, "chain draw *quantity"]:
    draws = np.asarray(draws, np.float64)
    if draws.ndim < 2:
        raise AirbayesError(
            f"Draws must be [chain, draw, ...], got shape {list(draws.shape)}. Of a single chain give draws[None]."
        )
    chains, length = draws.shape[:2]
    min_draws = one_chain if chains == 1 else MIN_DRAWS
    if chains < 1 or length < min_draws:
        fix = "Keep more samples, or thin less."
        if chains >= min_draws:
            fix = "Axes are [chain, draw, ...]: of a single chain give draws[None], of [draw, chain] swapaxes(0, 1)."
        raise AirbayesError(
            f"This diagnostic needs at least {min_draws} draws in {max(chains, 1)} chain(s), got {length} in {chains}. "
            f"{fix}"
        )
    if not np.isfinite(draws).all():
        chain, draw = np.argwhere(~np.isfinite(draws))[0][:2]
        raise AirbayesError(f"Draw {draw} of chain {chain} is not finite. Leave diverged chains out, and say how many.")
    return draws


def _constant(draws: Float[np.ndarray, "chain draw *quantity"]) -> Bool[np.ndarray, "*quantity"]:
    return np.asarray(draws.max((0, 1)) == draws.min((0, 1)))
