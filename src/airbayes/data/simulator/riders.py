"""Cyclists and motorcyclists: a machine and somebody on it. x forward, rear axle behind, ground at z = 0, metres."""

import math

from numpy.random import Generator

from airbayes.data.simulator.draw import between, normal, pick
from airbayes.data.simulator.parts import (
    METAL,
    RUBBER,
    SPOKES,
    Capsule,
    Material,
    Part,
    Vector,
    box,
    ellipsoid,
    prism,
    wheel,
)
from airbayes.data.simulator.people import adult_height, body, clothes


def spoked_wheel(x: float, radius: float, tube: float, sides: int = 10) -> list[Part]:
    """A tyre of short tubes, and a thin disc of spokes that lets most rays through."""
    rim = radius - tube
    at = [
        (x + rim * math.sin(2 * math.pi * k / sides), 0.0, radius - rim * math.cos(2 * math.pi * k / sides))
        for k in range(sides)
    ]
    tyre: list[Part] = [Capsule(a, b, tube, RUBBER) for a, b in zip(at, at[1:] + at[:1], strict=True)]
    return [*tyre, wheel(x, 0.0, radius - tube, 0.02, SPOKES, sides=8)]


def cyclist(rng: Generator) -> list[Part]:
    """City, trekking and racing bicycles, some with a basket, bags, a child seat or a cargo box; a rider pedalling."""
    kind = pick(rng, {"city": 0.45, "trekking": 0.3, "racing": 0.17, "cargo": 0.08})
    height, fabrics = adult_height(rng) * (0.85 if rng.random() < 0.05 else 1.0), clothes(rng)
    radius, tube = between(rng, 0.31, 0.36), between(rng, 0.014, 0.028)
    base = between(rng, 1.0, 1.12) + (between(rng, 0.4, 0.7) if kind == "cargo" else 0.0)
    back, front = -0.45, base - 0.45
    crank: Vector = (0.0, 0.0, 0.28)
    saddle: Vector = (-0.2, 0.0, 0.56 * height)
    reach = {"city": 0.38, "trekking": 0.5, "racing": 0.62, "cargo": 0.42}[kind]
    bar_x, bar_z = (
        saddle[0] + reach + between(rng, -0.04, 0.04),
        between(rng, 0.92, 1.02) + (0.12 if kind == "city" else 0),
    )
    frame = Material(between(rng, 0.15, 0.6))
    head_tube: Vector = (bar_x + 0.03, 0.0, bar_z - 0.2)

    def tubes(radius: float, *ways: tuple[Vector, Vector]) -> list[Part]:
        return [Capsule(a, b, radius, frame) for a, b in ways]

    parts = spoked_wheel(back, radius, tube) + spoked_wheel(front, radius, tube)
    parts += tubes(0.02, (crank, (saddle[0], 0.0, saddle[2] - 0.06)), (crank, head_tube))
    parts += tubes(0.018, ((saddle[0] + 0.05, 0.0, 0.65), head_tube), (crank, (back, 0.0, radius)))
    parts += tubes(0.018, ((front, 0.0, radius), (bar_x, 0.0, bar_z)), ((back, 0.0, radius), (saddle[0], 0.0, 0.75)))
    parts += tubes(0.015, ((bar_x, 0.28, bar_z), (bar_x, -0.28, bar_z)))
    parts.append(ellipsoid((saddle[0] - 0.03, 0.0, saddle[2] - 0.03), (0.13, 0.07, 0.04), RUBBER))
    parts += _luggage(rng, kind, back, front, radius)
    turn = between(rng, 0.0, 2 * math.pi)
    pedal = (0.17 * math.cos(turn), 0.17 * math.sin(turn))
    feet = ((pedal[0] - 0.05, 0.12, crank[2] + pedal[1] + 0.07), (-pedal[0] - 0.05, -0.12, crank[2] - pedal[1] + 0.07))
    hands = ((bar_x, 0.25, bar_z + 0.02), (bar_x, -0.25, bar_z + 0.02))
    lean = {"city": 0.2, "trekking": 0.45, "racing": 0.8, "cargo": 0.2}[kind] + normal(rng, 0.0, 0.07)
    hip = (saddle[0], 0.0, saddle[2] + 0.05)
    helmet = 0.025 if rng.random() < 0.55 else 0.0
    return parts + body(height, hip, lean, hands, feet, helmet=helmet, **fabrics)


def _luggage(rng: Generator, kind: str, back: float, front: float, radius: float) -> list[Part]:
    """What a bicycle carries."""
    fabric = Material(between(rng, 0.1, 0.6))
    if kind == "cargo":
        tub = [(front - 0.75, 0.25), (front - 0.3, 0.25), (front - 0.15, 0.75), (front - 0.8, 0.75)]
        return [prism(tub, between(rng, 0.5, 0.65), fabric)]
    what = pick(rng, {"nothing": 0.55, "bags": 0.2, "basket": 0.15, "child": 0.1})
    if what == "bags":
        return [box((back - 0.2, back + 0.15), (radius, 2 * radius + 0.05), 0.4, fabric)]
    if what == "basket":
        return [box((front - 0.1, front + 0.2), (0.78, 1.02), 0.35, Material(0.3, 0.5))]
    if what == "child":
        head = ellipsoid((back, 0.0, 1.4), (0.11, 0.11, 0.11), fabric)
        return [ellipsoid((back - 0.02, 0.0, 1.05), (0.14, 0.16, 0.3), fabric), head]
    return []


