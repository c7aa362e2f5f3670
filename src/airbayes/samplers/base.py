"""What every algorithm is: a pair of pure functions over the state of all agents.

    state = sampler.init(theta)                         theta: [agent, param]
    state, info = sampler.step(key, state, data)        the same run key at every step

A sampler is a pytree: made inside a function that `vmap` maps over settings, it runs many cells in one program. Its
numbers are arrays, so `eqx.filter_jit(sampler.step)` compiles it and jax.jit does not.

Randomness depends on (key, state.step, purpose, agent) alone, so chunking, resuming and sharding never change a result.
"""

import abc
import inspect
import sys
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

Info = dict[str, Float[Array, " agent"]]
"""What a step tells people: one number per agent and name. docs/api/samplers.md lists the names."""


class State(eqx.Module):
    """What the next step needs; algorithms with memory add fields."""

    theta: Float[Array, "agent param"]  # θ_k
    step: Int[Array, ""]  # s, the number of steps taken
    faults: PyTree = eqx.field(default=None, kw_only=True)  # memory of failing links and agents; see samplers.faults


StateT = TypeVar("StateT", bound=State)


PARTS = """`gradient` is a function (keys, θ [agent, param], data) → ∇f_k(θ_k) [agent, param]; `step_size` is
η > 0, or a `StepSize`. What the others are: docs/api/samplers.md, docs/notation.md."""


class Sampler(eqx.Module, Generic[StateT]):
    """Base of all algorithms; subclasses are final."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("airbayes.") and cls.__doc__:  # `help` of a class says its equation, too
            cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\n{PARTS}\n\n{sys.modules[cls.__module__].__doc__}"

    @abc.abstractmethod
    def init(self, theta: Float[Array, "agent param"]) -> StateT:
        """The state before the first step, from θ⁰: `jnp.zeros((N, m))`, or `jnp.tile(point, (N, 1))`."""

    @abc.abstractmethod
    def step(self, key: Key[Array, ""], state: StateT, data: PyTree) -> tuple[StateT, Info]:
        """One synchronous step of all agents. Give the same `key` at every step: the step is folded in.

        `data` is what `gradient` takes: of a `models.Posterior` what `models.stack_agents(inputs, targets)` gives.
        """


def first_step() -> Int[Array, ""]:
    return jnp.zeros((), jnp.int32)


def row_norms(rows: Float[Array, "agent param"]) -> Float[Array, " agent"]:
    return jnp.sqrt(jnp.sum(rows * rows, axis=-1))
