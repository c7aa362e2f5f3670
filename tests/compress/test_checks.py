"""What Q-DSGD is given to compress with, and a mistake in it: named before or by the first step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes import network
from airbayes.compress import CompressInfo, Compressor, Identity
from airbayes.compress.checks import check_top_t
from airbayes.errors import AirbayesError
from airbayes.samplers import QDSGD

AGENTS, PARAMS = 4, 3


class Mine(Compressor):
    """Returns what it is told to."""

    returns: object

    def __call__(self, key, values, t):
        return self.returns(values)  # pyright: ignore[reportCallIssue]


def make(top_t, compressor):
    mixing = network.build_mixing(network.ring(AGENTS))
    return QDSGD(lambda keys, theta, data: theta, mixing, top_t, 1e-3, 0.3, compressor=compressor)


def trace(compressor):
    sampler = make(jnp.full((AGENTS,), 2, jnp.int32), compressor)
    state = sampler.init(jnp.ones((AGENTS, PARAMS)))
    return jax.eval_shape(lambda: sampler.step(jax.random.key(0), state, None))


COST = CompressInfo(jnp.asarray(1), jnp.asarray(1.0), jnp.asarray(1.0))


@pytest.mark.parametrize(
    ("returns", "says"),
    [
        (lambda values: values, "Mine must return two things, .*, got a "),
        (lambda values: (values, 3.0), r"got \(.*Tracer, float\)"),
        (lambda values: (values, COST, 1), "Mine must return two things"),
        (
            lambda values: (values[:1], COST),
            r"vector dense, of shape \(3,\), got shape \(1,\)",
        ),
    ],
)
def test_what_is_no_message_is_named(returns, says):
    trace(Mine(lambda values: (values, COST)))
    with pytest.raises(AirbayesError, match=says):
        trace(Mine(returns))


@pytest.mark.parametrize("top_t", [2, [2, 2, 2, 2], jnp.asarray(2), jnp.full((3,), 2), jnp.ones(AGENTS)])
def test_t_must_be_one_whole_number_for_each_agent(top_t):
    check_top_t(np.full(AGENTS, 2), AGENTS)
    with pytest.raises(AirbayesError, match=r"top_t must be an array of 4 whole numbers.* jnp.full\(\(4,\), t"):
        check_top_t(top_t, AGENTS)


def test_a_wrong_number_of_t_is_named_when_the_sampler_is_made():
    with pytest.raises(AirbayesError, match=r"got shape \(3,\) of int32"):
        make(jnp.full((3,), 2, jnp.int32), Identity())
