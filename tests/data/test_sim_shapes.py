"""Road users: sizes as in the street, feet and wheels on the ground, limbs of the right length."""

import math

import numpy as np
import pytest

from airbayes.data.simulator.draw_object import SHAPES
from airbayes.data.simulator.parts import assemble
from airbayes.data.simulator.people import bend


@pytest.fixture(scope="module")
def solids() -> dict[str, list]:
    return {
        name: [assemble(draw(np.random.default_rng([label, index]))) for index in range(80)]
        for label, (name, draw) in enumerate(SHAPES.items())
    }


# class: mean length, its tolerance, then the least and the greatest length, width and height
SIZES = {
    "car": (4.55, 0.15, (3.4, 6.1), (1.6, 2.2), (1.3, 2.9)),
    "truck": (9.0, 0.8, (5.3, 16.6), (1.9, 2.7), (2.3, 4.3)),
    "bus": (11.3, 0.7, (6.0, 18.1), (2.0, 2.7), (2.4, 4.2)),
    "pedestrian": (0.66, 0.1, (0.25, 2.0), (0.3, 1.1), (0.9, 2.05)),
    "cyclist": (1.75, 0.12, (1.55, 2.7), (0.5, 1.1), (1.3, 2.15)),
    "motorcyclist": (2.05, 0.12, (1.6, 2.5), (0.6, 1.1), (1.4, 2.05)),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(solids, name):
    sizes = np.array([solid.size for solid in solids[name]])
    mean, tolerance, *limits = SIZES[name]
    assert sizes[:, 0].mean() == pytest.approx(mean, abs=tolerance)
    for column, (low, high) in enumerate(limits):
        assert low <= sizes[:, column].min()
        assert sizes[:, column].max() <= high


@pytest.mark.parametrize("name", SIZES)
def test_everybody_stands_on_the_ground_and_no_two_are_alike(solids, name):
    lowest = np.array([solid.low[2] for solid in solids[name]])
    assert np.abs(lowest).max() < 0.03
    assert len({tuple(solid.size.round(6)) for solid in solids[name]}) == len(solids[name])


def test_classes_overlap_in_length(solids):
    """No length tells truck from bus, cyclist from motorcyclist, or every van from every truck."""
    length = {name: np.array([solid.size[0] for solid in each]) for name, each in solids.items()}
    assert length["bus"].min() < np.median(length["truck"])
    assert length["truck"].max() > np.median(length["bus"])
    assert length["car"].max() > length["truck"].min()
    assert length["cyclist"].max() > np.median(length["motorcyclist"])
    assert length["pedestrian"].max() > length["cyclist"].min()


def test_placing_moves_the_middle_of_the_box_and_keeps_what_is_inside(solids):
    """A point moved with the solid lies the same way to every face, ellipsoid and segment as before."""
    solid = solids["motorcyclist"][0]
    placed = solid.placed(20.0, -7.0, 1.1)
    c, s = math.cos(1.1), math.sin(1.1)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    middle = (solid.low + solid.high) / 2 * [1, 1, 0]

    def moved(points: np.ndarray) -> np.ndarray:
        return (points - middle) @ turn.T + [20.0, -7.0, 0.0]

    for there, here in ((placed.starts, solid.starts), (placed.ends, solid.ends), (placed.middles, solid.middles)):
        np.testing.assert_allclose(there, moved(here), atol=1e-12)
    points = np.random.default_rng(0).normal(size=(50, 3))

    def faces(of, at: np.ndarray) -> np.ndarray:
        return np.einsum("kfi,pi->pkf", of.planes[..., :3], at) - of.planes[..., 3]

    def balls(of, at: np.ndarray) -> np.ndarray:
        return np.linalg.norm(np.einsum("kij,pkj->pki", of.to_sphere, at[:, None] - of.centres), axis=-1)

    np.testing.assert_allclose(faces(placed, moved(points)), faces(solid, points), atol=1e-9)
    np.testing.assert_allclose(balls(placed, moved(points)), balls(solid, points), atol=1e-9)


@pytest.mark.parametrize("tip", [(0.3, 0.1, 0.2), (0.0, 0.0, -0.6), (-0.2, 0.4, 0.1)])
def test_limbs_keep_their_lengths_and_bend_the_right_way(tip):
    joint = np.array(bend((0.0, 0.0, 0.0), tip, 0.4, 0.38, (1.0, 0.0, 0.3)))
    assert np.linalg.norm(joint) == pytest.approx(0.4)
    assert np.linalg.norm(joint - tip) == pytest.approx(0.38)
    across = joint - joint @ np.array(tip) / np.dot(tip, tip) * np.array(tip)
    assert across @ [1.0, 0.0, 0.3] > 0


def test_a_limb_too_short_is_stretched_straight():
    joint = np.array(bend((0.0, 0.0, 0.0), (2.0, 0.0, 0.0), 0.4, 0.4, (0.0, 0.0, 1.0)))
    np.testing.assert_allclose(joint, [1.0, 0.0, 0.0], atol=1e-6)
