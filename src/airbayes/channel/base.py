"""What the samplers ask of a radio channel.

    y_k = Σ_j A_kj (1 + ε_kj) x_j + z_k ,   z_k of variance N0 per channel use

A channel says what ε and z are at one block. The superposition itself is computed by the sampler, in the
difference form that keeps rows summing to one. To use your own channel, subclass `Channel`.
"""

import abc

import equinox as eqx
from jaxtyping import Array, Float, Key


class Channel(eqx.Module):
    """A block-wise additive channel; all quantities linear, not dB."""

    power: eqx.AbstractVar[Float[Array, ""]]  # P, the largest mean power per channel use
    noise_power: eqx.AbstractVar[Float[Array, ""]]  # N0, noise variance per channel use

    @abc.abstractmethod
    def noise(self, keys: Key[Array, " agent"], num_params: int) -> Float[Array, "agent param"]:
        """z, the receiver noise of one block of m channel uses. Row k must use key k only."""

    @abc.abstractmethod
    def gain_error(self, keys: Key[Array, " agent"], num_slots: int) -> Float[Array, "agent slot"] | None:
        """ε_kj, what is left of the link gain after compensation, minus one; None when links are exact."""
