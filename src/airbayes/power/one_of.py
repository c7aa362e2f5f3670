"""Several policies in one program: a traced number i says which of them chooses the gains.

    (ρ, σ) = policy_i(Θ, u)

Runs that differ by their policy alone then share a compiled step. Where i is one number for a whole batch, the policies
that are not asked are not computed either; where it is mapped over, all are, and i picks.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from airbayes.errors import AirbayesError
from airbayes.power.policies import Caps, CommonNeighbours, Gains, PowerPolicy, Theta


class OneOf(PowerPolicy):
    """The `chosen`-th of some policies."""

    policies: tuple[PowerPolicy, ...]
    chosen: Int[Array, ""]  # i, from 0

    def __init__(self, policies: tuple[PowerPolicy, ...], chosen: int):
        if not 0 <= chosen < len(policies):
            raise AirbayesError(f"There is no policy number {chosen} among {len(policies)}, counted from 0.")
        self.policies = policies
        self.chosen = jnp.asarray(chosen, jnp.int32)

    @property
    def needs_common_neighbours(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Also where the chosen one does not: the program is the same."""
        return any(policy.needs_common_neighbours for policy in self.policies)

    def __call__(self, theta: Theta, caps: Caps, common_neighbours: CommonNeighbours | None = None) -> Gains:
        return jax.lax.switch(self.chosen, self.policies, theta, caps, common_neighbours)
