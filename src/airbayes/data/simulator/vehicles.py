"""Cars, trucks and buses: every call of a function draws another vehicle. x forward, ground at z = 0, metres.

Glass stands between an opaque lower body and a roof, so that rays enter windows as they do in the street.
"""

from numpy.random import Generator

from airbayes.data.simulator.draw import between, normal, pick
from airbayes.data.simulator.parts import GLASS, METAL, Material, Part, box, ellipsoid, prism, wheel

# kind: share, then mean and spread of length, width and height
CARS = {
    "hatchback": (0.28, (4.05, 0.22), (1.77, 0.05), (1.49, 0.05)),
    "sedan": (0.26, (4.65, 0.22), (1.83, 0.05), (1.46, 0.04)),
    "suv": (0.24, (4.55, 0.25), (1.88, 0.06), (1.70, 0.07)),
    "van": (0.16, (5.05, 0.40), (1.97, 0.07), (2.15, 0.25)),
    "pickup": (0.06, (5.30, 0.20), (1.90, 0.05), (1.82, 0.06)),
}


def car(rng: Generator) -> list[Part]:
    """Lower body with bonnet, glass, roof, four wheels; vans with a closed load space, pickups with a bed."""
    kind = pick(rng, {name: row[0] for name, row in CARS.items()})
    length, width, height = (normal(rng, *law) for law in CARS[kind][1:])
    paint = Material(between(rng, 0.08, 0.75))
    back, front = -length / 2, length / 2
    floor, bonnet = between(rng, 0.2, 0.28), between(rng, 0.68, 0.78) + 0.12 * (height - 1.5)
    belt = (0.52 if kind == "van" else 0.6) * height + normal(rng, 0.0, 0.02)
    tail = belt if kind in ("hatchback", "suv", "van") else belt - between(rng, 0.0, 0.06)
    # Foot of the windscreen, its upper edge, the roof's rear edge, foot of the rear window.
    screen = front - length * (between(rng, 0.12, 0.18) if kind == "van" else between(rng, 0.24, 0.30))
    roof_front = screen - between(rng, 0.55, 0.75)
    if kind == "pickup":
        roof_back = roof_front - between(rng, 1.0, 1.7)
        rear = roof_back - 0.15
    elif kind == "sedan":
        rear = back + length * between(rng, 0.08, 0.13)
        roof_back = rear + between(rng, 0.6, 0.9)
    else:
        rear = back + between(rng, 0.02, 0.12)
        roof_back = rear + (between(rng, 0.03, 0.12) if kind == "van" else between(rng, 0.15, 0.45))
    body = [(back + 0.06, floor), (front - 0.08, floor), (front, 0.45), (front - 0.06, bonnet), (screen, belt)]
    body += [(back + 0.04, tail), (back, 0.5)]
    glass = [(screen, belt), (roof_front, height - 0.06), (roof_back, height - 0.06), (rear, belt)]
    roof = [(roof_front + 0.05, height - 0.08), (roof_front - 0.15, height), (roof_back + 0.1, height)]
    roof += [(roof_back - 0.03, height - 0.08)]
    top = width * (0.9 if kind == "van" else 0.76)
    parts: list[Part] = [
        prism(body, width, paint, chamfer=between(rng, 0.12, 0.3)),
        prism(glass, width * 0.95, GLASS, top_width=top),
        prism(roof, top, paint, chamfer=0.08),
    ]
    if kind == "van" and rng.random() < 0.6:
        closed = [(rear, belt), (roof_front - 0.5, belt), (roof_front - 0.5, height), (rear + 0.05, height)]
        parts.append(prism(closed, width * 0.96, paint, top_width=top + 0.02))
    radius = between(rng, 0.30, 0.36) + (0.03 if kind in ("suv", "pickup") else 0.0)
    axles = (front - length * between(rng, 0.17, 0.21), back + length * between(rng, 0.17, 0.22))
    return parts + _axles(axles, width, radius, 0.2)


