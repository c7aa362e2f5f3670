"""Where rays o + t·u first enter a solid. All rays × all parts at once; a miss is t = ∞.

convex     t = max of (d_f − n_f·o)/(n_f·u) over faces with n_f·u < 0, if it comes before the first exit
ellipsoid  |U(o − c) + t·Uu|² = 1, the smaller root
capsule    the first of the round side and the two end spheres

The origin lies outside every part.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from airbayes.data.simulator.parts import Solid

Vec3 = Float[np.ndarray, "3"]
Rays = Float[np.ndarray, "ray 3"]
PARALLEL = 1e-12


class Hits(NamedTuple):
    """The first hit of every ray; distance ∞ where there is none (part and cosine then mean nothing)."""

    distance: Float[np.ndarray, " ray"]
    part: Int[np.ndarray, " ray"]
    cosine: Float[np.ndarray, " ray"]  # of the angle between ray and surface normal


def hit_convex(
    origin: Vec3,
    rays: Rays,
    planes: Float[np.ndarray, "part face 4"],
    centres: Float[np.ndarray, "part 3"],
    reach: Float[np.ndarray, " part"],
) -> Float[np.ndarray, "ray part"]:
    """Distance to every polyhedron; each lies within `reach` of its centre; only rays into that ball are cast."""
    distance = np.full((len(rays), len(planes)), np.inf)
    away = centres - origin
    through = rays @ away.T >= np.sqrt(np.maximum((away**2).sum(1) - reach**2, 0.0))
    for part, faces in enumerate(planes):
        (ray,) = np.nonzero(through[:, part])
        slope = faces[:, :3] @ rays[ray].T  # n·u, [face, ray]
        slope[np.abs(slope) < PARALLEL] = PARALLEL
        crossing = (faces[:, 3] - faces[:, :3] @ origin)[:, None] / slope
        entering = slope < 0
        enter = np.where(entering, crossing, -np.inf).max(axis=0)
        leave = np.where(entering, np.inf, crossing).min(axis=0)
        distance[ray, part] = np.where((enter > 0) & (enter < leave), enter, np.inf)
    return distance


def hit_ellipsoids(
    origin: Vec3, rays: Rays, centres: Float[np.ndarray, "part 3"], to_sphere: Float[np.ndarray, "part 3 3"]
) -> Float[np.ndarray, "ray part"]:
    """Distance to every ellipsoid."""
    start = np.einsum("kij,kj->ki", to_sphere, origin - centres)
    along = np.einsum("kij,rj->rki", to_sphere, rays)
    return _first_root((along**2).sum(-1), (along * start).sum(-1), (start**2).sum(-1) - 1.0)


def hit_capsules(
    origin: Vec3,
    rays: Rays,
    starts: Float[np.ndarray, "part 3"],
    ends: Float[np.ndarray, "part 3"],
    radii: Float[np.ndarray, " part"],
) -> Float[np.ndarray, "ray part"]:
    """Distance to every capsule."""
    axis, away = ends - starts, origin - starts
    length2 = (axis**2).sum(-1)
    axis_ray, away_ray = rays @ axis.T, rays @ away.T
    axis_away = (axis * away).sum(-1)
    # The round side: the part of o + t·u − p across the axis has length r; all multiplied by |axis|².
    side = _first_root(
        length2 - axis_ray**2,
        length2 * away_ray - axis_away * axis_ray,
        length2 * (away**2).sum(-1) - axis_away**2 - radii**2 * length2,
    )
    with np.errstate(invalid="ignore"):  # ∞·0 on missed rays
        along = axis_away + side * axis_ray
        side = np.where((along > 0) & (along < length2), side, np.inf)
    one = np.ones((len(rays), 1))
    caps = [_first_root(one, rays @ offset.T, (offset**2).sum(-1) - radii**2) for offset in (away, origin - ends)]
    return np.minimum(side, np.minimum(*caps))


def cast(origin: Vec3, rays: Rays, solid: Solid, rng: np.random.Generator) -> Hits:
    """The first part every ray hits; parts that are not opaque let a share of the rays through."""
    distance = np.concatenate(
        [
            hit_convex(origin, rays, solid.planes, solid.middles, solid.reach),
            hit_ellipsoids(origin, rays, solid.centres, solid.to_sphere),
            hit_capsules(origin, rays, solid.starts, solid.ends, solid.radii),
        ],
        axis=1,
    )
    (clear,) = np.nonzero(solid.opacity < 1)
    passed = rng.random((len(rays), len(clear))) >= solid.opacity[clear]
    distance[:, clear] = np.where(passed, np.inf, distance[:, clear])
    part = distance.argmin(axis=1)
    nearest = distance[np.arange(len(rays)), part]
    (ray,) = np.nonzero(np.isfinite(nearest))
    points = origin + nearest[ray, None] * rays[ray]
    cosine = np.zeros(len(rays))
    cosine[ray] = -(normals(solid, points, part[ray]) * rays[ray]).sum(-1)
    return Hits(nearest, part, np.clip(cosine, 0.0, 1.0))


def normals(
    solid: Solid, points: Float[np.ndarray, "point 3"], part: Int[np.ndarray, " point"]
) -> Float[np.ndarray, "point 3"]:
    """Outward unit normals at points of the surface of the given parts."""
    found = np.zeros_like(points)
    ends = np.cumsum([len(solid.planes), len(solid.centres)])
    flat, ball, tube = part < ends[0], (part >= ends[0]) & (part < ends[1]), part >= ends[1]
    faces = solid.planes[part[flat]]
    above = np.einsum("pfi,pi->pf", faces[..., :3], points[flat]) - faces[..., 3]
    found[flat] = faces[np.arange(len(faces)), above.argmax(axis=1), :3]
    which = part[ball] - ends[0]
    to_sphere = solid.to_sphere[which]
    inside = np.einsum("pij,pj->pi", to_sphere, points[ball] - solid.centres[which])
    found[ball] = np.einsum("pij,pi->pj", to_sphere, inside)
    which = part[tube] - ends[1]
    start, axis = solid.starts[which], solid.ends[which] - solid.starts[which]
    away = points[tube] - start
    share = (away * axis).sum(-1) / np.maximum((axis**2).sum(-1), PARALLEL)
    found[tube] = away - np.clip(share, 0.0, 1.0)[:, None] * axis
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _first_root(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The smaller root of a·t² + 2b·t + c = 0 where it is positive, else ∞."""
    inside = b**2 - a * c
    root = np.sqrt(np.maximum(inside, 0.0))
    t = (-b - root) / np.where(a > PARALLEL, a, 1.0)
    return np.where((inside > 0) & (a > PARALLEL) & (t > 0), t, np.inf)
