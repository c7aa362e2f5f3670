"""The check that refuses compilers with wrong sums."""

import jax.numpy as jnp
import pytest

from airbayes import compiler
from airbayes.errors import AirbayesError


def test_this_compiler_adds_up():
    compiler.check_compiler()


def test_a_wrong_sum_is_refused(monkeypatch):
    class Wrong:
        def __getattr__(self, name):
            return getattr(jnp, name)

        def sum(self, values, axis):
            return jnp.sum(values, axis=axis).at[..., 0].add(0.01)

    monkeypatch.setattr(compiler, "jnp", Wrong())
    with pytest.raises(AirbayesError, match="wrong sums"):
        compiler.check_compiler()
