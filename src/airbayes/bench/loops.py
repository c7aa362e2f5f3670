"""Work inside one compiled loop with a traced length, which is how experiments run their steps.

A loop would move work that is the same in every iteration out of itself. So the inputs of an iteration are tied to the
outputs of the one before: by being the new state, or by a barrier that computes nothing.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree


class CompiledLoop:
    """`part(step, varying, fixed) → out`, over and over; call it with the number of iterations.

    With `evolving`, `part` returns (new varying, out) instead, as a sampler does.
    """

    def __init__(self, part: Callable[..., Any], varying: PyTree, fixed: PyTree, *, evolving: bool = False):
        arrays, static = eqx.partition((varying, fixed), eqx.is_array)

        def one(step, varying, fixed):
            if evolving:
                return part(step, varying, fixed)
            return varying, part(step, varying, fixed)

        def run(count, arrays):
            varying, fixed = eqx.combine(arrays, static)
            moving, still = eqx.partition(varying, eqx.is_array)

            def body(step, carry):
                moving, _ = carry if evolving else jax.lax.optimization_barrier(carry)
                changed, out = one(step, eqx.combine(moving, still), fixed)
                return eqx.filter(changed, eqx.is_array), out

            shapes = jax.eval_shape(lambda: one(jnp.int32(0), varying, fixed)[1])
            empty = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
            return jax.lax.fori_loop(0, count, body, (moving, empty))

        self._run, self._arrays = jax.jit(run), arrays
        self._compiled: Compilation | None = None

    def __call__(self, count: int) -> PyTree:
        return jax.block_until_ready(self.compilation().program(jnp.int32(count), self._arrays))

    def compilation(self) -> "Compilation":
        """The program and what it took to make it; compiled once, on first use, and not yet run."""
        if self._compiled is None:
            started = time.perf_counter()
            lowered = self._run.lower(jnp.int32(1), self._arrays)
            traced = time.perf_counter()
            program = lowered.compile()
            self._compiled = Compilation(program, traced - started, time.perf_counter() - traced)
        return self._compiled


class Compilation(NamedTuple):
    program: Any
    trace_seconds: float
    compile_seconds: float

    def bytes_needed(self) -> int:
        """Arguments, results and scratch memory of one call, as the compiler counts them; 0 where it does not."""
        analysis = self.program.memory_analysis()
        if analysis is None:
            return 0
        held = analysis.argument_size_in_bytes + analysis.output_size_in_bytes + analysis.temp_size_in_bytes
        return held - analysis.alias_size_in_bytes


def over_cells(tree: PyTree, cells: int) -> PyTree:
    """The same arrays for every cell, stacked as an experiment stacks them."""
    return jax.tree.map(lambda leaf: jnp.stack([leaf] * cells) if eqx.is_array(leaf) else leaf, tree)
