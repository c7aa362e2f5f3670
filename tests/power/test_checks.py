"""A policy of one's own with a mistake in it: its kind and shapes are named by the first step, its gains by a trial."""

import jax
import jax.numpy as jnp
import pytest

from airbayes import network
from airbayes.channel import AWGN
from airbayes.errors import AirbayesError
from airbayes.power import Common, Fixed, Gains, OneOf, Optimal, PowerPolicy, Truncated, check_policy
from airbayes.samplers import CDDSGLD

AGENTS = 4


class Mine(PowerPolicy):
    """Returns what it is told to."""

    returns: object

    needs_common_neighbours = False

    def __call__(self, theta, caps, common_neighbours=None):
        return self.returns(caps)  # pyright: ignore[reportCallIssue]


def trace(policy):
    mixing = network.build_mixing(network.ring(AGENTS))
    sampler = CDDSGLD(lambda keys, theta, data: theta, mixing, AWGN(20.0), policy, step_size=1e-3)
    state = sampler.init(jnp.ones((AGENTS, 3)))
    return jax.eval_shape(lambda: sampler.step(jax.random.key(0), state, None))


@pytest.mark.parametrize(
    ("returns", "says"),
    [
        (lambda caps: caps, r"Mine must return power.Gains\(rho, self_gain\), got a "),
        (lambda caps: (caps, caps), "got a tuple"),
        (lambda caps: Gains(jnp.ones(1), jnp.ones(1)), r"Mine: rho \(ρ\) must have .* 4 agents, .*, got shape \(1,\)"),
    ],
)
def test_what_is_not_gains_is_named(returns, says):
    with pytest.raises(AirbayesError, match=says):
        trace(Mine(returns))


def test_a_policy_says_whether_it_needs_common_neighbours():
    class Silent(PowerPolicy):
        def __call__(self, theta, caps, common_neighbours=None):
            return Gains(caps, caps)

    with pytest.raises(AirbayesError, match=r"Silent must say .* write needs_common_neighbours = False, or True"):
        Silent()


def test_a_trial_finds_gains_above_the_caps():
    for policy in (Common(), Truncated(), Optimal(), OneOf((Optimal(), Common()), 1)):
        check_policy(policy, AGENTS)
    check_policy(Common(), 1)
    with pytest.raises(AirbayesError, match=r"Fixed: agent 0 takes the gain ρ = 1 where its cap is u = 0.1"):
        check_policy(Fixed(jnp.ones(AGENTS)), AGENTS)
    for bad in (lambda caps: Gains(-caps, caps), lambda caps: Gains(caps * jnp.nan, caps)):
        with pytest.raises(AirbayesError, match="Mine: agent 0 takes the gain"):
            check_policy(Mine(bad), AGENTS)
