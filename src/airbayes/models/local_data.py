"""The agents' data, padded to one rectangular array.

Weights are 1 on real examples and 0 on padding, so agents may hold different numbers of examples E_k.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Shaped

from airbayes.checks import known
from airbayes.errors import AirbayesError


class LocalData(eqx.Module):
    """Examples of every agent; below vmap over agents the leading axis is gone."""

    inputs: Shaped[Array, "..."]  # [agent, example, ...]
    targets: Shaped[Array, "..."]  # [agent, example, ...]
    weights: Float[Array, "*agent example"]  # 1, and E_k/B in a mini-batch of B; 0 on padding

    @property
    def count(self) -> Float[Array, "*agent"]:
        """E_k, the number of real examples."""
        return jnp.sum(self.weights > 0, axis=-1).astype(jnp.float32)


def stack_agents(
    inputs: Sequence | np.ndarray | Array,
    targets: Sequence | np.ndarray | Array,
    length: int = 0,
    num_classes: int | None = None,
) -> LocalData:
    """Pad the agents' own arrays to the longest, or to `length`, and stack them; agents may hold different numbers.

    `inputs` and `targets` hold one array per agent, [example, ...] each: `stack_agents([x0, x1], [y0, y1])`.
    With `num_classes` the targets must be labels, 0 to num_classes − 1.
    """
    if len(inputs) != len(targets) or not len(inputs):
        raise AirbayesError(f"Need one input and one target array per agent, got {len(inputs)} and {len(targets)}.")
    inputs, targets = ([np.asarray(rows) for rows in part] for part in (inputs, targets))
    for agent, (rows, labels) in enumerate(zip(inputs, targets, strict=True)):
        for what, part, first in (("inputs", rows, inputs[0]), ("targets", labels, targets[0])):
            if not part.ndim or not (jnp.issubdtype(part.dtype, jnp.number) or part.dtype == bool):
                raise AirbayesError(
                    f"The {what} of agent {agent} must be an array of numbers, one row per example, got "
                    f"{part.dtype} of shape {list(part.shape)}. Give one array per agent."
                )
            if part.size and part.shape[1:] != first.shape[1:]:
                raise AirbayesError(
                    f"The {what} of agent {agent} have shape {list(part.shape)}, those of agent 0 "
                    f"{list(first.shape)}: all but the number of examples must be equal."
                )
        if len(rows) != len(labels) or len(rows) == 0:
            raise AirbayesError(
                f"Agent {agent} has {len(rows)} inputs and {len(labels)} targets; need equal, at least 1."
            )
    counts = [len(rows) for rows in inputs]
    longest = max(length, *counts)

    def padded(rows: np.ndarray) -> np.ndarray:
        # With the last example again, not with zeros: a likelihood need not be finite there, and 0·NaN is NaN.
        return rows[np.minimum(np.arange(longest), len(rows) - 1)]

    stacked, real = np.stack([padded(rows) for rows in targets]), np.arange(longest) < np.array(counts)[:, None]
    if num_classes is not None:
        check_labels(stacked, real, num_classes)
    return LocalData(
        inputs=jnp.asarray(np.stack([padded(rows) for rows in inputs])),
        targets=jnp.asarray(stacked),
        weights=jnp.asarray(real, jnp.float32),
    )


def check_labels(
    labels: Shaped[Array | np.ndarray, "..."], weights: Shaped[Array | np.ndarray, "agent example"], num_classes: int
) -> None:
    """Labels are integers 0 to C − 1, one per example. Their kind is always checked, their values unless traced.

    An unchecked label of C has no gradient, and −1 would count as the last class: both look like a healthy run.
    """
    if labels.shape != weights.shape or not jnp.issubdtype(labels.dtype, jnp.integer):
        fix = "Of one-hot rows give rows.argmax(axis=-1)."
        if labels.shape == weights.shape:
            fix = "Of floats or booleans give labels.astype(np.int32)."
        elif labels.shape == (*weights.shape, 1):
            fix = "Of a column give labels[..., 0]."
        raise AirbayesError(
            f"Labels must be integers 0 to {num_classes - 1}, one per example, got {labels.dtype} of shape "
            f"{list(labels.shape)} for examples {list(weights.shape)}. {fix}"
        )
    seen, real = known(labels), known(weights)
    if seen is None or real is None:
        return
    wrong = np.argwhere(((seen < 0) | (seen >= num_classes)) & (real > 0))
    if len(wrong):
        agent, example = wrong[0]
        least = seen[real > 0].min()
        fix = f"Subtract {least} from all." if least > 0 else "Renumber the classes from 0, or leave the example out."
        raise AirbayesError(
            f"Example {example} of agent {agent} has the label {seen[agent, example]}: {num_classes} classes have "
            f"labels 0 to {num_classes - 1}. {fix}"
        )


def pool_agents(data: LocalData) -> LocalData:
    """All examples at one place, as one agent: what a centralised sampler sees."""
    return jax.tree.map(lambda leaf: leaf.reshape(1, -1, *leaf.shape[2:]), data)


def draw_minibatch(key: Key[Array, ""], data: LocalData, batch_size: int, *, replace: bool = False) -> LocalData:
    """B of one agent's E_k examples, weighted by E_k/B so that the gradient stays unbiased.

    Without replacement an agent with fewer than B examples uses all of them, once.
    """
    if not isinstance(data, LocalData):
        raise AirbayesError(
            f"Mini-batches are drawn from models.stack_agents(inputs, targets), not from a {type(data).__name__}. "
            "Of data of another form use models.FullGradient."
        )
    real = data.weights > 0
    if batch_size > real.shape[-1] and not replace:
        raise AirbayesError(f"A mini-batch of {batch_size} does not fit into {real.shape[-1]} examples; use fewer.")
    if replace:
        chosen = jax.random.categorical(key, jnp.where(real, 0.0, -jnp.inf), shape=(batch_size,))
    else:
        # The B largest of i.i.d. uniforms are a uniform draw without replacement; padding comes last.
        order = jnp.where(real, jax.random.uniform(key, real.shape), -1.0)
        chosen = jax.lax.top_k(order, batch_size)[1]
    drawn = batch_size if replace else jnp.minimum(batch_size, data.count)  # the rest is padding, of weight 0
    weights = data.weights[chosen] * (data.count / drawn)
    return LocalData(data.inputs[chosen], data.targets[chosen], weights)
