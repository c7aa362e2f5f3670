"""Who transmits how loud: a policy turns gain caps u into transmit gains ρ = α/β and self-gains σ.

    θ_k' = θ_k + w Σ_j A_kj (ρ_j θ_j − σ_k θ_k) + z_k/β − η∇f_k(θ_k)

`Optimal` and `Truncated` keep σ = 1, as the paper does: where ρ_j < 1 the row weights no longer sum to one and
θ shrinks a little at every block. `Common` takes σ = ρ, which keeps the row sums: DSGLD with edge weight ρw.
"""

import difflib
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from airbayes.checks import NOT_NEGATIVE, checked
from airbayes.errors import AirbayesError
from airbayes.power.box_qp import solve_box_qp
from airbayes.power.gains import interference_gram

Theta = Float[Array, "agent param"]
Caps = Float[Array, " agent"]
CommonNeighbours = Float[Array, "agent agent"]

MAX_OPTIMAL_AGENTS = 512  # dense N × N solves at every block


class Gains(eqx.Module):
    """What each agent multiplies by at one block."""

    rho: Float[Array, " agent"]  # ρ = α/β, transmit gain
    self_gain: Float[Array, " agent"]  # σ, weight of the own θ_k against each neighbour


class PowerPolicy(eqx.Module):
    """Chooses the gains of one block from the models and the caps."""

    needs_common_neighbours: ClassVar[bool]  # whether A·A must be passed

    def __check_init__(self):
        if not isinstance(getattr(self, "needs_common_neighbours", None), bool):
            raise AirbayesError(
                f"{type(self).__name__} must say whether it is to be given A·A: write needs_common_neighbours = False, "
                "or True, into the class."
            )

    @abstractmethod
    def __call__(self, theta: Theta, caps: Caps, common_neighbours: CommonNeighbours | None = None) -> Gains:
        """theta: Θ. caps: u, from `gain_caps`. common_neighbours: A·A of this block's links, or None."""


class Optimal(PowerPolicy):
    """The paper's gains: minimise Σ_k ‖Σ_j A_kj (ρ_j − 1) θ_j‖² over 0 ≤ ρ ≤ u.

    A genie: the problem needs every inner product θ_iᵀθ_j, which no agent knows. Read it as a bound on what
    power control alone can do. Agents with spare power may take ρ > 1 to make up for capped neighbours.
    """

    needs_common_neighbours: ClassVar[bool] = True

    def __call__(self, theta: Theta, caps: Caps, common_neighbours: CommonNeighbours | None = None) -> Gains:
        if common_neighbours is None:
            raise AirbayesError("The optimal power policy needs common_neighbours = A·A, got None.")
        if caps.shape[0] > MAX_OPTIMAL_AGENTS:
            raise AirbayesError(
                f"The optimal power policy solves a dense problem at every block and takes at most "
                f"{MAX_OPTIMAL_AGENTS} agents, got {caps.shape[0]}. Use 'truncated' or 'common'."
            )
        rho = solve_box_qp(interference_gram(theta, common_neighbours), caps).gains
        return Gains(rho, jnp.ones_like(rho))


class Truncated(PowerPolicy):
    """ρ_j = min(1, u_j): each agent sends at the ideal level or, failing that, at full power; local knowledge only."""

    needs_common_neighbours: ClassVar[bool] = False

    def __call__(self, theta: Theta, caps: Caps, common_neighbours: CommonNeighbours | None = None) -> Gains:
        return Gains(jnp.minimum(caps, 1.0), jnp.ones_like(caps))


class Common(PowerPolicy):
    """ρ_j = σ_k = min_i min(1, u_i): one gain agreed by all, also for the own model; DSGLD with edge weight ρw."""

    needs_common_neighbours: ClassVar[bool] = False

    def __call__(self, theta: Theta, caps: Caps, common_neighbours: CommonNeighbours | None = None) -> Gains:
        rho = jnp.full_like(caps, jnp.min(jnp.minimum(caps, 1.0)))
        return Gains(rho, rho)


class Fixed(PowerPolicy):
    """Given gains ρ, for oracles and what-if studies; σ = 1.

    The power limit is ignored, so ‖x_j‖² may exceed mP, unless `respect_caps` cuts the gains to u.
    """

    rho: Float[Array, " agent"]
    respect_caps: bool = eqx.field(static=True)
    needs_common_neighbours: ClassVar[bool] = False

    def __init__(self, rho: Sequence[float] | Float[np.ndarray, " agent"] | Caps, respect_caps: bool = False):
        self.rho = checked("A gain ρ", NOT_NEGATIVE)(jnp.asarray(rho))
        self.respect_caps = respect_caps

    def __call__(self, theta: Theta, caps: Caps, common_neighbours: CommonNeighbours | None = None) -> Gains:
        if self.rho.shape != caps.shape:
            raise AirbayesError(
                f"Fixed gains need one entry per agent: got shape {self.rho.shape} for {caps.shape[0]} agents."
            )
        rho = jnp.minimum(self.rho, caps) if self.respect_caps else self.rho
        return Gains(rho, jnp.ones_like(rho))


_POLICIES: dict[str, type[PowerPolicy]] = {"optimal": Optimal, "truncated": Truncated, "common": Common}


def policy_by_name(name: str) -> PowerPolicy:
    """The policy called `optimal`, `truncated` or `common`."""
    if name in _POLICIES:
        return _POLICIES[name]()
    close = difflib.get_close_matches(name, _POLICIES, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise AirbayesError(f"Unknown power policy {name!r}.{hint} Choose from {', '.join(_POLICIES)}.")
