"""The nine numbers of shapes whose numbers are known, and what they do not depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbayes.data import from_clouds
from airbayes.data.shape_numbers import NAMES, cloud_numbers, shape_numbers


def named(points: np.ndarray) -> dict[str, float]:
    return dict(zip(NAMES, cloud_numbers(points), strict=True))


def lattice(*sides: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 3)


def test_an_upright_board():
    points = lattice(np.linspace(0, 4, 41), np.zeros(1), np.linspace(0, 2, 21))
    found = named(points)
    assert found["length"] == pytest.approx(4)
    assert found["width"] == pytest.approx(0, abs=1e-6)
    assert found["height"] == pytest.approx(2)
    assert found["linearity"] == pytest.approx(0.5, abs=0.02)
    assert found["planarity"] == pytest.approx(0.5, abs=0.02)
    assert found["verticality"] == pytest.approx(0, abs=1e-6)
    assert found["balance"] == pytest.approx(0.5)
    assert found["top"] == pytest.approx(4)
    assert found["log count"] == pytest.approx(np.log(41 * 21))


def test_a_pole_with_a_wide_top():
    pole = lattice(np.zeros(1), np.zeros(1), np.linspace(0, 2, 50))
    bar = np.stack([np.linspace(-0.5, 0.5, 11), np.zeros(11), np.full(11, 2.0)], axis=1)
    found = named(np.concatenate([pole, bar]))
    assert found["verticality"] > 0.99
    assert found["top"] == pytest.approx(1)
    assert found["balance"] > 0.5


@given(yaw=st.floats(-3, 3), x=st.floats(-20, 20), z=st.floats(-3, 3), seed=st.integers(0, 1000))
def test_turning_and_moving_change_nothing(yaw, x, z, seed):
    points = np.random.default_rng(seed).normal(size=(40, 3)) * [2.0, 0.7, 1.0]
    c, s = np.cos(yaw), np.sin(yaw)
    moved = points @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + [x, -x, z]
    np.testing.assert_allclose(cloud_numbers(moved), cloud_numbers(points), atol=1e-6)


def test_one_row_per_object_even_for_a_single_point():
    objects = from_clouds([np.zeros((1, 3)), np.eye(3)], np.array([0, 0]), ("thing",))
    numbers = shape_numbers(objects)
    assert numbers.shape == (2, 9)
    assert np.isfinite(numbers).all()
