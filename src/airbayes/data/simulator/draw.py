"""Short names for the draws that shapes are made of."""

from collections.abc import Mapping

from numpy.random import Generator


def between(rng: Generator, low: float, high: float) -> float:
    """Uniform from low to high."""
    return low + (high - low) * rng.random()


def normal(rng: Generator, mean: float, spread: float) -> float:
    """Normal, cut off at 2.5 standard deviations: nobody is four metres tall."""
    return mean + spread * min(max(rng.standard_normal(), -2.5), 2.5)


def pick(rng: Generator, shares: Mapping[str, float]) -> str:
    """One of the names, by its share."""
    names = list(shares)
    place = rng.random() * sum(shares.values())
    for name in names:
        place -= shares[name]
        if place < 0:
            return name
    return names[-1]
