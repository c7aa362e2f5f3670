"""What the three encoders of PointNet have in common, for a stack of networks on a CPU, forwards and back.

h = relu(yK + b)             8→16, for every point
m = max_p relu(h_p W + b)    16→128, the wide layer and its winners (`winners_cpu`)
a = relu(mK + b)             128→64
z = relu(aK + b)             64→32
"""

from typing import NamedTuple

import jax
from jaxtyping import Array, Float

from airbayes.models.layers_cpu import (
    Layer,
    Points,
    affine,
    gate,
    point_layer,
    pull_affine,
    pull_point_layer,
    relu,
)
from airbayes.models.winners_cpu import Winner, pool_and_winners, pull_winners

WIDTHS = (8, 16, 128, 64, 32)
Layers = tuple[Layer, ...]  # four


class Seen(NamedTuple):
    """What the gradient needs of a forward pass."""

    y: Points
    h: Float[Array, "net cloud point 16"]
    m: Float[Array, "net cloud 128"]
    winner: Winner
    a: Float[Array, "net cloud 64"]
    z: Float[Array, "net cloud 32"]


@jax.jit  # traced and lowered once for the three encoders
def encode(layers: Layers, y: Points) -> Seen:
    narrow, wide, *cloud = layers
    h = point_layer(narrow, y)
    m, winner = pool_and_winners(h, *wide)
    a = relu(affine(cloud[0], m))
    return Seen(y, h, m, winner, a, relu(affine(cloud[1], a)))


@jax.jit
def pull_encoder(layers: Layers, seen: Seen, d_z: Float[Array, "net cloud 32"]) -> tuple[Points, Layers]:
    """∂y, and the gradients of the layers."""
    narrow, wide, *cloud = layers
    d_a, d_last = pull_affine(cloud[1], seen.a, gate(seen.z, d_z))
    d_m, d_first = pull_affine(cloud[0], seen.m, gate(seen.a, d_a))
    d_h, d_wide = pull_winners(seen.h, wide, seen.winner, gate(seen.m, d_m))
    d_y, d_narrow = pull_point_layer(narrow, seen.y, seen.h, d_h)
    return d_y, (d_narrow, d_wide, d_first, d_last)
