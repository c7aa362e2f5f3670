"""What sending over the air is held against: whole models over digital links, N_b bits a parameter.

all at once   m·N_b / min_k log2(1 + SINR_k)   uses, each agent being noise to the others
in turn       N·m·N_b / log2(1 + SNR)          uses, one sender after the other without interference
"""

import numpy as np
from jaxtyping import Int

from airbayes.channel.rate import bits_per_block
from airbayes.experiment.config import DigitalConfig


def uses_at_once(num_params: int, snr_db: float, degrees: Int[np.ndarray, " agent"], digital: DigitalConfig) -> float:
    """Channel uses of one exchange with everyone on the air together; the slowest agent counts."""
    return num_params * digital.value_bits / float(_bits_a_use(snr_db, degrees, digital).min())


def uses_in_turn(num_params: int, snr_db: float, agents: int, digital: DigitalConfig) -> float:
    """Channel uses of one exchange with one sender after the other."""
    nobody = np.zeros(1, np.int64)  # interferes
    return agents * num_params * digital.value_bits / float(_bits_a_use(snr_db, nobody, digital)[0])


def _bits_a_use(snr_db: float, degrees: Int[np.ndarray, " agent"], digital: DigitalConfig) -> np.ndarray:
    return bits_per_block(1, snr_db, degrees, interferers=digital.interferers, mode=digital.rate)
