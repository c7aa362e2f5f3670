"""The price of whole models over digital links, by hand."""

import math

import numpy as np
import pytest

from airbayes.experiment.config import DigitalConfig
from airbayes.experiment.whole_models import uses_at_once, uses_in_turn

TEN, REAL = DigitalConfig(), DigitalConfig(rate="real")
STAR = np.array([4, 1, 1, 1, 1])


def test_all_at_once_waits_for_the_slowest():
    """At 0 dB the hub hears 4 interferers beside the noise: SINR 1/5. Without the wanted one among them, 1/4."""
    assert uses_at_once(100, 0.0, STAR, TEN) == pytest.approx(1000 / math.log2(1.2))
    assert uses_at_once(100, 0.0, STAR, DigitalConfig(interferers="others")) == pytest.approx(1000 / math.log2(1.25))
    assert uses_at_once(100, 0.0, STAR, REAL) == pytest.approx(2000 / math.log2(1.2))


def test_in_turn_every_agent_has_the_channel_for_itself():
    assert uses_in_turn(100, 0.0, 5, TEN) == pytest.approx(5 * 1000)  # log2(1 + 1) = 1 bit a use
    assert uses_in_turn(100, 0.0, 5, REAL) == pytest.approx(10 * 1000)
    assert uses_in_turn(100, 0.0, 5, DigitalConfig(value_bits=20)) == pytest.approx(5 * 2000)
