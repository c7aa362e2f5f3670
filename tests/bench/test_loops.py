"""What is timed is really done: as often as asked, inside the loop, with the memory the compiler says."""

import re

import jax
import jax.numpy as jnp

from airbayes.bench.limits import copy_loop, product_loop
from airbayes.bench.loops import CompiledLoop, over_cells


def test_evolving_loop_takes_every_step():
    loop = CompiledLoop(lambda step, x, add: (x + add, step), jnp.zeros(3), jnp.ones(3), evolving=True)
    value, last = loop(7)
    assert value.tolist() == [7.0, 7.0, 7.0]
    assert int(last) == 6


def test_repeated_part_sees_the_same_input_and_the_step():
    loop = CompiledLoop(lambda step, x, _: x + step, jnp.zeros(3), None)
    value, out = loop(5)
    assert value.tolist() == [0.0, 0.0, 0.0]
    assert out.tolist() == [4.0, 4.0, 4.0]


def test_repeated_part_stays_inside_the_loop():
    """A product whose inputs never change would be moved out of the loop and be timed once."""
    a, b = jax.random.normal(jax.random.key(0), (2, 64, 64))
    text = CompiledLoop(lambda step, a, b: jnp.tanh(a @ b), a, b).compilation().program.as_text()
    bodies = re.findall(r"body=%?([\w.-]+)", text)
    assert bodies
    inside = _calls(text, bodies[0])
    assert "tanh" in inside


def _calls(text: str, name: str) -> str:
    """The text of a computation and of all that it calls."""
    blocks = dict(re.findall(r"^%?([\w.-]+) [^\n]*\{\n(.*?)^\}", text, re.M | re.S))
    seen: dict[str, str] = {}
    todo = [name]
    while todo:
        one = todo.pop()
        if one in blocks and one not in seen:
            seen[one] = blocks[one]
            todo += re.findall(r"(?:calls|to_apply)=%?([\w.-]+)", blocks[one])
    return "\n".join(seen.values())


def test_memory_counts_arguments_and_results():
    size = 64
    assert product_loop(size).compilation().bytes_needed() >= 3 * 4 * size**2
    assert copy_loop(4096).compilation().bytes_needed() >= 4096


def test_copy_and_product_do_what_they_say():
    (value, _), (_, out) = copy_loop(64)(3), product_loop(16)(2)
    assert value.tolist() == [-1.0] * 16
    a, b = jax.random.normal(jax.random.key(0), (2, 16, 16))
    assert jnp.allclose(out, a @ b, atol=1e-4)


def test_over_cells_stacks_arrays_and_keys_and_leaves_the_rest():
    tree = {"x": jnp.arange(3), "key": jax.random.key(0), "name": "same"}
    stacked = over_cells(tree, 2)
    assert stacked["x"].shape == (2, 3)
    assert stacked["key"].shape == (2,)
    assert stacked["name"] == "same"