def truck(rng: Generator) -> list[Part]:
    """Cab, gap, chassis and one of: box, flatbed, tipper, mixer; light box trucks; tractor with a semi-trailer."""
    kind = pick(rng, {"box": 0.3, "light": 0.22, "articulated": 0.2, "tipper": 0.12, "flatbed": 0.1, "mixer": 0.06})
    light = kind == "light"
    width = between(rng, 1.95, 2.3) if light else between(rng, 2.35, 2.55)
    cab_height = between(rng, 2.1, 2.5) if light else between(rng, 2.5, 3.5)
    cab = between(rng, 1.7, 2.3)
    length = {
        "box": between(rng, 7.0, 11.0),
        "light": between(rng, 5.4, 7.2),
        "articulated": between(rng, 13.0, 16.5),
        "tipper": between(rng, 6.5, 9.0),
        "flatbed": between(rng, 6.0, 10.0),
        "mixer": between(rng, 7.5, 9.5),
    }[kind]
    front, back = length / 2, -length / 2
    load_front, deck = (
        front - cab - between(rng, 0.05, 0.6),
        between(rng, 0.65, 0.9) if light else between(rng, 1.0, 1.25),
    )
    paint, load = Material(between(rng, 0.1, 0.7)), Material(between(rng, 0.15, 0.8))
    nose = between(rng, 0.5, 0.9) if light else between(rng, 0.0, 0.15)
    belt = 0.58 * cab_height
    parts: list[Part] = [
        prism(
            [(front - cab, 0.35), (front, 0.35), (front, 0.9), (front - nose, belt), (front - cab, belt)],
            width,
            paint,
            chamfer=0.12,
        ),
        prism(
            [
                (front - cab, belt),
                (front - nose, belt),
                (front - nose - 0.25, 0.85 * cab_height),
                (front - cab, 0.85 * cab_height),
            ],
            width * 0.96,
            Material(0.25, 0.45),
            top_width=width * 0.9,
        ),
        prism(
            [
                (front - cab, 0.84 * cab_height),
                (front - nose - 0.22, 0.84 * cab_height),
                (front - nose - 0.5, cab_height),
                (front - cab, cab_height),
            ],
            width * 0.92,
            paint,
        ),
        box((back + 0.2, front - cab), (deck - 0.3, deck), 0.9, METAL),
    ]
    parts += _load(rng, kind, (back, load_front), deck, width, load)
    radius = between(rng, 0.34, 0.4) if light else between(rng, 0.46, 0.52)
    axles = [front - between(rng, 0.8, 1.4), back + between(rng, 1.0, 1.0 + 0.15 * length)]
    if not light:
        axles.append(axles[1] + 1.35)
    if kind == "articulated":
        axles += [axles[1] + 2.65, front - cab - 1.6]
    skirt = (axles[1 if light else 2] + 0.7, axles[0] - 0.8)
    if rng.random() < 0.3 and skirt[1] - skirt[0] > 0.5:
        parts.append(box(skirt, (0.4, deck), width * 0.94, load))
    return parts + _axles(axles, width * 0.98, radius, 0.3)


def _load(rng: Generator, kind: str, x: tuple[float, float], deck: float, width: float, load: Material) -> list[Part]:
    """What stands on the chassis."""
    if kind == "tipper":
        rim = deck + between(rng, 0.9, 1.6)
        sides = [(x[0] + 0.1, deck), (x[1] - 0.25, deck), (x[1], rim), (x[0] - 0.05, rim)]
        heap = ((x[0] + x[1]) / 2, 0.0, rim - 0.1)
        size = ((x[1] - x[0]) * 0.42, width * 0.4, between(rng, 0.1, 0.5))
        return [prism(sides, width * 0.96, load), ellipsoid(heap, size, Material(0.2))]
    if kind == "mixer":
        centre = ((x[0] + x[1]) / 2, 0.0, deck + 1.15)
        return [ellipsoid(centre, ((x[1] - x[0]) * 0.48, 1.1, 1.1), load, pitch=-0.2)]
    if kind == "flatbed":
        board = between(rng, 0.1, 0.55)
        parts: list[Part] = [box(x, (deck - 0.1, deck + board), width, load)]
        if rng.random() < 0.6:  # cargo under sheets
            start = between(rng, x[0], x[0] + 0.4 * (x[1] - x[0]))
            cargo = (start, between(rng, start + 1.0, max(x[1], start + 1.1)))
            parts.append(box(cargo, (deck, deck + between(rng, 0.6, 1.8)), width * between(rng, 0.6, 0.95), METAL))
        return parts
    top = deck + (between(rng, 1.7, 2.2) if kind == "light" else between(rng, 2.1, 2.8))
    return [box(x, (deck, top), width, load, chamfer=0.04)]


