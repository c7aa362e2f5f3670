"""Receivers that doubt what they hear (CD-DSGLD). The receiver knows its own θ_k, so it knows what is new in a block:

    d_k = y_k/β − w σ_k deg_k θ_k        disagreement with the neighbours, plus noise of variance 2η per coordinate

A sum over the air has no sender's name on it: a receiver can bound d_k or discard the whole block, not single out the
neighbour that lies. Near consensus d_k is noise alone, and both receivers leave that noise as it is.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from airbayes.checks import POSITIVE, checked
from airbayes.keys import normal_rows
from airbayes.samplers.base import Info

_limit = checked("The limit c of a receiver", POSITIVE, "It is in standard deviations of the noise.", one=True)


class Receiver(eqx.Module):
    """What a receiver does with what is new in a block before it believes it."""

    limit: eqx.AbstractVar[Float[Array, ""]]  # c, in standard deviations √(2η) of the noise

    @abc.abstractmethod
    def __call__(
        self, innovation: Float[Array, "agent param"], keys: Key[Array, " agent"], eta: Float[Array, ""]
    ) -> tuple[Float[Array, "agent param"], Info]:
        """What enters the update in place of d_k, and what the receiver did. `keys`: for noise of its own."""


class ClippingReceiver(Receiver):
    """Every coordinate of d_k is held to ± c√(2η): an impulse or a jammer moves θ_k by no more than that in a step."""

    limit: Float[Array, ""] = eqx.field(converter=_limit)

    def __call__(
        self, innovation: Float[Array, "agent param"], keys: Key[Array, " agent"], eta: Float[Array, ""]
    ) -> tuple[Float[Array, "agent param"], Info]:
        bound = self.limit * jnp.sqrt(2.0 * eta)
        # NaN is not a number to be clipped: a receiver that hears one hears nothing.
        clipped = jnp.where(jnp.isnan(innovation), 0.0, jnp.clip(innovation, -bound, bound))
        return clipped, {"clipped": jnp.mean(clipped != innovation, axis=1, dtype=jnp.float32)}


class TestingReceiver(Receiver):
    """A block with rms(d_k) above c√(2η) is discarded: the receiver takes a step of SGLD alone, with noise of its own.

    So a failed test acts as an outage of all its links, and the row still sums to one.
    """

    __test__ = False  # not a test of pytest's
    limit: Float[Array, ""] = eqx.field(converter=_limit)

    def __call__(
        self, innovation: Float[Array, "agent param"], keys: Key[Array, " agent"], eta: Float[Array, ""]
    ) -> tuple[Float[Array, "agent param"], Info]:
        scale = jnp.sqrt(2.0 * eta)
        passed = jnp.sqrt(jnp.mean((innovation / scale) ** 2, axis=1)) <= self.limit  # False for NaN too
        alone = scale * normal_rows(keys, innovation.shape[1])
        return jnp.where(passed[:, None], innovation, alone), {"discarded": 1.0 - passed.astype(jnp.float32)}
