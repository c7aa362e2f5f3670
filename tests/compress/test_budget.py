import math

import numpy as np
import pytest

from airbayes.channel.rate import bits_per_block
from airbayes.compress import budget, largest_t, log2_binomial, message_bits
from airbayes.errors import AirbayesError

M = 40_855
TABLE = {  # degree: t at −10, 0, 10, 20, 30 dB
    4: (214, 614, 748, 764, 766),  # full graph, and the star's hub
    2: (251, 1012, 1411, 1468, 1474),  # ring
    1: (275, 1474, 2467, 2643, 2662),  # a leaf of the star
}


def test_log2_binomial_agrees_with_exact_integers():
    for m in (1, 2, 3, 17, 64, 200):
        exact = [math.log2(math.comb(m, t)) for t in range(m + 1)]
        np.testing.assert_allclose(log2_binomial(m, np.arange(m + 1)), exact, rtol=1e-13, atol=1e-13)
    for t in (2, 214, 2662, M - 3):
        assert log2_binomial(M, t) == pytest.approx(math.log2(math.comb(M, t)), abs=1e-8)


def test_log2_binomial_is_exact_where_it_can_be_a_whole_number():
    for power in range(1, 20):
        assert log2_binomial(2**power, 1) == log2_binomial(2**power, 2**power - 1) == power
        assert largest_t(2**power, float(power + 10)) == 1
        assert largest_t(2**power, np.nextafter(power + 10.0, 0)) == 0


def test_the_papers_sizes():
    for degree, wanted in TABLE.items():
        bits = np.array([bits_per_block(M, snr, np.array([degree]))[0] for snr in (-10.0, 0.0, 10.0, 20.0, 30.0)])
        np.testing.assert_array_equal(largest_t(M, bits), wanted)


@pytest.mark.parametrize("value_bits", [1, 2, 10])
@pytest.mark.parametrize("scale_bits", [0, 32])
@pytest.mark.parametrize("m", [1, 2, 7, 30])
def test_largest_t_is_the_largest_by_exhaustion(m, value_bits, scale_bits):
    # Exact integers: C(m, t)·2^(t·N_b + scale) ≤ 2^bits, for every whole number of bits.
    budgets = range(m * value_bits + scale_bits + m + 3)
    wanted = [
        max(t for t in range(m + 1) if math.comb(m, t) << (t * value_bits + scale_bits * (t > 0)) <= 1 << bits)
        for bits in budgets
    ]
    got = largest_t(m, np.array(budgets, float), value_bits, scale_bits)
    np.testing.assert_array_equal(got, wanted)


def test_agents_with_equal_budgets_cost_no_more_than_one(monkeypatch):
    # A plan of a million agents asked for a gamma function of every agent at every step of the search.
    asked, lgamma = [], budget._lgamma
    monkeypatch.setattr(budget, "_lgamma", lambda values: asked.append(np.size(values)) or lgamma(values))
    bits = np.tile([[5_000.0, 20_000.0]], (1000, 1))
    kept = largest_t(M, bits)
    assert kept.shape == bits.shape
    assert kept[0].tolist() == kept[999].tolist() == [int(largest_t(M, each)) for each in (5_000.0, 20_000.0)]
    assert message_bits(M, kept).shape == bits.shape
    assert sum(asked) < 300


def test_the_length_may_fall_near_m_and_all_entries_then_fit_where_fewer_do_not():
    lengths = message_bits(30, np.arange(31), value_bits=1)
    assert lengths[30] < lengths[20]
    assert largest_t(30, float(lengths[30]), value_bits=1) == 30


def test_ends_and_nonsense():
    np.testing.assert_array_equal(largest_t(M, np.array([0.0, np.inf])), [0, M])
    assert message_bits(5, 0, scale_bits=32) == 0
    assert message_bits(5, 1, scale_bits=32) == math.log2(5) + 42
    for bad in (np.nan, -1.0):
        with pytest.raises(AirbayesError, match="zero or more"):
            largest_t(5, bad)
    for m, t in ((0, 0), (3, 4), (3, -1)):
        with pytest.raises(AirbayesError, match=f"t = {t}, m = {m}"):
            log2_binomial(m, t)
    with pytest.raises(AirbayesError, match="value_bits"):
        message_bits(3, 1, value_bits=0)
