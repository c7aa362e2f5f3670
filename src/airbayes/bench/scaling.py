"""Section d: what more cells, agents, points and parameters cost; each block is timed together.

The ratio is the cost per cell, agent, point or parameter against the block's reference: 1 is linear, more is worse.
"""

import time
from collections.abc import Callable, Iterator

from airbayes.bench.loops import CompiledLoop
from airbayes.bench.machine import too_large
from airbayes.bench.network_case import GRAPHS, bytes_expected, make_graph, make_mixing, network_loop
from airbayes.bench.pointnet_case import make_case
from airbayes.bench.rows import Row
from airbayes.bench.sizes import Sizes
from airbayes.bench.step_parts import make_samplers
from airbayes.bench.steps import SNR_DB, step_loop
from airbayes.bench.timing import Work, time_together
from airbayes.network import ring

GROUP = "d scaling"
FLAT = 1.3  # most that an agent-iteration may cost beyond the reference size
REFERENCE_POINTS, REFERENCE_PARAMS = 64, 10_000

Tell = Callable[[str], None]


def run_scaling(sizes: Sizes, tell: Tell) -> Iterator[Row]:
    if "cells" in sizes.blocks:
        yield from scale_cells(sizes, tell)
    if "agents" in sizes.blocks:
        for graph in GRAPHS:
            yield from scale_agents(graph, sizes, tell)
    if "points" in sizes.blocks:
        yield from scale_points(sizes, tell)
    if "parameters" in sizes.blocks:
        yield from scale_params(sizes, tell)


def scale_cells(sizes: Sizes, tell: Tell) -> Iterator[Row]:
    """A step of CD-DSGLD (common) on PointNet, many cells in one program."""

    def make(cells: int) -> CompiledLoop:
        case = make_case(sizes.agents, sizes.clouds, sizes.points, cells)
        return step_loop(make_samplers(case, ring(sizes.agents), SNR_DB)["cd_dsgld common"], case)

    yield from scale("cells", sizes.cell_counts, 1, make, sizes, tell, unit="ms a cell", scale=1e3)


def scale_agents(graph: str, sizes: Sizes, tell: Tell) -> Iterator[Row]:
    """A step of CD-DSGLD (common), linear model, sparse graph; also how long the graph took to make."""
    built: list[Row] = []

    def make(agents: int) -> CompiledLoop:
        started = time.perf_counter()
        mixing = make_mixing(make_graph(graph, agents))
        seconds = time.perf_counter() - started
        built.append(Row(GROUP, f"{graph}, agents {agents:,}: build graph", "s", seconds, repeats=1))
        return network_loop(mixing, sizes.features)

    yield from scale(
        f"{graph}, agents",
        sizes.network_sizes,
        sizes.reference_size,
        make,
        sizes,
        tell,
        expected=lambda agents: bytes_expected(agents, sizes.features),
        unit="ns per agent-iteration",
        scale=1e9,
        at_most=FLAT,
    )
    yield from built


def scale_points(sizes: Sizes, tell: Tell) -> Iterator[Row]:
    """The gradient of PointNet over clouds of more points."""

    def make(points: int) -> CompiledLoop:
        return make_case(sizes.agents, sizes.clouds, points).gradient_loop

    per_point = 1e9 / (sizes.agents * sizes.clouds)
    yield from scale(
        "points", sizes.point_counts, REFERENCE_POINTS, make, sizes, tell, unit="ns a point", scale=per_point
    )


def scale_params(sizes: Sizes, tell: Tell) -> Iterator[Row]:
    """A step of CD-DSGLD (common), linear model, 5 agents on a ring."""

    def make(params: int) -> CompiledLoop:
        return network_loop(make_mixing(ring(sizes.agents)), params)

    yield from scale(
        "parameters",
        sizes.param_counts,
        REFERENCE_PARAMS,
        make,
        sizes,
        tell,
        unit="ns a parameter",
        scale=1e9 / sizes.agents,
    )


def scale(
    title: str,
    counts: tuple[int, ...],
    reference: int,
    make: Callable[[int], CompiledLoop],
    sizes: Sizes,
    tell: Tell,
    *,
    unit: str,
    scale: float,
    expected: Callable[[int], int] = lambda count: 0,
    at_most: float | None = None,
) -> Iterator[Row]:
    """Time and memory per unit of size; what does not fit is skipped before it runs."""
    works: dict[str, Work] = {}
    needed: dict[int, int] = {}
    for count in counts:
        name = f"{title} {count:,}"
        tell(name)
        reason = too_large(expected(count))
        loop = None if reason else make(count)
        if loop is not None:
            needed[count] = loop.compilation().bytes_needed()
            reason = too_large(needed[count])
        if loop is None or reason:
            yield Row(GROUP, name, unit, skipped=reason)
        else:
            works[str(count)] = loop
    found = time_together(works, sizes.effort)
    base = found[str(reference)].least / reference if str(reference) in found else None
    for key, timing in found.items():
        count = int(key)
        each = timing.least / count
        name = f"{title} {count:,}"
        ratio = None if base is None else each / base
        limit = at_most if count > reference else None
        median = scale * timing.median / count
        used = f"processor time {scale * timing.processor / count:,.4g} {unit}"
        more = {"ours_median": median, "at_most": limit, "note": f"ratio to {reference:,}; {used}"}
        yield Row(GROUP, name, unit, scale * each, None, ratio, timing.repeats, **more)
        if needed[count]:
            each, base_bytes = needed[count] / count, needed.get(reference, 0) / reference
            ratio = each / base_bytes if base_bytes else None
            bytes_unit = "kB per " + title.split(", ")[-1].rstrip("s")
            more = {"at_most": limit, "note": "arguments, results and scratch, as compiled"}
            yield Row(GROUP, f"{name}: memory", bytes_unit, each / 1e3, None, ratio, 1, **more)
