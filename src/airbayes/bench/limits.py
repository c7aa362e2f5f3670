"""Section e: compile time, memory, and the gradient's time against what this machine could do at best.

Ceilings are measured here: a large float32 product, and a large array read and written. A floor is the larger of
FLOP/ceiling and bytes/ceiling; utilisation is floor over time.
"""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp

from airbayes.bench.floors import gradient_bytes, gradient_flops
from airbayes.bench.loops import CompiledLoop
from airbayes.bench.machine import free_memory, on_gpu, peak_memory
from airbayes.bench.pointnet_case import PointNetCase, make_case
from airbayes.bench.rows import Row
from airbayes.bench.sizes import Sizes
from airbayes.bench.step_parts import make_samplers
from airbayes.bench.steps import SNR_DB, step_loop
from airbayes.bench.timing import Timing, Work, time_together
from airbayes.network import ring

GROUP = "e limits"


def run_limits(sizes: Sizes, tell: Callable[[str], None]) -> Iterator[Row]:
    cases = [make_case(sizes.agents, sizes.clouds, sizes.points, cells) for cells in _cell_counts(sizes)]
    gradients = {f"gradient, {_cells(case.cells)}": case.gradient_loop for case in cases}
    loops = dict(gradients)
    if sizes.compile_steps:
        for method, sampler in make_samplers(cases[0], ring(sizes.agents), SNR_DB).items():
            loops[f"step of {method}"] = step_loop(sampler, cases[0])
    for name, loop in loops.items():
        tell(f"compiling {name}")
        made = loop.compilation()
        note = f"{made.trace_seconds:.2f} s of it tracing"
        seconds = made.trace_seconds + made.compile_seconds
        yield Row(GROUP, f"{name}: compile", "s", seconds, repeats=1, note=note)
        yield Row(GROUP, f"{name}: memory", "MB", made.bytes_needed() / 1e6, repeats=1, note="as the compiler counts")

    tell("ceilings and floors")
    size = sizes.gpu_matmul if on_gpu() else sizes.matmul
    copied = min(sizes.gpu_copy_bytes if on_gpu() else sizes.copy_bytes, free_memory() // 8)
    works: dict[str, Work] = {"product": product_loop(size), "copy": copy_loop(copied), **gradients}
    found = time_together(works, sizes.effort)
    flop_rate, byte_rate = 2 * size**3 / found["product"].least, 2 * copied / found["copy"].least
    repeats = found["product"].repeats
    name = f"ceiling: float32 product, {size:,} × {size:,}"
    yield Row(GROUP, name, "GFLOP/s", flop_rate / 1e9, repeats=repeats)
    yield Row(GROUP, f"ceiling: read and write {copied / 1e6:,.0f} MB", "GB/s", byte_rate / 1e9, repeats=repeats)
    for case, name in zip(cases, gradients, strict=True):
        yield from floor_rows(name, case, found[name], flop_rate, byte_rate)
    where = "of the GPU's allocator" if on_gpu() else "of this process, peers included"
    yield Row(GROUP, "peak memory", "MB", peak_memory() / 1e6, repeats=1, note=where)


def floor_rows(name: str, case: PointNetCase, timing: Timing, flop_rate: float, byte_rate: float) -> Iterator[Row]:
    """What the gradient must compute and move at least, the time that takes, and how near we are."""
    cells, agents, clouds, points, _ = case.data.inputs.shape
    flops = gradient_flops(cells * agents * clouds, points, case.model.num_classes)
    moved = gradient_bytes(cells * agents, clouds, points, case.model.num_params)
    floor = max(flops / flop_rate, moved / byte_rate)
    limit = "arithmetic" if flops / flop_rate >= moved / byte_rate else "memory"
    yield Row(GROUP, f"{name}: least arithmetic", "GFLOP", flops / 1e9, repeats=1)
    yield Row(GROUP, f"{name}: least traffic", "MB", moved / 1e6, repeats=1)
    yield Row(GROUP, f"{name}: floor", "ms", 1e3 * floor, repeats=timing.repeats, note=f"set by {limit}")
    more = {"ours_median": floor / timing.median, "note": f"{1e3 * timing.least:.3f} ms measured"}
    yield Row(GROUP, f"{name}: utilisation", "share", floor / timing.least, repeats=timing.repeats, **more)


def product_loop(size: int) -> CompiledLoop:
    """[size, size] times [size, size] in full float32."""
    a, b = jax.random.normal(jax.random.key(0), (2, size, size))
    return CompiledLoop(lambda step, a, b: jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST), a, b)


def copy_loop(size: int) -> CompiledLoop:
    """An array read and written in place."""
    return CompiledLoop(lambda step, x, _: (-x, None), jnp.ones(size // 4), None, evolving=True)


def _cell_counts(sizes: Sizes) -> tuple[int, ...]:
    return (1, sizes.together) if on_gpu() else (1,)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
