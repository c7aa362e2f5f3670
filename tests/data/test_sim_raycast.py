"""Rays against every primitive: closed forms, and a march along the ray that only asks 'inside or not'."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.data.simulator.parts import GLASS, METAL, Capsule, assemble, box, convex_hull, ellipsoid, prism, wheel
from airbayes.data.simulator.raycast import cast, hit_capsules, hit_ellipsoids, normals

ORIGIN = np.array([0.0, 0.0, 1.9])
STEP = 2e-3


def inside(solid, points: np.ndarray) -> np.ndarray:
    """Whether points [n, 3] lie in any part: the definitions at the top of parts.py, nothing of raycast.py."""
    found = np.zeros(len(points), bool)
    for planes in solid.planes:
        found |= (points @ planes[:, :3].T <= planes[:, 3]).all(axis=1)
    for centre, to_sphere in zip(solid.centres, solid.to_sphere, strict=True):
        found |= np.linalg.norm((points - centre) @ to_sphere.T, axis=1) <= 1
    for start, end, radius in zip(solid.starts, solid.ends, solid.radii, strict=True):
        axis = end - start
        share = np.clip((points - start) @ axis / max(axis @ axis, 1e-12), 0, 1)
        found |= np.linalg.norm(points - start - share[:, None] * axis, axis=1) <= radius
    return found


def one_part(kind: str, rng: np.random.Generator):
    size = rng.uniform(0.2, 1.5, 3)
    if kind == "prism":
        profile = [(float(x), float(z)) for x, z in rng.uniform(0, 1.5, (6, 2))]
        return prism(profile, float(size[1]), METAL, top_width=float(size[1] * rng.uniform(0.3, 1)), chamfer=0.1)
    if kind == "wheel":
        return wheel(0.1, -0.2, float(size[0] / 2), float(size[1]), METAL)
    if kind == "ellipsoid":
        return ellipsoid((0.3, -0.1, 0.8), (float(size[0]), float(size[1]), float(size[2])), METAL, pitch=0.5)
    start, end = ((float(x), float(y), float(z)) for x, y, z in rng.uniform(0, 1.5, (2, 3)))
    return Capsule(start, end, float(size[0] / 3), METAL)


@pytest.mark.parametrize("kind", ["prism", "wheel", "ellipsoid", "capsule"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_first_entry_is_where_a_march_first_gets_inside(kind, seed):
    rng = np.random.default_rng(seed)
    solid = assemble([one_part(kind, rng)]).placed(4.0, rng.uniform(-1, 1), rng.uniform(-3, 3))
    targets = np.array([4.0, 0.0, 0.7]) + rng.normal(0, 0.6, (12, 3))
    rays = (targets - ORIGIN) / np.linalg.norm(targets - ORIGIN, axis=1, keepdims=True)
    distance = cast(ORIGIN, rays, solid, rng).distance
    places = np.arange(0.5, 8.0, STEP)
    for ray, found in zip(rays, distance, strict=True):
        within = inside(solid, ORIGIN + places[:, None] * ray)
        if within.sum() > 2:  # a shorter way through may fall between two steps
            assert abs(places[within.argmax()] - found) <= STEP * 1.001
        elif np.isfinite(found):
            assert within.any() or not inside(solid, ORIGIN + (found + 2 * STEP) * ray[None]).any()
        if np.isfinite(found):  # the hit is on the surface: in just behind it, out just before
            assert not inside(solid, ORIGIN + (found - 1e-7) * ray[None]).any()


@given(offset=st.floats(-0.99, 0.99), radius=st.floats(0.05, 2.0))
def test_spheres_in_closed_form(offset, radius):
    """A ball passed at the distance b of its centre is met at D − √(r² − b²), as ellipsoid and as capsule."""
    b = offset * radius
    centre, ray = np.array([[10.0, b, 0.0]]), np.array([[1.0, 0.0, 0.0]])
    expected = 10.0 - np.sqrt(radius**2 - b**2)
    ball = hit_ellipsoids(np.zeros(3), ray, centre, np.eye(3)[None] / radius)
    point = hit_capsules(np.zeros(3), ray, centre, centre, np.array([radius]))
    np.testing.assert_allclose([ball[0, 0], point[0, 0]], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ((1.0, 0.0, 0.0), 3.0),  # straight on
        ((4.0, 1.0, 0.0), 3.0 * np.hypot(4, 1) / 4),  # through the front at y = 0.75
        ((4.0, 2.0, 0.0), np.inf),  # at x = 3 already past the side
        ((4.0, 0.0, 2.0), np.inf),  # over the top
        ((0.0, 0.0, 1.0), np.inf),  # parallel to the front
        ((-1.0, 0.0, 0.0), np.inf),  # behind
    ],
)
def test_a_box_is_met_where_the_slabs_say(way, expected):
    solid = assemble([box((3.0, 5.0), (1.0, 3.0), 2.0, METAL)])
    ray = np.array([way]) / np.linalg.norm(way)
    hits = cast(ORIGIN, ray, solid, np.random.default_rng(0))
    assert hits.distance[0] == pytest.approx(expected)
    if np.isfinite(expected):
        assert hits.cosine[0] == pytest.approx(ray[0, 0])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_normals_point_outwards_at_right_angles_to_the_surface(seed):
    """A small step along the normal leaves the part, against it enters; the hit is seen from its front."""
    rng = np.random.default_rng(seed)
    for kind in ("prism", "ellipsoid", "capsule"):
        solid = assemble([one_part(kind, rng)]).placed(4.0, 0.0, rng.uniform(-3, 3))
        targets = np.array([4.0, 0.0, 0.7]) + rng.normal(0, 0.3, (20, 3))
        rays = (targets - ORIGIN) / np.linalg.norm(targets - ORIGIN, axis=1, keepdims=True)
        hits = cast(ORIGIN, rays, solid, rng)
        met = np.isfinite(hits.distance) & (hits.cosine > 0.05)
        points = ORIGIN + hits.distance[met, None] * rays[met]
        out = normals(solid, points, hits.part[met])
        np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1.0, rtol=1e-12)
        assert not inside(solid, points + 1e-6 * out).any()
        assert inside(solid, points - 1e-6 * out).all()
        np.testing.assert_allclose(-(out * rays[met]).sum(1), hits.cosine[met], atol=1e-12)


def test_glass_lets_most_rays_through_to_what_stands_behind():
    pane, wall = box((3.0, 3.1), (0.0, 4.0), 4.0, GLASS), box((5.0, 5.1), (0.0, 4.0), 4.0, METAL)
    rays = np.tile([1.0, 0.0, 0.0], (20_000, 1))
    distance = cast(ORIGIN, rays, assemble([pane, wall]), np.random.default_rng(1)).distance
    assert set(np.round(distance, 6)) == {3.0, 5.0}
    assert np.mean(distance < 4) == pytest.approx(GLASS.opacity, abs=0.015)  # 4.6 standard errors


def test_hull_keeps_corners_and_drops_the_rest():
    square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]
    assert sorted(convex_hull([*square, (1.0, 1.0), (1.0, 0.0), (0.0, 0.0)])) == sorted(square)
