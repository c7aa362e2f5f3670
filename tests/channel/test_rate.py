import numpy as np
import pytest

from airbayes.channel.rate import bits_per_block, receiver_bits, sinr
from airbayes.errors import AirbayesError, GraphError

STAR = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])


def test_sinr_as_printed_and_without_the_wanted_signal():
    np.testing.assert_allclose(sinr(10.0, np.array([0, 1, 4])), [10, 10 / 11, 10 / 41])
    np.testing.assert_allclose(sinr(10.0, np.array([0, 1, 4]), "others"), [10, 10, 10 / 31])
    assert sinr(1.0, 2) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("snr_linear", "wanted"), [(0.0, [0, 0, 0]), (np.inf, [np.inf, 1, 0.25])])
def test_sinr_at_the_ends_of_the_axis(snr_linear, wanted):
    np.testing.assert_array_equal(sinr(snr_linear, np.array([0, 1, 4])), wanted)


def test_bits_per_block_in_both_modes():
    bits = bits_per_block(100, 0.0, np.array([0, 1, 2]))
    np.testing.assert_allclose(bits, 100 * np.log2([2, 3 / 2, 4 / 3]), rtol=1e-14)
    np.testing.assert_allclose(bits_per_block(100, 0.0, np.array([0, 1, 2]), mode="real"), bits / 2)
    np.testing.assert_allclose(bits_per_block(100, 0.0, np.array([1, 2]), interferers="others"), bits[:2])


def test_an_ideal_link_carries_any_number_of_bits_unless_it_is_interfered_with():
    bits = bits_per_block(100, np.inf, np.array([0, 1, 3]))
    np.testing.assert_allclose(bits, [np.inf, 100, 100 * np.log2(4 / 3)])
    assert bits_per_block(100, -np.inf, np.array([0]))[0] == 0


def test_receiver_bits_on_a_star_swap_hub_and_leaf():
    bits = np.array([1.0, 5.0, 4.0, 3.0, 6.0])
    np.testing.assert_array_equal(receiver_bits(bits, STAR), [3, 1, 1, 1, 1])
    np.testing.assert_array_equal(receiver_bits(bits, np.concatenate([STAR, STAR[:, ::-1]])), [3, 1, 1, 1, 1])


def test_receiver_bits_without_neighbours_are_the_agents_own():
    edges = np.array([[0, 1]])
    np.testing.assert_array_equal(receiver_bits(np.array([1.0, 2.0, 3.0]), edges), [2, 1, 3])
    np.testing.assert_array_equal(receiver_bits(np.array([7.0]), np.zeros((0, 2), int)), [7])
    np.testing.assert_array_equal(receiver_bits(np.array([np.inf, np.inf]), edges), [np.inf, np.inf])


def test_nonsense_is_refused_by_name():
    with pytest.raises(AirbayesError, match=r"-1\.0"):
        sinr(-1.0, 1)
    with pytest.raises(GraphError, match="-3"):
        sinr(1.0, np.array([1, -3]))
    with pytest.raises(AirbayesError, match="num_params = 0"):
        bits_per_block(0, 0.0, np.array([1]))
    with pytest.raises(AirbayesError, match="NaN"):
        bits_per_block(1, np.nan, np.array([1]))
    for edges in ([[0, 5]], [[-1, 0]]):
        with pytest.raises(GraphError, match="0 to 4"):
            receiver_bits(np.ones(5), np.array(edges))
