"""How much device memory a batch of cells takes, from the shapes of one of them: no step is computed."""

import jax

from airbayes.experiment.build import Builder
from airbayes.experiment.cells import Cell
from airbayes.experiment.grid import make_batch, make_loop

WORKING_COPIES = 3  # of θ, for the gradient, the mixed rows and the noise of a step


def bytes_of_batch(builder: Builder, cells: list[Cell]) -> int:
    """Carry, data and working copies of θ, in bytes; an estimate, good to a factor of about two."""
    batch, theta = make_batch(builder, cells[:1])
    carry = jax.eval_shape(make_loop(builder.config).start, batch, theta)
    one_cell = _bytes((batch, carry)) + WORKING_COPIES * _bytes(theta)
    return one_cell * len(cells)


def _bytes(tree) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype"))
