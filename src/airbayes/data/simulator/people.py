"""People: a body hung on its joints, and pedestrians. x forward, ground at z = 0, metres.

Hips, hands and feet are given; knees and elbows follow from the lengths of the limbs (two links, one bend).
"""

import math

from numpy.random import Generator

from airbayes.data.simulator.draw import between, normal, pick
from airbayes.data.simulator.parts import (
    METAL,
    RUBBER,
    Capsule,
    Ellipsoid,
    Material,
    Part,
    Vector,
    box,
    ellipsoid,
    prism,
    wheel,
)

SKIN = Material(0.45)


def bend(root: Vector, tip: Vector, upper: float, lower: float, towards: Vector) -> Vector:
    """The joint of a limb from root to tip that bends `towards`; a limb too short for the way is stretched."""
    way = (tip[0] - root[0], tip[1] - root[1], tip[2] - root[2])
    distance = max(math.hypot(*way), 1e-6)
    unit = (way[0] / distance, way[1] / distance, way[2] / distance)
    along = (distance**2 + upper**2 - lower**2) / (2 * distance)
    along = min(max(along, 0.0), distance)
    out = math.sqrt(max(upper**2 - along**2, 0.0))
    dot = sum(a * b for a, b in zip(towards, unit, strict=True))
    across = [a - dot * b for a, b in zip(towards, unit, strict=True)]
    size = max(math.hypot(*across), 1e-6)
    x, y, z = (r + along * u + out * a / size for r, u, a in zip(root, unit, across, strict=True))
    return (x, y, z)


def body(
    height: float,
    hip: Vector,
    lean: float,
    hands: tuple[Vector, Vector],
    feet: tuple[Vector, Vector],
    *,
    build: float,
    jacket: Material,
    trousers: Material,
    helmet: float = 0.0,
) -> list[Part]:
    """Torso leaning forward by `lean` radians from the hip, head, arms to the hands, legs to the feet (left, right).

    `build` scales breadth; `helmet` is its thickness, 0 for none.
    """
    up = (math.sin(lean), 0.0, math.cos(lean))
    trunk = 0.31 * height
    neck = (hip[0] + trunk * up[0], hip[1], hip[2] + trunk * up[2])
    middle = (hip[0] + 0.5 * trunk * up[0], hip[1], hip[2] + 0.5 * trunk * up[2])
    depth, breadth = 0.075 * height * build, 0.118 * height * build
    forward = (math.cos(lean), 0.0, -math.sin(lean))
    half = 0.62 * trunk
    axes = (
        (depth * forward[0], 0.0, depth * forward[2]),
        (0.0, breadth, 0.0),
        (half * up[0], 0.0, half * up[2]),
    )
    head = (neck[0] + 0.1 * height * math.sin(lean / 2), hip[1], neck[2] + 0.1 * height * math.cos(lean / 2))
    skull = (0.058 * height + helmet, 0.047 * height + helmet, 0.072 * height + helmet)
    hip_half, shoulder_half = 0.055 * height, 0.108 * height * build
    parts: list[Part] = [
        Ellipsoid(middle, axes, jacket),
        ellipsoid(head, skull, Material(0.5) if helmet else SKIN),
        Capsule(
            (hip[0], hip[1] + hip_half, hip[2]), (hip[0], hip[1] - hip_half, hip[2]), 0.055 * height * build, trousers
        ),
    ]
    shoulder_x, shoulder_z = hip[0] + 0.88 * trunk * up[0], hip[2] + 0.88 * trunk * up[2]
    for side, hand, foot in zip((1.0, -1.0), hands, feet, strict=True):
        shoulder = (shoulder_x, hip[1] + side * shoulder_half, shoulder_z)
        elbow = bend(shoulder, hand, 0.17 * height, 0.17 * height, (-0.6, side * 0.5, -0.5))
        root = (hip[0], hip[1] + side * hip_half, hip[2])
        knee = bend(root, foot, 0.245 * height, 0.246 * height, (1.0, side * 0.15, 0.0))
        toe = (foot[0] + 0.1 * height, foot[1], foot[2])
        parts += [
            Capsule(shoulder, elbow, 0.029 * height * build, jacket),
            Capsule(elbow, hand, 0.025 * height, jacket),
            Capsule(root, knee, 0.045 * height * build, trousers),
            Capsule(knee, foot, 0.033 * height, trousers),
            Capsule(foot, toe, 0.024 * height, RUBBER),
        ]
    return parts


