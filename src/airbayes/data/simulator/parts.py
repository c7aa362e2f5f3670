"""Road users are unions of convex polyhedra, ellipsoids and capsules.

convex     {x : n_f·x ≤ d_f for every face f}: bodies, boxes, wheels
ellipsoid  {x : |U(x − c)| ≤ 1}: torsos, heads, tanks
capsule    {x : distance to the segment p–q ≤ r}: limbs, tubes, poles

Object frame: x forward, y left, z up, ground at z = 0, metres.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Vector = tuple[float, float, float]


class Material(NamedTuple):
    reflectivity: float  # 0 to 1, of the sensor's light, face on
    opacity: float = 1.0  # probability that a ray stops here: glass and spokes let most through


RUBBER, GLASS, SPOKES, METAL = Material(0.08), Material(0.25, 0.3), Material(0.3, 0.12), Material(0.35)
FAR = 1e6  # distance of a face that cuts nothing: pads all polyhedra to the same number of faces


class Convex(NamedTuple):
    planes: tuple[tuple[float, float, float, float], ...]  # (n, d) with n·x ≤ d, |n| = 1
    low: Vector
    high: Vector
    material: Material


class Ellipsoid(NamedTuple):
    centre: Vector
    axes: tuple[Vector, Vector, Vector]  # orthogonal, each as long as its semi-axis
    material: Material


class Capsule(NamedTuple):
    start: Vector
    end: Vector
    radius: float
    material: Material


Part = Convex | Ellipsoid | Capsule


def prism(
    profile: Sequence[tuple[float, float]],
    width: float,
    material: Material,
    *,
    top_width: float | None = None,
    chamfer: float = 0.0,
    y: float = 0.0,
) -> Convex:
    """The convex hull of (x, z) points, drawn out over `width` around y; sides may lean in, corners be cut off."""
    hull = convex_hull(profile)
    planes = []
    for (x0, z0), (x1, z1) in zip(hull, hull[1:] + hull[:1], strict=True):
        length = math.hypot(x1 - x0, z1 - z0)
        nx, nz = (z1 - z0) / length, -(x1 - x0) / length
        planes.append((nx, 0.0, nz, nx * x0 + nz * z0))
    xs, zs = [x for x, _ in hull], [z for _, z in hull]
    low, high = min(zs), max(zs)
    lean = (width - (width if top_width is None else top_width)) / 2 / (high - low)  # inward, per metre of height
    norm = math.hypot(1.0, lean)
    for side in (1.0, -1.0):
        planes.append((0.0, side / norm, lean / norm, (width / 2 + side * y + lean * low) / norm))
    if chamfer > 0:
        middle, reach = (min(xs) + max(xs)) / 2, (max(xs) - min(xs)) / 2 + width / 2 - chamfer
        root = math.sqrt(0.5)
        for fx in (1.0, -1.0):
            planes += [(fx * root, fy * root, 0.0, root * (reach + fx * middle + fy * y)) for fy in (1.0, -1.0)]
    return Convex(tuple(planes), (min(xs), y - width / 2, low), (max(xs), y + width / 2, high), material)


def box(x: tuple[float, float], z: tuple[float, float], width: float, material: Material, **cut: float) -> Convex:
    """A box from its extent along x and z; keywords as in `prism`."""
    return prism([(x[0], z[0]), (x[1], z[0]), (x[1], z[1]), (x[0], z[1])], width, material, **cut)


def wheel(x: float, y: float, radius: float, width: float, material: Material = RUBBER, sides: int = 10) -> Convex:
    """A wheel that stands on the ground: a polygon drawn out over its width."""
    turns = [2 * math.pi * (k + 0.5) / sides for k in range(sides)]
    reach = radius / math.cos(math.pi / sides)
    rim = [(x + reach * math.sin(a), radius - reach * math.cos(a)) for a in turns]
    return prism(rim, width, material, y=y)


def ellipsoid(centre: Vector, semi: Vector, material: Material, *, pitch: float = 0.0) -> Ellipsoid:
    """An ellipsoid turned about y: its x axis points `pitch` radians upwards."""
    c, s = math.cos(pitch), math.sin(pitch)
    return Ellipsoid(
        centre, ((semi[0] * c, 0.0, semi[0] * s), (0.0, semi[1], 0.0), (-semi[2] * s, 0.0, semi[2] * c)), material
    )


def convex_hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of the hull, counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points))

    def half(sequence):
        chain: list[tuple[float, float]] = []
        for p in sequence:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2], chain[-1]
                if (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax) > 1e-12:
                    break
                chain.pop()
            chain.append(p)
        return chain

    return half(ordered)[:-1] + half(reversed(ordered))[:-1]


@dataclasses.dataclass(frozen=True, eq=False)
class Solid:
    """The parts of one road user as arrays, in the order convex, ellipsoids, capsules."""

    planes: Float[np.ndarray, "convex face 4"]
    middles: Float[np.ndarray, "convex 3"]  # each polyhedron lies within `reach` of its middle
    reach: Float[np.ndarray, " convex"]
    centres: Float[np.ndarray, "ellipsoid 3"]
    to_sphere: Float[np.ndarray, "ellipsoid 3 3"]  # U: takes x − c into the unit ball
    starts: Float[np.ndarray, "capsule 3"]
    ends: Float[np.ndarray, "capsule 3"]
    radii: Float[np.ndarray, " capsule"]
    reflectivity: Float[np.ndarray, " part"]
    opacity: Float[np.ndarray, " part"]
    low: Float[np.ndarray, "3"]  # corners of the box around all parts, in the object frame
    high: Float[np.ndarray, "3"]

    @property
    def size(self) -> Float[np.ndarray, "3"]:
        """Length, width and height."""
        return self.high - self.low

    def placed(self, x: float, y: float, yaw: float) -> "Solid":
        """Turned by `yaw` about the middle of its box, which then stands over (x, y). `low` and `high` stay."""
        c, s = math.cos(yaw), math.sin(yaw)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        middle = (self.low + self.high) / 2
        shift = np.array([x, y, 0.0]) - turn @ np.array([middle[0], middle[1], 0.0])
        normals = self.planes[..., :3] @ turn.T
        offsets = self.planes[..., 3] + normals @ shift
        return dataclasses.replace(
            self,
            planes=np.concatenate([normals, offsets[..., None]], axis=-1),
            middles=self.middles @ turn.T + shift,
            centres=self.centres @ turn.T + shift,
            to_sphere=self.to_sphere @ turn.T,
            starts=self.starts @ turn.T + shift,
            ends=self.ends @ turn.T + shift,
        )


def assemble(parts: Sequence[Part]) -> Solid:
    """Stack the parts into arrays, and put the box around them."""
    convex = [part for part in parts if isinstance(part, Convex)]
    balls = [part for part in parts if isinstance(part, Ellipsoid)]
    tubes = [part for part in parts if isinstance(part, Capsule)]
    faces = max((len(part.planes) for part in convex), default=1)
    pad = ((0.0, 0.0, 1.0, FAR),)
    axes = np.array([part.axes for part in balls]).reshape(-1, 3, 3)
    starts = np.array([part.start for part in tubes]).reshape(-1, 3)
    ends = np.array([part.end for part in tubes]).reshape(-1, 3)
    radii = np.array([part.radius for part in tubes], float)
    centres = np.array([part.centre for part in balls]).reshape(-1, 3)
    half = np.sqrt((axes**2).sum(axis=1))  # of the extent of an ellipsoid along x, y, z
    low = np.array([part.low for part in convex]).reshape(-1, 3)
    high = np.array([part.high for part in convex]).reshape(-1, 3)
    materials = np.array([part.material for part in (*convex, *balls, *tubes)])
    return Solid(
        planes=np.array([part.planes + pad * (faces - len(part.planes)) for part in convex]).reshape(-1, faces, 4),
        middles=(low + high) / 2,
        reach=np.linalg.norm(high - low, axis=1) / 2,
        centres=centres,
        to_sphere=axes / (axes**2).sum(axis=2, keepdims=True),
        starts=starts,
        ends=ends,
        radii=radii,
        reflectivity=materials[:, 0],
        opacity=materials[:, 1],
        low=np.concatenate([low, centres - half, np.minimum(starts, ends) - radii[:, None]]).min(axis=0),
        high=np.concatenate([high, centres + half, np.maximum(starts, ends) + radii[:, None]]).max(axis=0),
    )
