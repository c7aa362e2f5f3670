"""Dense layers of a stack of networks on a CPU, forwards and back.

    out = relu(xK + b) ,      d = ∂out 1[out > 0] ,   ∂x = d Kᵀ ,   ∂K = xᵀ d ,   ∂b = Σ d

All arrays have a leading axis over networks, each with its own K and b. With that axis written out nothing is traced
again for a vmap, and with the gradients written out nothing is traced again for them.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from airbayes.models.max_pool import PRECISION

Rows = Float[Array, "net row feature"]
Products = Float[Array, "net row channel"]
Points = Float[Array, "net cloud point feature"]
Activations = Float[Array, "net cloud point channel"]
Kernel = Float[Array, "net feature channel"]
CloudKernels = Float[Array, "net #cloud feature channel"]  # one for each cloud, or one for all
Bias = Float[Array, "net channel"]

BLOCK = 8  # terms of a sum that are written out


class Layer(NamedTuple):
    """Or its gradient."""

    kernel: Kernel
    bias: Bias


def relu(x: Array) -> Array:
    return lax.max(x, jnp.zeros((), x.dtype))


def gate(out: Array, d: Array) -> Array:
    """The gradient before a ReLU that returned `out`."""
    return lax.select(out > 0, d, jnp.zeros_like(d))


def product(x: Rows, kernel: Kernel) -> Products:
    return lax.dot_general(x, kernel, (((2,), (1,)), ((0,), (0,))), precision=PRECISION)


def pull_product(x: Rows, kernel: Kernel, d: Products) -> tuple[Rows, Kernel]:
    """∂x and ∂K of xK."""
    d_x = lax.dot_general(d, kernel, (((2,), (2,)), ((0,), (0,))), precision=PRECISION)
    return d_x, lax.dot_general(x, d, (((1,), (1,)), ((0,), (0,))), precision=PRECISION)


def affine(layer: Layer, x: Rows) -> Products:
    """xK + b."""
    return product(x, layer.kernel) + layer.bias[:, None]


def pull_affine(layer: Layer, x: Rows, d: Products) -> tuple[Rows, Layer]:
    d_x, d_kernel = pull_product(x, layer.kernel, d)
    return d_x, Layer(d_kernel, sum_rows(d))


def sum_rows(d: Products) -> Bias:
    """Σ d as a product with ones, several times as fast as the compiler's sum."""
    return product(jnp.ones((d.shape[0], 1, d.shape[1])), d)[:, 0]


def point_layer(layer: Layer, x: Points) -> Activations:
    """relu(xK + b) of every point."""
    if x.shape[-1] == 3:  # too few for a product
        return cloud_layer(layer.kernel[:, None], layer.bias, x)
    return relu(affine(layer, rows_of(x))).reshape(*x.shape[:-1], -1)


def cloud_layer(kernels: CloudKernels, bias: Bias, x: Points) -> Activations:
    """relu(x_n K_n + b), a kernel per cloud, with the sum over features written out: hundreds of products of 8×8
    matrices cost more in calls than in sums."""
    total = bias[:, None, None]
    for f in range(x.shape[-1]):
        total = total + x[..., f : f + 1] * kernels[:, :, None, f]
    return relu(total)


def pull_point_layer(layer: Layer, x: Points, out: Activations, d_out: Activations) -> tuple[Points, Layer]:
    d_x, d_layer = pull_affine(layer, rows_of(x), rows_of(gate(out, d_out)))
    return d_x.reshape(x.shape), d_layer


def pull_cloud_kernels(x: Points, kernels: CloudKernels, d: Activations) -> tuple[Points, CloudKernels]:
    """∂x and ∂K of x_n K_n."""
    d_x = jnp.zeros_like(x)
    for c in range(d.shape[-1]):
        d_x = d_x + d[..., c : c + 1] * kernels[:, :, None, :, c]
    return d_x, sum_in_blocks(lambda x, d: x[..., :, None] * d[..., None, :], 2, x, d)


def rows_of(x: Points) -> Rows:
    """All points of a network below each other."""
    return x.reshape(x.shape[0], -1, x.shape[-1])


def sum_in_blocks(term: Callable, axis: int, *arrays: Array) -> Array:
    """Σ_i term(a_i, …) over an axis, some terms at a time, written out: a sum over a leading axis that is fused with
    its terms is not vectorised."""
    count = arrays[0].shape[axis]
    block = max(size for size in range(1, BLOCK + 1) if count % size == 0)

    def add(i, total):
        parts = [lax.dynamic_slice_in_dim(each, i * block, block, axis) for each in arrays]
        for j in range(block):
            total = total + term(*(lax.index_in_dim(part, j, axis, keepdims=False) for part in parts))
        return total

    first = term(*(lax.index_in_dim(each, 0, axis, keepdims=False) for each in arrays))
    return lax.fori_loop(0, count // block, add, jnp.zeros_like(first))
