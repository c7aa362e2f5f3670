"""Numbers as a page needs them: short, finite or null, and with an interval where there are several seeds."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Number = int | float  # whole numbers are written without a point
LEVEL = 0.95
EXACT = 9  # digits of a float32: the page rounds to three, and rounding twice would contradict its tables
MIN_INTERVAL = 5  # seeds: with two, Student's interval is 13 standard errors wide and says nothing


def short(value: float, digits: int = 6) -> Number | None:
    """`digits` significant digits; None where there is no number, since JSON has no NaN."""
    value = float(value)
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e9 else rounded


def shorts(values: Sequence[float] | np.ndarray, digits: int = 6) -> list[Number | None]:
    return [short(value, digits) for value in np.asarray(values, np.float64).ravel()]


def interval(values: np.ndarray, high: float | None = None, low: float = 0.0, log: bool = False) -> tuple[float, float]:
    """Student's 95 % interval of the mean over seeds, within `low` and `high`; of few their range; of one nothing.

    On a logarithmic axis it never falls below the least seed's value: a mean less its interval may well be negative.
    """
    from scipy.stats import t

    values = np.asarray(values, np.float64)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return math.nan, math.nan
    if len(values) < MIN_INTERVAL:
        return float(values.min()), float(values.max())
    half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))
    top = math.inf if high is None else high
    bottom = max(low, float(values.min())) if log else low
    return max(bottom, float(values.mean()) - half), min(top, float(values.mean()) + half)


def interval_words(seeds: int, log: bool = False) -> str:
    if seeds >= MIN_INTERVAL:
        cut = ", on a logarithmic axis cut at the lowest seed" if log else ""
        return f"95 % interval of the mean over {seeds} seeds{cut}"
    return f"from the lowest to the highest of {seeds} seeds (an interval needs {MIN_INTERVAL})"


def value_range(
    series: Iterable[Any], low: float | None = None, high: float | None = None, log: bool = False, pad: float = 0.06
) -> list[Number]:
    """The range that holds every number given (None is skipped), with a margin; `low` and `high` fix an end."""
    found = np.array([value for value in series if value is not None and math.isfinite(value)], np.float64)
    if log:
        found = found[found > 0]
    if not len(found):
        return [0.1, 1.0] if log else [low or 0.0, high or 1.0]
    first, last = float(found.min()), float(found.max())
    if log:
        if last <= first * 1.2:
            first, last = (first, max(last, first * 1.2)) if low else (first / 2, last * 2)  # R-hat is not 0.5
        factor = (last / first) ** pad
        return [short(first / factor) or first, short(last * factor) or last]
    if last == first:
        first, last = first - 0.5 * abs(first or 1), last + 0.5 * abs(last or 1)
    margin = pad * (last - first)
    first, last = first - margin, last + margin
    return [
        first if low is None else max(low, first) if low != 0 else 0.0,
        last if high is None else min(high, last),
    ]


def decimals(value: float, digits: int = 3) -> str:
    """For tables: 0.123, 12.3, 1,234; a dash where there is no number."""
    if not math.isfinite(value):
        return "–"
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 10.0 ** (-digits - 1)):
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return f"{mantissa}·10{_raised(int(exponent))}".replace("-", "−")
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    places = max(0, digits - max(0, math.floor(math.log10(abs(value))) if value else 0))
    return f"{value:.{places}f}".replace("-", "−")


def _raised(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def count(value: float) -> str:
    """A number of things: whole where it is one, as a mean may not be."""
    return f"{value:,.0f}" if math.isfinite(value) and value == round(value) else decimals(value)


def units_kept(text: str) -> str:
    """No line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=%|(?:dB|nats)\b)", "\N{NO-BREAK SPACE}", text)


def decibels(snr: float) -> str:
    return "ideal links" if math.isinf(snr) else f"{snr:g}\N{NO-BREAK SPACE}dB".replace("-", "−")
