"""The sensor: which rays it fires at an object, and what it makes of their hits."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airbayes.data.simulator import SimulatorConfig
from airbayes.data.simulator.raycast import Hits
from airbayes.data.simulator.sensor import Window, measure, nearest, rays_in, window_of
from airbayes.errors import ConfigError

CONFIG = SimulatorConfig()


def rectangle(x: float, y: float, length: float, width: float, yaw: float) -> np.ndarray:
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * [length / 2, width / 2]
    return corners @ np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]]) + [x, y]


def test_beam_table():
    """64 beams from the top down, most of them around the horizon."""
    table = np.array(CONFIG.elevations_deg)
    assert table.shape == (64,)
    assert (np.diff(table) < 0).all()
    assert (table.max(), table.min()) == (15.0, -25.0)
    assert np.mean(np.abs(table + 2) <= 4.01) > 0.75


def test_rays_lie_on_the_beams_and_on_the_azimuth_grid():
    window = Window((-3.3, -2.9), (-0.1, 0.02))
    rays = rays_in(window, CONFIG, 0.25)
    elevation = np.degrees(np.arcsin(rays[:, 2]))
    turns = np.unwrap(np.arctan2(rays[:, 1], rays[:, 0])) / math.radians(CONFIG.azimuth_step_deg)
    np.testing.assert_allclose(turns - 0.25, np.round(turns - 0.25), atol=1e-6)
    distance = np.abs(elevation[:, None] - np.array(CONFIG.elevations_deg)).min(axis=1)
    assert distance.max() < 1e-9
    beams = sum(-0.1 <= math.radians(angle) <= 0.02 for angle in CONFIG.elevations_deg)
    assert len(rays) in (beams * 114, beams * 115)  # 0.4 rad are 114.6 steps
    np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 1.0)


@given(st.floats(-30, 30), st.floats(-30, 30), st.floats(0.3, 15), st.floats(0.3, 3), st.floats(-4, 4))
def test_nearest_and_window_against_many_points_of_the_footprint(x, y, length, width, yaw):
    corners = rectangle(x, y, length, width, yaw)
    share = np.linspace(0, 1, 400)[:, None]
    edge = np.concatenate([a + share * (b - a) for a, b in zip(corners, np.roll(corners, -1, 0), strict=True)])
    back = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
    if (np.abs(back @ [-x, -y]) <= [length / 2, width / 2]).all():
        assert nearest(corners) == 0
        return
    gap = np.linalg.norm(edge, axis=1).min()
    assert nearest(corners) == pytest.approx(gap, abs=0.03)
    assert nearest(corners) <= gap + 1e-9
    if gap < 0.5:
        return
    window = window_of(corners, (0.0, 2.5), 1.9)
    bearing = np.arctan2(edge[:, 1], edge[:, 0])
    middle = sum(window.azimuth) / 2
    turned = np.angle(np.exp(1j * (bearing - middle)))
    half = (window.azimuth[1] - window.azimuth[0]) / 2
    assert np.abs(turned).max() == pytest.approx(half, abs=1e-6)
    for height in (0.0, 2.5):
        elevation = np.arctan2(height - 1.9, np.linalg.norm(edge, axis=1))
        assert window.elevation[0] - 1e-9 <= elevation.min()
        assert elevation.max() <= window.elevation[1] + 1e-9


def seen_at(distance: float, cosine: float, config=CONFIG, count: int = 40_000):
    hits = Hits(np.full(count, distance), np.zeros(count, int), np.full(count, cosine))
    return measure(hits, np.ones(count, bool), np.array([0.5]), config, np.random.default_rng(0))


def test_range_noise_and_intensity():
    returns = seen_at(20.0, 0.8)
    assert returns.distance.mean() == pytest.approx(20.0, abs=5 * 0.02 / 190)
    assert returns.distance.std() == pytest.approx(CONFIG.range_noise, rel=0.03)
    assert returns.intensity.mean() == pytest.approx(0.5 * 0.8, rel=0.01)
    assert returns.intensity.std() == pytest.approx(0.4 * CONFIG.intensity_noise, rel=0.03)


@pytest.mark.parametrize(("distance", "cosine", "lost"), [(1e-3, 1.0, 0.04), (50.0, 1.0, 0.24), (50.0, 0.0, 0.84)])
def test_dropouts_grow_with_range_and_towards_grazing_incidence(distance, cosine, lost):
    kept = len(seen_at(distance, cosine).ray) / 40_000
    assert kept == pytest.approx(1 - lost, abs=0.012)  # 4.9 standard errors at worst


def test_what_is_not_seen_is_not_measured():
    hits = Hits(np.array([5.0, np.inf, 7.0]), np.zeros(3, int), np.ones(3))
    config = dataclasses.replace(CONFIG, dropout=0.0, dropout_range=0.0)
    returns = measure(hits, np.array([True, False, False]), np.array([0.5]), config, np.random.default_rng(0))
    assert returns.ray.tolist() == [0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"elevations_deg": ()},
        {"elevations_deg": (95.0,)},
        {"azimuth_step_deg": 0.0},
        {"occlusion": 1.5},
        {"range_noise": -0.1},
        {"min_range": 60.0},
        {"min_points": 0},
        {"dropout": float("nan")},
    ],
)
def test_nonsense_is_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        SimulatorConfig(**wrong)
