"""The least arithmetic and memory traffic of a PointNet gradient, counted from the widths of its layers.

A product of [rows, in] and [in, out] is 2·rows·in·out FLOP; its gradient needs two such products, one for the kernel
and one for the input. Two inputs need none, the clouds themselves. And a maximum over points sends gradient to one
winner per channel: behind the wide layers 128 rows per cloud carry it instead of 128 × points.
"""

from typing import NamedTuple

WIDE = 128  # channels that are pooled over points


class Layer(NamedTuple):
    inputs: int
    outputs: int
    per_point: bool  # else once a cloud
    pooled: bool = False  # followed by the maximum over points
    first: bool = False  # its input is data: no gradient with respect to it


def encoder(width: int, out: int, *, first: bool = False) -> list[Layer]:
    """width→8→16→128, max, →64→32→out."""
    points = [Layer(width, 8, True, first=first), Layer(8, 16, True), Layer(16, WIDE, True, pooled=True)]
    return [*points, Layer(WIDE, 64, False), Layer(64, 32, False), Layer(32, out, False)]


def pointnet_layers(num_classes: int = 6) -> list[Layer]:
    """All products, the two by the T-Nets' matrices included (the last of each row)."""
    return [
        *encoder(3, 9, first=True),
        Layer(3, 3, True, first=True),
        *[Layer(3, 8, True), Layer(8, 8, True)],
        *encoder(8, 64),
        Layer(8, 8, True),
        *encoder(8, num_classes),
    ]


def forward_flops(clouds: int, points: int, num_classes: int = 6) -> int:
    """FLOP of all products of the forward pass over `clouds` clouds."""
    return sum(_product(layer, clouds, points) for layer in pointnet_layers(num_classes))


def gradient_flops(clouds: int, points: int, num_classes: int = 6, *, winners_only: bool = True) -> int:
    """FLOP of forward and backward pass; `winners_only` counts the floor, without it the plain network."""
    total = forward_flops(clouds, points, num_classes)
    for layer in pointnet_layers(num_classes):
        if layer.pooled and winners_only:
            total += 2 * 2 * clouds * layer.inputs * layer.outputs  # each channel has one row, in both products
        else:
            total += _product(layer, clouds, points) * (1 if layer.first else 2)
    return total


def gradient_bytes(agents: int, clouds: int, points: int, num_params: int) -> int:
    """Bytes that must move in float32: clouds, labels, weights and θ in, gradients out; the rest could stay on chip."""
    return 4 * agents * (clouds * (3 * points + 2) + 2 * num_params)


def _product(layer: Layer, clouds: int, points: int) -> int:
    rows = clouds * points if layer.per_point else clouds
    return 2 * rows * layer.inputs * layer.outputs
