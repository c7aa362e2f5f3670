"""Entropy is asked of probabilities only."""

import jax.numpy as jnp
import pytest

from airbayes.errors import AirbayesError
from airbayes.metrics import predictive_entropy


def test_entropy_refuses_values_that_are_no_probabilities():
    with pytest.raises(AirbayesError, match="holds no probabilities"):
        predictive_entropy(jnp.array([[2.0, 3.0]]))
