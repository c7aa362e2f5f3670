"""Numbers that users hand in, checked when they are handed in.

Under jit and vmap a number is traced: it is not known yet, and not checked. So cells with other step sizes still run in
one program, and a check costs a run nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, ArrayLike

from airbayes.errors import AirbayesError
from airbayes.text import printable


class Rule(NamedTuple):
    """What a number must be."""

    text: str  # after "must be"
    holds: Callable[[np.ndarray], np.ndarray]  # False for NaN, too


POSITIVE = Rule("positive", lambda x: x > 0)
POSITIVE_FINITE = Rule("positive and finite", lambda x: (x > 0) & (x < np.inf))
ANY = Rule("a number", lambda x: np.ones(x.shape, bool))  # inf and NaN, too
NOT_NEGATIVE = Rule("zero or more", lambda x: x >= 0)
NOT_NEGATIVE_FINITE = Rule("zero or more and finite", lambda x: (x >= 0) & (x < np.inf))
AT_LEAST_ONE = Rule("at least 1", lambda x: x >= 1)
PROBABILITY = Rule("from 0 to 1", lambda x: (x >= 0) & (x <= 1))
BELOW_ONE = Rule("from 0 to below 1", lambda x: (x >= 0) & (x < 1))


def known(value: Any) -> np.ndarray | None:
    """The value on the host; None while it is traced, or where other processes hold a part of it."""
    for leaf in jax.tree.leaves(value):  # of a list, too
        if isinstance(leaf, Tracer) or (isinstance(leaf, jax.Array) and not leaf.is_fully_addressable):
            return None
    return np.asarray(value)


def check_number(what: str, value: ArrayLike, rule: Rule, fix: str = "", dtype: Any = np.float32) -> None:
    """Refuse a known number, or an array with one, that breaks the rule once it is rounded to `dtype`."""
    asked = known(value)
    if asked is None:
        return
    _refuse_other_kinds(what, value, asked, fix)
    with np.errstate(over="ignore", invalid="ignore"):  # too large for float32 is inf
        taken = asked.astype(dtype)
    broken = ~rule.holds(taken)
    if jnp.issubdtype(dtype, jnp.integer):
        rule, broken = Rule(f"a whole number, {rule.text}", rule.holds), broken | (taken != asked)
    if broken.any():
        raise AirbayesError(f"{what} must be {rule.text}, got {float(asked[broken][0]):.6g}. {fix}".rstrip())


def checked(
    what: str, rule: Rule, fix: str = "", dtype: Any = jnp.float32, one: bool = False
) -> Callable[[ArrayLike], Array]:
    """A converter of a module's field: to an array on the device, or with `one` to one number, after a look at it."""

    def convert(value: ArrayLike) -> Array:
        check_number(what, value, rule, fix, dtype)
        return jnp.asarray(one_number(what, value) if one else value, dtype)

    return convert


def one_number(what: str, value: ArrayLike) -> Array:
    """What the whole network shares, where it is used; an array of them would meet the wrong axis without a word."""
    if not isinstance(value, jax.Array):
        _refuse_other_kinds(what, value, np.asarray(value))
    number = jnp.asarray(value)
    if number.shape:
        raise AirbayesError(
            f"{what} must be one number for all agents, got shape {list(number.shape)}. To run several, make the "
            "sampler inside the function that jax.vmap maps over them."
        )
    return number


def _refuse_other_kinds(what: str, value: object, asked: np.ndarray, fix: str = "") -> None:
    if not (jnp.issubdtype(asked.dtype, jnp.floating) or jnp.issubdtype(asked.dtype, jnp.integer)):
        raise AirbayesError(f"{what} must be a number, got {describe(value)}. {fix}".rstrip())


def check_count(what: str, value: object, least: int = 1, fix: str = "") -> None:
    """Refuse what is no whole number, or a smaller one."""
    if not isinstance(value, int | np.integer) or value < least:
        raise AirbayesError(f"{what} must be an integer from {least} on, got {describe(value)}. {fix}".rstrip())


def check_part(name: str, part: object, kind: type, example: str) -> None:
    """A part is an instance of a class of ours, or of a user's subclass of it."""
    if not isinstance(part, kind):
        raise AirbayesError(f"{name} must be a {kind.__name__} such as {example}, got {describe(part)}.")


def describe(value: object) -> str:
    """A part of the wrong kind, for a message: short, and a class is told from an instance."""
    if isinstance(value, type):
        return f"the class {value.__name__} (add parentheses to make one)"
    if isinstance(value, str | int | float | None):
        return printable(repr(value))
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:  # the class of an array says nothing, and one of JAX is ArrayImpl
        return f"{'random keys' if str(dtype).startswith('key') else 'an array'} of shape {list(shape)}"
    return f"a {type(value).__name__}"