# kind: share, then ranges of length, width and height
BUSES = {
    "city": (0.5, (10.0, 12.5), (2.45, 2.55), (2.9, 3.25)),
    "mini": (0.22, (6.2, 8.8), (2.05, 2.35), (2.5, 2.9)),
    "coach": (0.16, (11.0, 13.5), (2.5, 2.55), (3.3, 3.8)),
    "articulated": (0.12, (15.5, 18.0), (2.5, 2.55), (2.95, 3.25)),
}


def bus(rng: Generator) -> list[Part]:
    """A long rounded box with a band of windows between lower body and roof, pillars in it, wheels in the sides."""
    kind = pick(rng, {name: row[0] for name, row in BUSES.items()})
    length, width, height = (between(rng, *law) for law in BUSES[kind][1:])
    paint = Material(between(rng, 0.15, 0.75))
    front, back = length / 2, -length / 2
    floor = between(rng, 0.25, 0.38)
    sill = between(rng, 0.9, 1.2) + (0.5 if kind == "coach" else 0.0)
    head = height - between(rng, 0.35, 0.6)
    slant = between(rng, 0.4, 0.9) if kind == "mini" else between(rng, 0.02, 0.35)  # of the windscreen
    cut = between(rng, 0.15, 0.35)
    lower = [(back, floor), (front - 0.05, floor), (front, 0.6), (front - 0.02, sill), (back, sill)]
    windows = [(back + 0.02, sill), (front - 0.02, sill), (front - slant, head), (back + 0.05, head)]
    roof = [(back + 0.03, head), (front - slant, head), (front - slant - 0.2, height), (back + 0.2, height)]
    parts: list[Part] = [
        prism(lower, width, paint, chamfer=cut),
        prism(windows, width * 0.995, Material(0.25, between(rng, 0.3, 0.6)), top_width=width * 0.97, chamfer=cut),
        prism(roof, width * 0.97, paint, top_width=width * 0.85, chamfer=cut),
    ]
    pillars = int(length / between(rng, 1.3, 2.0))
    for k in range(1, pillars):
        x = back + k * length / pillars
        if x < front - slant - 0.3:
            parts += [
                box((x - 0.06, x + 0.06), (sill, head), 0.08, paint, y=side * (width / 2 - 0.05))
                for side in (1.0, -1.0)
            ]
    if rng.random() < 0.4:  # air conditioning on the roof
        x = between(rng, back + 1.0, front - 3.5)
        parts.append(box((x, x + between(rng, 1.5, 2.5)), (height - 0.05, height + between(rng, 0.1, 0.3)), 1.6, paint))
    radius = between(rng, 0.36, 0.4) if kind == "mini" else between(rng, 0.46, 0.5)
    axles = [front - between(rng, 0.9, 2.7), back + between(rng, 1.6, 3.3)]
    if kind == "articulated":
        axles.append(between(rng, -1.0, 1.0))
    return parts + _axles(axles, width, radius, 0.28)


def _axles(places, width: float, radius: float, tyre: float) -> list[Part]:
    """A wheel on either side at every place, a finger's breadth proud of the body."""
    return [wheel(x, side * (width / 2 - tyre / 2 + 0.01), radius, tyre) for x in places for side in (1.0, -1.0)]
