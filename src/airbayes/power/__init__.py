"""Power control: how loud each agent transmits under ‖x_j‖² ≤ mP.

`gain_caps` turns the power limit into caps u on the gains ρ = α/β; a `PowerPolicy` chooses ρ under them;
`norm_cap` and `transition_snr_db` predict before a run where the limit bites.
"""

from airbayes.power.box_qp import BoxQPResult, solve_box_qp
from airbayes.power.checks import check_gains, check_policy
from airbayes.power.gains import (
    caps_of_rms,
    gain_caps,
    interference_gram,
    norm_cap,
    receiver_scale,
    row_rms,
    transition_snr_db,
)
from airbayes.power.one_of import OneOf
from airbayes.power.policies import (
    Common,
    Fixed,
    Gains,
    Optimal,
    PowerPolicy,
    Truncated,
    policy_by_name,
)

__all__ = [
    "BoxQPResult",
    "Common",
    "Fixed",
    "Gains",
    "OneOf",
    "Optimal",
    "PowerPolicy",
    "Truncated",
    "caps_of_rms",
    "check_gains",
    "check_policy",
    "gain_caps",
    "interference_gram",
    "norm_cap",
    "policy_by_name",
    "receiver_scale",
    "row_rms",
    "solve_box_qp",
    "transition_snr_db",
]