def motorcyclist(rng: Generator) -> list[Part]:
    """Scooters, upright, sports and touring machines; a helmeted rider, sometimes a passenger."""
    kind = pick(rng, {"scooter": 0.35, "naked": 0.3, "sport": 0.17, "tourer": 0.18})
    height, fabrics = adult_height(rng), clothes(rng)
    fabrics["build"] *= 1.06  # protective clothing
    scooter = kind == "scooter"
    radius = between(rng, 0.22, 0.27) if scooter else between(rng, 0.29, 0.34)
    base = between(rng, 1.2, 1.4) if scooter else between(rng, 1.38, 1.6)
    tyre = between(rng, 0.09, 0.13) if scooter else between(rng, 0.12, 0.19)
    back, front = -0.45 * base, 0.55 * base
    seat = between(rng, 0.74, 0.82)
    bar_x, bar_z = front - between(rng, 0.28, 0.4), between(rng, 0.98, 1.12) - (0.15 if kind == "sport" else 0.0)
    paint = Material(between(rng, 0.12, 0.7))
    parts: list[Part] = [
        wheel(back, 0.0, radius, tyre),
        wheel(front, 0.0, radius, tyre * 0.8),
        Capsule((front, 0.07, radius), (bar_x, 0.07, bar_z), 0.03, METAL),
        Capsule((front, -0.07, radius), (bar_x, -0.07, bar_z), 0.03, METAL),
        Capsule((bar_x, 0.36, bar_z), (bar_x, -0.36, bar_z), 0.02, METAL),
        ellipsoid((bar_x + 0.12, 0.0, bar_z - 0.12), (0.1, 0.1, 0.12), paint),
    ]
    if scooter:
        shield = [(bar_x - 0.05, 0.25), (bar_x + 0.1, 0.25), (bar_x + 0.08, bar_z - 0.05), (bar_x, bar_z - 0.05)]
        tail = [(back - 0.3, seat - 0.15), (back - 0.05, 0.3), (0.1, 0.28), (0.05, seat), (back - 0.25, seat)]
        parts += [prism(shield, 0.42, paint, top_width=0.3), prism(tail, 0.34, paint)]
        parts.append(box((0.0, bar_x), (0.22, 0.32), 0.32, paint))
        feet: tuple[Vector, Vector] = ((bar_x - 0.22, 0.12, 0.38), (bar_x - 0.22, -0.12, 0.38))
    else:
        engine = [(back + 0.4, 0.22), (0.35, 0.22), (0.42, 0.5), (0.25, 0.66), (back + 0.3, 0.6)]
        parts += [prism(engine, between(rng, 0.32, 0.46), METAL)]
        parts.append(ellipsoid((0.16, 0.0, seat + 0.08), (0.3, 0.17, 0.15), paint))
        rear = [(back - 0.25, seat + 0.02), (back - 0.2, seat + 0.1), (0.0, seat), (0.0, seat - 0.14)]
        parts += [prism(rear, 0.24, paint), Capsule((0.0, -0.17, 0.32), (back, -0.2, 0.38), 0.055, METAL)]
        rest = -0.05 if kind == "sport" else 0.08
        feet = ((rest, 0.2, 0.36), (rest, -0.2, 0.36))
    if kind in ("sport", "tourer") or rng.random() < 0.25:
        fairing = [(bar_x - 0.1, 0.55), (front - 0.1, 0.6), (front + 0.02, 0.8), (bar_x, bar_z + 0.05)]
        screen = [(bar_x + 0.02, bar_z), (bar_x + 0.12, bar_z), (bar_x - 0.08, bar_z + between(rng, 0.15, 0.4))]
        parts += [
            prism(fairing, between(rng, 0.35, 0.55), paint, top_width=0.25),
            prism(screen, 0.3, Material(0.2, 0.4)),
        ]
    if kind == "tourer" or (scooter and rng.random() < 0.35):  # top case; panniers on the tourer
        parts.append(box((back - 0.4, back - 0.02), (seat + 0.08, seat + 0.42), 0.42, paint))
        if kind == "tourer":
            parts.append(box((back - 0.25, back + 0.25), (0.42, 0.78), 0.85, paint, chamfer=0.1))
    lean = {"scooter": 0.12, "naked": 0.25, "sport": 0.7, "tourer": 0.18}[kind] + normal(rng, 0.0, 0.05)
    hip = (-0.12, 0.0, seat + 0.1)
    hands: tuple[Vector, Vector] = ((bar_x - 0.02, 0.33, bar_z + 0.02), (bar_x - 0.02, -0.33, bar_z + 0.02))
    parts += body(height, hip, lean, hands, feet, helmet=0.035, **fabrics)
    if rng.random() < 0.1:
        hold: tuple[Vector, Vector] = ((0.0, 0.18, seat + 0.35), (0.0, -0.18, seat + 0.35))
        rests: tuple[Vector, Vector] = ((-0.3, 0.2, 0.45), (-0.3, -0.2, 0.45))
        parts += body(adult_height(rng), (-0.47, 0.0, seat + 0.16), lean, hold, rests, helmet=0.035, **clothes(rng))
    return parts
