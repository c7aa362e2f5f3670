"""One row per measurement: ours, the peer's and their ratio, or the reason why there is none."""

import dataclasses
import math
from typing import Any

from airbayes.bench.timing import Timing


@dataclasses.dataclass(frozen=True)
class Row:
    """`ratio` above 1 means that airbayes is faster than the peer, in scaling rows that size costs more than linear.

    `ours` and `peer` are the least of the repeats, which other load on the machine disturbs least.
    """

    group: str  # section, for example "a gradient"
    name: str
    unit: str = ""
    ours: float | None = None
    peer: float | None = None
    ratio: float | None = None
    repeats: int = 0
    ours_median: float | None = None
    peer_median: float | None = None
    peer_name: str = ""
    at_least: float | None = None  # the target of the ratio, or of `ours` where there is no ratio
    at_most: float | None = None
    note: str = ""
    skipped: str = ""  # the reason; then there are no numbers

    def met(self) -> bool | None:
        """Whether the target is reached; None without a target or without a number."""
        value = self.ours if self.ratio is None else self.ratio
        if value is None or (self.at_least is None and self.at_most is None):
            return None
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def as_json(self) -> dict[str, Any]:
        """All fields and `met`; numbers that are not finite become null, which JSON can say."""
        fields = dataclasses.asdict(self) | {"met": self.met()}
        return {name: None if _not_finite(value) else value for name, value in fields.items()}


def _not_finite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def timed(group: str, name: str, ours: Timing, *, unit: str = "ms", scale: float = 1e3, **more: Any) -> Row:
    """A row of our time alone; `scale` turns seconds into `unit`."""
    return Row(group, name, unit, scale * ours.least, None, None, ours.repeats, scale * ours.median, **more)


def against(
    group: str,
    name: str,
    ours: Timing,
    peer_name: str,
    peer: Timing,
    *,
    unit: str = "ms",
    scale: float = 1e3,
    peer_scale: float | None = None,
    **more: Any,
) -> Row:
    """A row of two times and how many times faster ours is; `peer_scale` where a call of the peer does less work."""
    times = peer_scale if peer_scale is not None else scale
    mine, theirs = scale * ours.least, times * peer.least
    medians = {"ours_median": scale * ours.median, "peer_median": times * peer.median}
    return Row(group, name, unit, mine, theirs, theirs / mine, ours.repeats, peer_name=peer_name, **medians, **more)
