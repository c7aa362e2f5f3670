"""Section a: the gradients of one iteration, 5 agents × 240 clouds × 64 points, beside PyTorch.

On a GPU also with 36 cells together: there the time is per cell, and the loop's is that of its own single cell.
"""

from collections.abc import Callable, Iterator
from typing import Any

from airbayes.bench import peers
from airbayes.bench.machine import on_gpu, too_large
from airbayes.bench.pointnet_case import PointNetCase, make_case
from airbayes.bench.rows import Row, against, timed
from airbayes.bench.sizes import Sizes
from airbayes.bench.timing import Timing, Work, time_together

GROUP = "a gradient"
LOOP = "torch loop"
CPU_TARGET, GPU_TARGET = 4.0, 50.0  # times faster than the loop; on a GPU per cell, with many cells together
NO_COMPILE = "left out by --quick or --no-compile, torch.compile takes a minute"


def run_gradient(sizes: Sizes, tell: Callable[[str], None]) -> Iterator[Row]:
    case = make_case(sizes.agents, sizes.clouds, sizes.points)
    name = f"{sizes.agents} agents × {sizes.clouds} clouds × {sizes.points} points"
    tell(f"{name}: compiling")
    works: dict[str, Work] = {"airbayes": case.gradient_loop}
    absent: dict[str, str] = {}
    makers = torch_works(case)
    for peer, make in makers.items():
        if "compile" in peer and not sizes.compile_peers:
            absent[peer] = NO_COMPILE
            continue
        tell(f"{name}: preparing {peer}")
        try:
            works[peer] = peers.prepare(make)
        except peers.PeerAbsent as reason:
            absent[peer] = str(reason)
    together = f"{sizes.together} cells together"
    absent["many"] = "" if on_gpu() else "only on a GPU: on a CPU one cell fills the cores"
    if on_gpu():
        tell(f"{name}: {together}")
        many = make_case(sizes.agents, sizes.clouds, sizes.points, sizes.together)
        loop = many.gradient_loop
        absent["many"] = too_large(loop.compilation().bytes_needed())
        try:
            works["many func"] = peers.prepare(torch_works(many)["torch.func"])
        except peers.PeerAbsent as reason:
            absent["many func"] = str(reason)
        if not absent["many"]:
            works["many"] = loop
    tell(f"{name}: timing {len(works)} ways")
    found = time_together(works, sizes.effort)

    yield timed(GROUP, name, found["airbayes"])
    for peer in makers:
        if peer in absent:
            yield Row(GROUP, f"{name} / {peer}", "ms", peer_name=peer, skipped=absent[peer])
            continue
        target = CPU_TARGET if peer == LOOP and not on_gpu() else None
        yield against(GROUP, f"{name} / {peer}", found["airbayes"], peer, found[peer], at_least=target)
        if not on_gpu():
            yield processor_row(f"{name} / {peer}", found["airbayes"], peer, found[peer])
    title = f"{name}, {together}"
    if absent["many"]:
        yield Row(GROUP, title, "ms a cell", skipped=absent["many"])
        return
    per_cell = {"unit": "ms a cell", "scale": 1e3 / sizes.together}
    yield timed(GROUP, title, found["many"], **per_cell)
    for peer, times, target in ((LOOP, 1e3, GPU_TARGET), ("many func", 1e3 / sizes.together, None)):
        label = peer if peer == LOOP else f"torch.func, {together}"
        if peer in absent:
            yield Row(GROUP, f"{title} / {label}", "ms a cell", peer_name=label, skipped=absent[peer])
        else:
            more = {"peer_scale": times, "at_least": target}
            yield against(GROUP, f"{title} / {label}", found["many"], label, found[peer], **per_cell, **more)


def processor_row(name: str, ours: Timing, peer_name: str, peer: Timing) -> Row:
    """The same comparison in processor time. On one core it does not depend on other load; with several threads it
    counts their waiting too, so `taskset -c 0` is the fair way to read it."""
    mine, theirs = 1e3 * ours.processor, 1e3 * peer.processor
    ratio = theirs / mine if mine > 0 else None
    note = "of all threads, their waiting included; compare on one core"
    return Row(
        GROUP, f"{name}: processor time", "ms", mine, theirs, ratio, ours.repeats, peer_name=peer_name, note=note
    )


def torch_works(case: PointNetCase) -> dict[str, Callable[[], Work]]:
    """The peers' ways, each built only when it is asked for."""

    def way(choose: Callable[[Any], Callable[[], object]]) -> Callable[[], Work]:
        def make() -> Work:
            torch = peers.load_torch()
            from airbayes.bench.torch_pointnet import TorchCase

            return peers.torch_loop(torch, choose(TorchCase(case)))

        return make

    return {
        LOOP: way(lambda one: one.loop()),
        "torch.func": way(lambda one: one.vmapped()),
        "torch.func, torch.compile": way(lambda one: one.vmapped(compiled=True)),
    }