def clothes(rng: Generator) -> dict:
    """Breadth and fabrics of one person."""
    return {
        "build": normal(rng, 1.05, 0.1),
        "jacket": Material(between(rng, 0.1, 0.7)),
        "trousers": Material(between(rng, 0.08, 0.5)),
    }


def adult_height(rng: Generator) -> float:
    return normal(rng, *((1.66, 0.07) if rng.random() < 0.5 else (1.77, 0.07)))


def pedestrian(rng: Generator) -> list[Part]:
    """Somebody walking or standing, grown-up or a child, with or without a bag, coat, suitcase, pram or umbrella."""
    height = between(rng, 1.0, 1.45) if rng.random() < 0.08 else adult_height(rng)
    fabrics = clothes(rng)
    walking = rng.random() < 0.75
    step = between(rng, 0.08, 0.19) * height if walking else between(rng, 0.0, 0.04) * height
    phase = between(rng, 0.0, 2 * math.pi)
    swing, lift = step * math.cos(phase), 0.06 * height * max(math.sin(phase), 0.0) * walking
    ankle, hip_half = 0.035 * height, 0.055 * height
    hip_z = 0.5 * height - 0.25 * swing**2 / height
    feet = (
        (swing, hip_half, ankle + lift),
        (-swing, -hip_half, ankle + 0.06 * height * max(-math.sin(phase), 0) * walking),
    )
    down, out = hip_z - between(rng, 0.0, 0.03) * height, between(rng, 0.13, 0.17) * height
    hands = ((-0.8 * swing, out, down), (0.8 * swing, -out, down))
    carry = pick(rng, {"nothing": 0.42, "backpack": 0.2, "phone": 0.12, "suitcase": 0.08, "pram": 0.07, "coat": 0.11})
    parts: list[Part] = []
    fabric = Material(between(rng, 0.1, 0.6))
    if carry == "backpack":
        parts.append(ellipsoid((-0.13 * height, 0.0, 0.68 * height), (0.09, 0.16, 0.24), fabric))
    elif carry == "phone":
        hands = ((0.2 * height, 0.06 * height, 0.7 * height), hands[1])
    elif carry == "suitcase":
        x, tall = between(rng, -0.55, -0.3), between(rng, 0.5, 0.75)
        parts.append(box((x - 0.13, x + 0.13), (0.06, tall), 0.42, fabric, y=-0.25))
        hands = (hands[0], (x + 0.05, -0.22, tall + 0.15))
    elif carry == "pram":
        x = between(rng, 0.55, 0.75)
        tub = [(x, 0.5), (x + 0.6, 0.5), (x + 0.75, 0.85), (x + 0.3, 1.05), (x - 0.1, 0.85)]
        parts += [prism(tub, 0.42, fabric), Capsule((x + 0.1, 0.2, 0.5), (0.35, 0.2, 0.95), 0.02, METAL)]
        parts += [wheel(x + place, side * 0.25, 0.13, 0.04) for place in (0.05, 0.65) for side in (1.0, -1.0)]
        parts += [Capsule((x + place, 0.0, 0.15), (x + 0.3, 0.0, 0.55), 0.02, METAL) for place in (0.05, 0.65)]
        hands = ((0.36, 0.2, 0.95), (0.36, -0.2, 0.95))
    elif carry == "coat":
        hem = between(rng, 0.25, 0.4) * height
        flare = 0.13 * height
        skirt = [(-flare, hem), (flare, hem), (0.08 * height, 0.6 * height), (-0.08 * height, 0.6 * height)]
        parts.append(prism(skirt, 0.3 * height, fabrics["jacket"], top_width=0.22 * height, chamfer=0.05))
    lean = normal(rng, 0.06, 0.04) + (0.1 if carry == "pram" else 0.0)
    return parts + body(height, (0.0, 0.0, hip_z), lean, hands, feet, **fabrics)
