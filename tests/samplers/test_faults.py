"""Faults with a memory or a will, and receivers that doubt: what each does, and what none may ever do."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes import network
from airbayes.channel import AWGN, Channel, ImpulsiveNoise, Jammed, NoisyGainAWGN
from airbayes.errors import AirbayesError
from airbayes.models import FullGradient, GaussianPrior, LinearRegression, Posterior, stack_agents
from airbayes.network import build_mixing, burst_mask, is_split, links_up, mix, surviving_components
from airbayes.power import Common, Optimal, Truncated
from airbayes.samplers import (
    CDDSGLD,
    DSGD,
    DSGHMC,
    DSGLD,
    QDSGD,
    Attack,
    BothOutages,
    Bursts,
    Churn,
    ClippingReceiver,
    Faults,
    Jamming,
    Late,
    LinkOutage,
    NodeOutage,
    TestingReceiver,
)
from airbayes.samplers.faults import play_round

AGENTS, PARAMS, ETA = 6, 40, 1e-2
KEY = jax.random.key(5)
RNG = np.random.default_rng(3)
DATA = stack_agents(
    list(RNG.normal(size=(AGENTS, 8, PARAMS)).astype(np.float32)), list(RNG.normal(size=(AGENTS, 8)).astype(np.float32))
)
GRADIENT = FullGradient(Posterior(LinearRegression(PARAMS).log_likelihood, GaussianPrior(), AGENTS))
MIXING = build_mixing(network.ring(AGENTS), layout="table")
ALL = Faults(Bursts(0.3, 4.0), Churn(0.2, 6.0), Late(0.5, 3), Attack(0.2, 1.0, "random"))
NONE_HAPPENS = Faults(Bursts(0.0, 4.0), Churn(0.0, 6.0), Late(0.0, 3), Attack(0.0, 1.0, "flip"))
T = jnp.full((AGENTS,), 9, jnp.int32)


@pytest.mark.parametrize("fault", [{"bursts": Bursts(0.3, 4.0)}, {"churn": Churn(0.2, 6.0)}, {"late": Late(0.5, 3)}])
def test_a_state_that_knows_nothing_of_a_fault_is_refused(fault):
    """Else the fault would not happen, without a word."""
    sampler = DSGLD(GRADIENT, MIXING, ETA, faults=Faults(**fault))
    for other in (None, Faults(attack=Attack(0.2, 1.0))):
        state = DSGLD(GRADIENT, MIXING, ETA, faults=other).init(start())
        with pytest.raises(AirbayesError, match="by a sampler without these faults"):
            sampler.step(KEY, state, DATA)


def nothing(keys, theta, data):
    return jnp.zeros_like(theta)


def start(seed: int = 0) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), (AGENTS, PARAMS))


def samplers(faults: Faults | None, gradient=GRADIENT) -> dict:
    return {
        "dsgld": DSGLD(gradient, MIXING, ETA, faults=faults),
        "dsghmc": DSGHMC(gradient, MIXING, ETA, 5.0, faults=faults),
        "common": CDDSGLD(gradient, MIXING, AWGN(8.0), Common(), ETA, faults=faults),
        "optimal": CDDSGLD(gradient, MIXING, AWGN(8.0), Optimal(), ETA, faults=faults),
        "q-own-value": QDSGD(gradient, MIXING, T, ETA, 1.0, "own-value", faults=faults),
    }


every = pytest.mark.parametrize("name", ["dsgld", "common", "q-own-value"])  # the rest share their code


@eqx.filter_jit
def _run(sampler, state, steps):
    return jax.lax.fori_loop(0, steps, lambda _, s: sampler.step(KEY, s, DATA)[0], state)


def run(sampler, state, steps: int):
    return _run(sampler, state, jnp.int32(steps))  # traced: one program for any number


@eqx.filter_jit
def advance(sampler, state):
    return sampler.step(KEY, state, DATA)


@every
def test_faults_that_never_happen_change_no_bit(name):
    with_faults, without = samplers(NONE_HAPPENS)[name], samplers(None)[name]
    a, b = run(with_faults, with_faults.init(start()), 20), run(without, without.init(start()), 20)
    np.testing.assert_array_equal(a.theta, b.theta)
    assert b.faults is None


@every
def test_a_run_cut_and_saved_is_the_run_itself(name):
    sampler = samplers(ALL)[name]
    whole = run(sampler, sampler.init(start()), 30)
    saved = jax.tree.map(np.asarray, run(sampler, sampler.init(start()), 11))
    resumed = run(sampler, jax.tree.map(jnp.asarray, saved), 19)
    for x, y in zip(jax.tree.leaves(whole), jax.tree.leaves(resumed), strict=True):
        np.testing.assert_array_equal(x, y)
    assert float(jnp.abs(whole.theta - run(sampler, sampler.init(start()), 29).theta).max()) > 0


def test_consensus_is_kept_whatever_fails():
    """Rows sum to one on the survivors: agents that agree go on agreeing, to the last bit, when nobody lies."""
    faults = Faults(Bursts(0.4, 4.0, one_way=True), Churn(0.3, 6.0), Late(0.5, 3))
    agreed = jnp.tile(start()[:1], (AGENTS, 1))
    sampler = DSGD(nothing, MIXING, ETA, outage=LinkOutage(0.2, one_way=True), faults=faults)
    np.testing.assert_array_equal(run(sampler, sampler.init(agreed), 50).theta, agreed)
    state = sampler.init(agreed)
    now = play_round(sampler.outage, faults, KEY, jnp.int32(7), state.faults, agreed, MIXING)
    masked = mix(jnp.eye(AGENTS), MIXING, now.mask)
    np.testing.assert_allclose(masked.sum(axis=1), 1, atol=1e-6)
    assert now.mask is not None
    assert 0 < float(now.mask.mean()) < 1


@pytest.mark.parametrize("one_way", [False, True])
def test_bursts_last_as_long_and_come_as_often_as_said(one_way):
    """2,000 links over 500 steps; five standard deviations of means over links, false-alarm rate 6e-7 each."""
    mixing, p, length, steps = build_mixing(network.ring(2000)), 0.3, 7.0, 500

    @jax.jit
    def masks():
        def step(before, index):
            key = jax.random.fold_in(KEY, index)
            mask = burst_mask(key, mixing, before, index == 0, p, length, one_way)
            return mask, mask

        return jax.lax.scan(step, mixing.links, jnp.arange(steps))[1]

    up = np.asarray(masks())[:, :, 0]  # [step, agent]: what each hears from its first neighbour
    down = 1 - up
    share = down.mean(axis=0)
    assert abs(share.mean() - p) < 5 * share.std() / np.sqrt(2000)
    assert abs(down[0].mean() - p) < 5 * np.sqrt(p * (1 - p) / 2000)  # stationary from the first step
    healed = ((down[:-1] == 1) & (down[1:] == 0)).sum() / (down[:-1] == 1).sum()
    assert abs(healed - 1 / length) < 5 * np.sqrt(1 / length * (1 - 1 / length) / (down[:-1] == 1).sum())
    one = np.asarray(masks())[-1]
    dense = np.zeros((2000, 2000))
    dense[np.arange(2000)[:, None], np.asarray(mixing.senders)] = one
    assert (dense == dense.T).all() == (not one_way)


def test_layouts_draw_the_same_bursts():
    graph = network.by_name("small_world", 30)
    table, edges = (build_mixing(graph, layout=layout) for layout in ("table", "edges"))
    for one_way in (False, True):
        shares = []
        for mixing in (table, edges):
            mask = mixing.links
            for step in range(6):
                first = jnp.asarray(step == 0)
                mask = burst_mask(jax.random.fold_in(KEY, step), mixing, mask, first, 0.4, 5.0, one_way)
            shares.append(np.asarray(links_up(mask, mixing)))
        np.testing.assert_array_equal(*shares)
        assert 0 < shares[0].mean() < 1


@pytest.mark.parametrize("name", ["dsghmc", "optimal"])
def test_who_is_away_stands_still_and_is_not_heard(name):
    sampler = samplers(Faults(churn=Churn(0.5, 5.0)))[name]
    before = run(sampler, sampler.init(start()), 4)
    after, info = advance(sampler, before)
    away = np.asarray(info["present"]) == 0
    assert 0 < away.sum() < AGENTS
    np.testing.assert_array_equal(np.asarray(after.theta)[away], np.asarray(before.theta)[away])
    assert (np.asarray(after.theta)[~away] != np.asarray(before.theta)[~away]).any(axis=1).all()
    if name == "dsghmc":
        np.testing.assert_array_equal(np.asarray(after.nu)[away], np.asarray(before.nu)[away])
    shouted = eqx.tree_at(lambda s: s.theta, before, jnp.where(away[:, None], 1e3, before.theta))
    others, _ = advance(sampler, shouted)
    np.testing.assert_allclose(np.asarray(others.theta)[~away], np.asarray(after.theta)[~away], rtol=1e-6, atol=1e-6)


def test_messages_are_at_most_tau_steps_old():
    sampler = DSGLD(GRADIENT, MIXING, ETA, faults=Faults(late=Late(0.8, 3)))
    state, seen, oldest = sampler.init(start()), [], 0
    for _ in range(40):
        seen.append(np.asarray(state.theta))
        state, _ = advance(sampler, state)
        age, sent = np.asarray(state.faults.age), np.asarray(state.faults.sent)
        for agent in range(AGENTS):
            np.testing.assert_array_equal(sent[agent], seen[-1 - age[agent]][agent])
        oldest = max(oldest, age.max())
    assert oldest == 3


def test_always_late_is_gossip_with_a_period():
    """p = 1: everyone sends at every (τ + 1)-th step; replayed in float64."""
    sampler = DSGD(nothing, MIXING, ETA, faults=Faults(late=Late(1.0, 2)))
    weights = np.asarray(mix(jnp.eye(AGENTS), MIXING), np.float64)
    own = np.diag(np.diag(weights))
    theta = sent = np.asarray(start(), np.float64)
    for step in range(12):
        sent = theta if step % 3 == 0 else sent
        theta = own @ theta + (weights - own) @ sent
    np.testing.assert_allclose(run(sampler, sampler.init(start()), 12).theta, theta, atol=1e-5)


def test_a_late_message_leaves_the_digital_memory_alone():
    sampler = QDSGD(GRADIENT, MIXING, T, ETA, 0.2, "memory", faults=Faults(late=Late(0.7, 50)))
    before = run(sampler, sampler.init(start()), 3)
    after, _ = advance(sampler, before)
    late = np.asarray(after.faults.age) > 0
    assert 0 < late.sum() < AGENTS
    same = (np.asarray(after.memory) == np.asarray(before.memory)).all(axis=1)
    np.testing.assert_array_equal(same, late)


@pytest.mark.parametrize(("kind", "lie"), [("constant", 3.0), ("flip", None), ("random", None)])
def test_attackers_lie_and_nobody_else(kind, lie):
    attack = Attack(1.0, 3.0, kind, attackers=2)
    rows = start()
    sent = attack(KEY, jnp.int32(4), rows)
    np.testing.assert_array_equal(sent[:-2], rows[:-2])
    if kind == "constant":
        assert (sent[-2:] == lie).all()
    elif kind == "flip":
        np.testing.assert_array_equal(sent[-2:], -3.0 * rows[-2:])
    else:
        assert 2 < float(sent[-2:].std()) < 4
        assert not np.array_equal(sent[-1], sent[-2])
    np.testing.assert_array_equal(Attack(0.0, 3.0, kind)(KEY, jnp.int32(4), rows), rows)


@pytest.mark.parametrize("size", [1e3, np.inf, np.nan])
def test_a_clipping_receiver_bounds_what_a_jammer_does_in_a_step(size):
    faults, limit = Faults(attack=Attack(1.0, size, "constant")), 4.0
    sampler = CDDSGLD(nothing, MIXING, AWGN(20.0), Common(), ETA, faults=faults, receiver=ClippingReceiver(limit))
    after, info = advance(sampler, sampler.init(0.01 * start()))
    moved = np.abs(np.asarray(after.theta) - 0.01 * np.asarray(start()))
    assert moved.max() <= limit * np.sqrt(2 * ETA) * (1 + 1e-5)
    assert (np.asarray(info["clipped"])[[0, -2]] == 1).all()  # the attacker's two neighbours on the ring
    assert (np.asarray(info["clipped"])[1:-2] == 0).all()


def test_a_testing_receiver_falls_back_to_sgld_alone():
    faults = Faults(attack=Attack(1.0, 50.0, "constant"))
    sampler = CDDSGLD(nothing, MIXING, AWGN(20.0), Common(), ETA, faults=faults, receiver=TestingReceiver(2.0))
    plain = CDDSGLD(nothing, MIXING, AWGN(20.0), Common(), ETA)
    theta = 0.01 * start()
    after, info = advance(sampler, sampler.init(theta))
    discarded = np.asarray(info["discarded"]) == 1
    np.testing.assert_array_equal(np.flatnonzero(discarded), [0, AGENTS - 2])
    calm = advance(plain, plain.init(theta))[0]
    np.testing.assert_allclose(np.asarray(after.theta)[~discarded], np.asarray(calm.theta)[~discarded], atol=1e-6)
    noise = (np.asarray(after.theta) - np.asarray(theta))[discarded] / np.sqrt(2 * ETA)
    assert 0.7 < noise.std() < 1.3
    assert not np.array_equal(noise[0], noise[1])


def test_receivers_leave_an_honest_block_alone():
    plain = CDDSGLD(GRADIENT, MIXING, AWGN(20.0), Truncated(), ETA)
    expected = advance(plain, plain.init(0.01 * start()))[0].theta
    for receiver in (ClippingReceiver(6.0), TestingReceiver(2.0)):
        doubting = CDDSGLD(GRADIENT, MIXING, AWGN(20.0), Truncated(), ETA, receiver=receiver)
        after, info = advance(doubting, doubting.init(0.01 * start()))
        np.testing.assert_allclose(after.theta, expected, atol=1e-6)
        assert (info["unit_gain"] == 0).all()  # its law is not claimed to be DSGLD's


def test_impulses_come_as_often_and_as_strong_as_said():
    """60,000 channel uses; five standard deviations, false-alarm rate 6e-7 each."""
    base, rate, ratio = AWGN(10.0), 0.02, 400.0
    keys = jax.random.split(KEY, 60)
    noise = np.asarray(ImpulsiveNoise(base, rate, ratio).noise(keys, 1000))
    added = noise - np.asarray(base.noise(keys, 1000))
    hit = np.abs(added) > 1e-6
    assert abs(hit.mean() - rate) < 5 * np.sqrt(rate * (1 - rate) / 60_000)
    power = added[hit] ** 2 / float(base.noise_power)
    assert abs(power.mean() - ratio) < 5 * power.std() / np.sqrt(hit.sum())
    np.testing.assert_array_equal(ImpulsiveNoise(base, 0.0, ratio).noise(keys, 1000), base.noise(keys, 1000))
    rough: Channel = NoisyGainAWGN(10.0, 0.3)
    np.testing.assert_array_equal(ImpulsiveNoise(rough, rate, ratio).gain_error(keys, 2), rough.gain_error(keys, 2))


@pytest.mark.long
def test_a_jammer_hits_whole_blocks_of_the_receivers_it_reaches():
    channel, quiet = Jammed(AWGN(10.0), 0.25, 1e4, 2), AWGN(10.0)
    blocks = [jax.random.split(jax.random.key(seed), AGENTS) for seed in range(400)]
    added = np.stack([channel.noise(keys, PARAMS) - quiet.noise(keys, PARAMS) for keys in blocks])
    hit = (added != 0).all(axis=2)
    assert ((added != 0).any(axis=2) == hit).all()  # a block is jammed as a whole, or not
    assert not hit[:, 2:].any()
    assert abs(hit[:, :2].mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 800)  # four standard errors
    np.testing.assert_allclose(added[hit].var(), 1e4 * quiet.noise_power, rtol=0.06)


def test_a_testing_receiver_takes_a_jammed_block_for_an_outage():
    """Strong jamming at all times: the reached agent samples alone, the others go on as they were."""
    channel, step = Jammed(AWGN(20.0), 1.0, 1e6, 1), ETA
    doubting = CDDSGLD(nothing, MIXING, channel, Common(), step, receiver=TestingReceiver(3.0))
    calm = CDDSGLD(nothing, MIXING, AWGN(20.0), Common(), step, receiver=TestingReceiver(3.0))
    begin = jnp.broadcast_to(start()[:1], (AGENTS, PARAMS))
    state, info = advance(doubting, doubting.init(begin))
    same, _ = advance(calm, calm.init(begin))
    np.testing.assert_array_equal(info["discarded"], [1.0] + [0.0] * (AGENTS - 1))
    np.testing.assert_allclose(state.theta[1:], same.theta[1:], atol=1e-5)
    moved = np.asarray(state.theta - begin)[0]
    assert abs(moved.std() / np.sqrt(2 * step) - 1) < 4 / np.sqrt(2 * PARAMS)
    plain = CDDSGLD(nothing, MIXING, channel, Common(), step)
    assert np.abs(np.asarray(advance(plain, plain.init(begin))[0].theta - begin)[0]).max() > 100 * np.abs(moved).max()


def test_a_jammed_digital_receiver_loses_its_messages_and_is_still_heard():
    jamming = Jamming(1.0, 1.0)
    mask = np.asarray(jamming(KEY, MIXING))
    np.testing.assert_array_equal(mask[0], 0)
    np.testing.assert_array_equal(mask[1:], np.asarray(MIXING.links)[1:])
    sampler = QDSGD(nothing, MIXING, jnp.full((AGENTS,), PARAMS, jnp.int32), ETA, 1.0, "own-value", outage=jamming)
    begin = start()
    state, info = advance(sampler, sampler.init(begin))
    np.testing.assert_array_equal(state.theta[0], begin[0])  # keeps all weight itself: its row sums to one
    assert not np.array_equal(state.theta[1], begin[1])
    np.testing.assert_array_equal(info["isolated"], [1.0] + [0.0] * (AGENTS - 1))
    assert float(jnp.mean(Jamming(0.3, 6.0)(KEY, MIXING))) > 0


@pytest.mark.parametrize(
    ("others", "up"),
    [
        (BothOutages(LinkOutage(0.0), NodeOutage(0.5)), 0.25),  # sender and receiver
        (LinkOutage(0.5, one_way=True), 0.5),
        (LinkOutage(0.5), 0.5),
        (NodeOutage(0.5), 0.25),
    ],
    ids=["both", "one way", "links", "nodes"],
)
def test_a_jammer_and_other_outages_are_independent(others, up):
    """Every link survives both with the product of the probabilities: |z| < 5.1, a false alarm in 1e-4 over all links.

    A mutant to catch: the key's first fold is the second half of its split, from which other outages draw.
    """
    count = 4000
    masks = jax.vmap(lambda key: Jamming(0.5, AGENTS, others)(key, MIXING))(jax.random.split(KEY, count))
    share = np.asarray(masks.mean(0))[np.asarray(MIXING.links) > 0]
    expected = 0.5 * up
    assert np.abs((share - expected) / np.sqrt(expected * (1 - expected) / count)).max() < 5.1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), min_size=14, max_size=14))
def test_partitions_are_found_on_the_device_as_on_the_host(bits):
    mixing = build_mixing(network.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 4), (4, 5)]))
    mask = np.zeros(mixing.weights.shape, np.float32)
    mask[np.asarray(mixing.links) > 0] = bits  # by direction
    assert bool(_split(jnp.asarray(mask), mixing)) == (surviving_components(jnp.asarray(mask), mixing) > 1)


_split = eqx.filter_jit(is_split)


def test_a_partition_is_reported_and_who_is_away_is_not_counted_as_one():
    mixing = build_mixing(network.line(3))
    outage = lambda key, mixing: mixing.links * (mixing.edge_ids != 0)  # noqa: E731
    sampler = DSGLD(nothing, mixing, ETA, outage=outage)
    _, info = advance(sampler, sampler.init(jnp.zeros((3, 2))))
    np.testing.assert_array_equal(info["split"], [1, 1, 1])
    np.testing.assert_array_equal(info["isolated"], [1, 0, 0])
    np.testing.assert_array_equal(info["links_up"], [0, 0.5, 1])
    up = dataclasses.replace(sampler, outage=lambda key, mixing: jnp.ones_like(mixing.weights))  # on padding, too
    np.testing.assert_array_equal(advance(up, up.init(jnp.zeros((3, 2))))[1]["links_up"], [1, 1, 1])
    present = jnp.array([0.0, 1.0, 1.0])
    assert not is_split(mixing.links * (mixing.edge_ids != 0), mixing, present)
    assert is_split(0 * mixing.links, mixing, present)


def test_senseless_faults_are_refused():
    with pytest.raises(AirbayesError, match="every message arrives"):
        QDSGD(GRADIENT, MIXING, T, ETA, 0.2, "memory", faults=Faults(churn=Churn(0.1, 5.0)))
    for outage in (LinkOutage(0.1), Jamming(0.1, 2)):
        with pytest.raises(AirbayesError, match=r"every message arrives.*outages"):
            QDSGD(GRADIENT, MIXING, T, ETA, 0.2, "memory", outage=outage)
    with pytest.raises(AirbayesError, match="from 0 to 1, got 2"):
        ImpulsiveNoise(AWGN(1.0), 2.0, 1.0)
