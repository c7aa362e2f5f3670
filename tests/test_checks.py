"""Numbers are checked where they are known, and only there."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from unchecked import answers

from airbayes.checks import AT_LEAST_ONE, POSITIVE, POSITIVE_FINITE, check_count, check_number, checked, describe, known
from airbayes.errors import AirbayesError


@pytest.mark.parametrize("value", [-1, -1.0, np.float32(-1), np.array([1, -1]), jnp.float32(-1), jnp.bfloat16(-1)])
def test_bad_numbers_of_any_kind(value):
    with pytest.raises(AirbayesError, match=r"^The size must be positive, got -1\. Take 1\.$"):
        check_number("The size", value, POSITIVE, "Take 1.")


def test_what_is_no_number():
    said = {"'1'": "'1'", "None": "None", "dict": "the class dict", "1j": "a complex"}
    found = answers("from airbayes.checks import *", [f"check_number('x', {value}, POSITIVE)" for value in said])
    for wanted, message in zip(said.values(), found.values(), strict=True):
        assert message.startswith(f"AirbayesError: x must be a number, got {wanted}")


def test_numbers_are_taken_as_they_will_be_used():
    check_number("The size", 1e-60, POSITIVE, dtype=np.float64)
    for value in (1e-60, 1e60):  # 0 and inf in float32
        with pytest.raises(AirbayesError, match=re.escape(f"got {value:.6g}.")):
            check_number("The size", value, POSITIVE_FINITE)


def test_traced_numbers_are_not_known():
    seen = []

    @jax.jit
    def program(x):
        seen.append(known(x))
        seen.append(known([x, 1.0]))
        return checked("x", POSITIVE)(x)

    assert float(program(-1.0)) == -1.0
    assert seen == [None, None]
    assert jax.vmap(checked("x", POSITIVE))(jnp.array([-1.0, 1.0])).tolist() == [-1.0, 1.0]


def test_checked_numbers_are_the_arrays_they_were():
    found, before = checked("x", POSITIVE)(0.1), jnp.asarray(0.1, jnp.float32)
    assert (found.dtype, found.weak_type, found.shape) == (before.dtype, before.weak_type, ())
    assert found == before


def test_whole_numbers_are_not_cut_off():
    assert checked("x", AT_LEAST_ONE, dtype=jnp.int32)(3.0).dtype == jnp.int32
    for value in (2.5, np.float32(1e12)):
        with pytest.raises(AirbayesError, match=r"x must be a whole number, at least 1, got"):
            checked("x", AT_LEAST_ONE, dtype=jnp.int32)(value)


def test_counts():
    check_count("B", np.int64(3))
    check_count("B", 0, 0)
    for value in (0, 2.0, "3", None):
        with pytest.raises(AirbayesError, match="B must be an integer from 1 on, got "):
            check_count("B", value)


def test_descriptions_are_short():
    assert len(describe("x" * 1000)) < 70
    assert describe(np.zeros(3)) == "an array of shape [3]"
