"""Which links are up at a step. An outage is any callable (key, mixing) → 0/1 mask shaped like the weights."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from airbayes.checks import NOT_NEGATIVE, PROBABILITY, checked, describe
from airbayes.errors import AirbayesError
from airbayes.keys import Purpose, step_key
from airbayes.network import AnyMixing, check_mask, combine, link_mask, node_mask, one_way_mask

Outage = Callable[[Key[Array, ""], AnyMixing], Float[Array, "*link"]]
"""Which links are up at a step, (key, mixing) → 0/1 per link; None: all, always."""

_probability = checked("The probability p of an outage", PROBABILITY, "10 % is 0.1.", one=True)


def check_outage(name: str, part: object) -> None:
    """Any function may be one; a bare probability is none."""
    if isinstance(part, type) or not callable(part):
        raise AirbayesError(f"{name} must be one such as samplers.LinkOutage(0.1), got {describe(part)}.")


class LinkOutage(eqx.Module):
    """Every link is down with probability p, independently at every step: both ways, or each way by itself."""

    probability: Float[Array, ""] = eqx.field(converter=_probability)  # p
    one_way: bool = eqx.field(static=True, default=False)

    def __call__(self, key: Key[Array, ""], mixing: AnyMixing) -> Float[Array, "*link"]:
        return (one_way_mask if self.one_way else link_mask)(key, mixing, self.probability)


class NodeOutage(eqx.Module):
    """Every node is silent and deaf with probability p, independently at every step."""

    probability: Float[Array, ""] = eqx.field(converter=_probability)  # p

    def __call__(self, key: Key[Array, ""], mixing: AnyMixing) -> Float[Array, "*link"]:
        return node_mask(key, mixing, self.probability)


class BothOutages(eqx.Module):
    """Links fail and nodes fail."""

    links: LinkOutage
    nodes: NodeOutage

    def __check_init__(self):
        check_outage("links", self.links)
        check_outage("nodes", self.nodes)

    def __call__(self, key: Key[Array, ""], mixing: AnyMixing) -> Float[Array, "*link"]:
        first, second = jax.random.split(key)
        return combine(self.links(first, mixing), self.nodes(second, mixing))


class Jamming(eqx.Module):
    """A jammer near the first `jammed` receivers: with probability p such a receiver decodes no message of a step.

    What `channel.Jammed` is to a sum over the air, this is to digital links. One way: the receiver is still heard.
    """

    probability: Float[Array, ""] = eqx.field(converter=_probability)  # p
    jammed: Float[Array, ""] = eqx.field(converter=checked("The number of jammed receivers", NOT_NEGATIVE, one=True))
    others: Outage | None = None  # what else fails

    def __check_init__(self):
        if self.others is not None:
            check_outage("others", self.others)

    def __call__(self, key: Key[Array, ""], mixing: AnyMixing) -> Float[Array, "*link"]:
        # Threefry draws entry i from (key, i) alone, so a longer array begins with the same entries. The others split
        # the key, and the two halves of a split are its folds 0 and 1: those draws are taken.
        draws = jax.random.uniform(jax.random.fold_in(key, 2), (mixing.num_agents,))
        hears = (draws >= self.probability) | (jnp.arange(mixing.num_agents) >= self.jammed)
        mask = mixing.links * hears[mixing.receivers]
        return mask if self.others is None else combine(mask, self.others(key, mixing))


def outage_mask(
    outage: Outage | None, key: Key[Array, ""], step: Int[Array, ""], mixing: AnyMixing
) -> Float[Array, "*link"] | None:
    """The mask of this step, or None when links never fail."""
    mask = None if outage is None else outage(step_key(key, step, Purpose.OUTAGE), mixing)
    check_mask(mask, mixing)
    return mask
