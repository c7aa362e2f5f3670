"""Statistical checks of samples against an exact law, each returning p-values under the null.

FALSE_ALARM is the probability that one p-value of a correct sampler fails its test. Seeds are fixed, so a test
that passes keeps passing until the sampler's stream or law changes.
"""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-4


def gaussian_p_values(samples: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> dict[str, float]:
    """χ² for the mean, χ² for the covariance, KS for the Mahalanobis distance; samples are [chain, dim]."""
    n, dim = samples.shape
    white = np.linalg.solve(np.linalg.cholesky(cov), (samples.astype(np.float64) - mean).T).T
    second = white.T @ white / n
    upper = np.triu_indices(dim, 1)
    spread = n * np.sum(second[upper] ** 2) + n / 2 * np.sum((np.diag(second) - 1) ** 2)
    return {
        "mean": float(stats.chi2.sf(n * np.sum(white.mean(axis=0) ** 2), dim)),
        "covariance": float(stats.chi2.sf(spread, dim * (dim + 1) / 2)),
        "mahalanobis": float(stats.kstest(np.sum(white**2, axis=1), stats.chi2(dim).cdf).pvalue),
    }


def moment_p_values(samples: np.ndarray, mean: np.ndarray, cov: np.ndarray) -> dict[str, float]:
    """The largest deviation of any first and any second moment in its own empirical standard errors (Bonferroni).

    For laws that are not Gaussian: nothing is assumed but finite fourth moments.
    """
    n, dim = samples.shape
    white = np.linalg.solve(np.linalg.cholesky(cov), (samples.astype(np.float64) - mean).T).T
    first, second = np.triu_indices(dim)
    products = white[:, first] * white[:, second] - (first == second)

    def worst(values: np.ndarray) -> float:
        z = values.mean(axis=0) / (values.std(axis=0, ddof=1) / np.sqrt(n))
        return float(min(1.0, 2 * stats.norm.sf(np.max(np.abs(z))) * values.shape[1]))

    return {"mean": worst(white), "covariance": worst(products)}


def assert_law(p_values: dict[str, float]) -> None:
    failing = {name: p for name, p in p_values.items() if not p > FALSE_ALARM}
    assert not failing, f"p-values at or below the false-alarm rate {FALSE_ALARM}: {failing}"


def caught(p_values: dict[str, float]) -> bool:
    """Whether any check rejects: what a mutant must bring about."""
    return min(p_values.values()) <= FALSE_ALARM
