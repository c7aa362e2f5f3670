"""Figures with one panel for each method, at a graph and an SNR that the reader chooses."""

import math
from collections.abc import Callable

from airbayes.report.html.numbers import decibels
from airbayes.report.html.parts import Control, Figure, Panel
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import is_radio, label


def one_per_method(
    run: Run, draw: Callable[[str, str, float], Panel | None], title: str, snrs: list[float] | None = None
) -> Figure | None:
    """A panel for every variant, draw(variant, graph, snr), with a menu for the graph and a slider over the SNR."""
    snrs, topologies = snrs or run.snrs or [math.inf], run.topologies or ["none"]
    frames: dict[str, list[Panel]] = {}
    for i, topology in enumerate(topologies):
        for j, snr in enumerate(snrs):
            found = [draw(variant, topology, snr) for variant in run.variants]
            frames[f"{i}|{j}"] = [panel for panel in found if panel is not None]
    if not any(frames.values()):
        return None
    controls = (
        Control("Graph", tuple(map(show_topology, topologies))),
        Control("SNR", tuple(map(decibels, snrs)), len(snrs) - 1, slider=True),
    )
    return Figure(title, frames, 3, controls)


def method_panel(kind: str, variant: str, snr: float) -> Panel:
    """What every such panel begins with."""
    at = decibels(snr) if is_radio(variant) else "ideal links"
    return {"type": kind, "title": label(variant), "method": variant, "under": at}
