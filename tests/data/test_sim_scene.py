"""A view obeys physics: points on the side that faces the sensor, on scan lines, sparser with range, no ground."""

import dataclasses
import math

import numpy as np
import pytest

from airbayes.data.simulator import CLASSES, SimulatorConfig
from airbayes.data.simulator.draw_object import SHAPES
from airbayes.data.simulator.parts import METAL, Solid, assemble, box
from airbayes.data.simulator.scene import draw_view

CONFIG = SimulatorConfig()
ORIGIN = np.array([0.0, 0.0, CONFIG.mount_height])  # points are relative to the sensor, solids to the ground
OPEN = dataclasses.replace(CONFIG, occlusion=0.0, truncation=0.0)
EXACT = dataclasses.replace(OPEN, range_noise=0.0)


def off_surfaces(solid: Solid, points: np.ndarray) -> np.ndarray:
    """Distance [point, part] to the surface of every part, to first order; negative inside."""
    found = [(points @ planes[:, :3].T - planes[:, 3]).max(axis=1) for planes in solid.planes]
    for centre, to_sphere in zip(solid.centres, solid.to_sphere, strict=True):
        inner = (points - centre) @ to_sphere.T
        radius = np.linalg.norm(inner, axis=1)
        found.append((radius - 1) * radius / np.linalg.norm(inner @ to_sphere, axis=1))
    for start, end, radius in zip(solid.starts, solid.ends, solid.radii, strict=True):
        axis = end - start
        share = np.clip((points - start) @ axis / max(axis @ axis, 1e-12), 0, 1)
        found.append(np.linalg.norm(points - start - share[:, None] * axis, axis=1) - radius)
    return np.stack(found, axis=1)


def views(name: str, config: SimulatorConfig, count: int):
    """Solids of a class where they were seen (sensor at height 0, as the points are), and their views."""
    for index in range(count):
        rng = np.random.default_rng([7, index])
        solid = assemble(SHAPES[name](rng))
        view = draw_view(solid, config, rng)
        if len(view.points):
            yield solid.placed(view.box[0], view.box[1], view.box[6]), view


@pytest.mark.parametrize("name", CLASSES)
def test_without_noise_all_points_lie_on_the_surface(name):
    for solid, view in views(name, EXACT, 12):
        away = off_surfaces(solid, view.points + ORIGIN)
        assert np.abs(away).min(axis=1).max() < 1e-6


@pytest.mark.parametrize("name", CLASSES)
def test_noise_moves_points_off_the_surface_by_a_few_sigma_at_most(name):
    for solid, view in views(name, OPEN, 12):
        away = off_surfaces(solid, view.points + ORIGIN)
        assert 0 < np.abs(away).min(axis=1).max() < 5.5 * CONFIG.range_noise


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_opaque_lies_before_a_point(name):
    """From the sensor to the point every opaque part is left outside: one visible side."""
    for solid, view in views(name, EXACT, 8):
        away = np.linalg.norm(view.points, axis=1)
        for gap in (0.02, 0.1, 0.3, 0.8, 2.0):
            before = view.points * (1 - gap / away)[:, None] + ORIGIN
            assert off_surfaces(solid, before)[:, solid.opacity == 1].min() > -1e-6


def test_points_lie_on_the_beams():
    beams = np.array(CONFIG.elevations_deg)
    for name in CLASSES:
        for _, view in views(name, CONFIG, 10):
            elevation = np.degrees(np.arctan2(view.points[:, 2], np.linalg.norm(view.points[:, :2], axis=1)))
            assert np.abs(elevation[:, None] - beams).min(axis=1).max() < 1e-6


def test_a_board_across_the_view_gets_points_as_one_over_range_squared():
    """Beams are evenly dense near the horizon: four times as many points at half the range, but for drop-outs."""
    board = assemble([box((-0.05, 0.05), (1.2, 2.0), 2.0, METAL)])
    counts = []
    for reach in (12.0, 24.0, 48.0):
        config = dataclasses.replace(EXACT, min_range=reach, max_range=reach + 0.01, dropout=0.0, dropout_range=0.0)
        drawn = [draw_view(board, config, np.random.default_rng(index)) for index in range(120)]
        facing = [v for v in drawn if abs(math.cos(v.box[6] - math.atan2(v.box[1], v.box[0]))) > 0.9]
        counts.append(np.mean([len(v.points) for v in facing]))
    assert counts[0] / counts[1] == pytest.approx(4, rel=0.12)
    assert counts[1] / counts[2] == pytest.approx(4, rel=0.12)
    assert counts[1] == pytest.approx(0.8 * 1.94 / 24**2 / math.radians(1 / 6) / math.radians(0.2), rel=0.1)


def test_occluders_and_edges_take_points_away_and_never_add_any():
    """Same objects at the same places: with something before them they have fewer points."""
    for change in ({"occlusion": 1.0}, {"truncation": 1.0}):
        covered = dataclasses.replace(OPEN, **change)
        share = []
        for name in ("car", "bus", "cyclist"):
            for index in range(15):
                solid = assemble(SHAPES[name](np.random.default_rng([1, index])))
                free = draw_view(solid, OPEN, np.random.default_rng([2, index]))
                hidden = draw_view(solid, covered, np.random.default_rng([2, index]))
                np.testing.assert_array_equal(free.box, hidden.box)
                if len(free.points) > 60:
                    share.append(len(hidden.points) / len(free.points))
        assert max(share) < 1.15  # drop-outs differ
        assert 0.3 < np.mean(share) < 0.9
        assert min(share) < 0.4


def test_ground_is_removed():
    sharp = dataclasses.replace(OPEN, ground_noise=0.0)
    for name in CLASSES:
        for _, view in views(name, sharp, 10):
            assert view.points[:, 2].min() + CONFIG.mount_height >= CONFIG.ground_threshold
    bare = dataclasses.replace(OPEN, ground_threshold=0.0, ground_noise=0.0)
    lowest = [view.points[:, 2].min() + CONFIG.mount_height for _, view in views("car", bare, 25)]
    assert min(lowest) < CONFIG.ground_threshold  # so the threshold did remove something


def test_places_are_uniform_over_the_ring_and_never_too_near():
    solid = assemble([box((-6.0, 6.0), (0.0, 3.0), 2.5, METAL)])
    fast = dataclasses.replace(OPEN, elevations_deg=(0.0,), azimuth_step_deg=5.0)
    boxes = np.array([draw_view(solid, fast, np.random.default_rng(index)).box for index in range(800)])
    area = (np.hypot(boxes[:, 0], boxes[:, 1]) ** 2 - 5**2) / (50**2 - 5**2)
    for values in (area, boxes[:, 6] / (2 * np.pi) + 0.5):
        distance = np.abs(np.sort(values) - (np.arange(800) + 0.5) / 800).max()
        assert distance < 1.95 / np.sqrt(800)  # Kolmogorov–Smirnov, false alarm 1e-3
    near = dataclasses.replace(fast, min_range=5.0, max_range=5.1)
    drawn = [draw_view(solid, near, np.random.default_rng(index)) for index in range(100)]
    assert 0 < sum(len(view.points) > 0 for view in drawn) < 100
