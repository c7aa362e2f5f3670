"""What the numbers of `airbayes plan` may be; those it shares with experiments are theirs."""

import dataclasses
import math
from typing import TYPE_CHECKING

from airbayes.experiment.ranges import ABOVE_ZERO, RANGES, SNR_DB, Range

if TYPE_CHECKING:
    from airbayes.cli.plan import PlanOptions

METRES = Range(ABOVE_ZERO, 1e12)
PLAN_RANGES = {
    "agents": RANGES["network.agents"],
    "graph_seed": RANGES["network.graph_seed"],
    "snr_db": SNR_DB,
    "eta": RANGES["sampling.eta"],
    "params": Range(1, 1e12),
    "rms": Range(ABOVE_ZERO, 1e6),
    "start_rms": Range(0, 1e6),
    "value_bits": RANGES["digital.value_bits"],
    "bandwidth_hz": Range(1, 1e15),
    "tx_dbm": Range(-200, 120),
    "distance_m": METRES,
    "side_m": METRES,
    "carrier_hz": Range(1, 1e15),
    "noise_figure_db": Range(0, 200),
    "antenna_gain_db": SNR_DB,
    "exponent": Range(ABOVE_ZERO, 100),
}


def out_of_range(options: "PlanOptions") -> list[str]:
    """In the words of the command line."""
    found = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name not in PLAN_RANGES or value is None:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, float) and not math.isfinite(each):
                found.append(f"{option_name(field.name)} {each} is not a finite number.")
            elif each not in PLAN_RANGES[field.name]:
                found.append(f"{option_name(field.name)} {each} must be {PLAN_RANGES[field.name]}.")
    return found


def option_name(field: str) -> str:
    return "--" + field.replace("_", "-")
