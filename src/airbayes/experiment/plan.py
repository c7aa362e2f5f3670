"""What a radio network will do to each scheme, from arithmetic alone; nothing is trained.

    gain at consensus   ρ = min(1, cap/rms(θ)),   cap = √(2η·SNR)/w          (all agents at about one norm)
    exact               cap ≥ rms(θ): every gain is 1 and CD-DSGLD has the law of DSGLD
    collapse            cap ≤ 1.2·rms(θ⁰), paper's gains: rows sum to 1 − w·deg_k·(1 − ρ) and θ shrinks at every step
    power-limited       in between; with one common gain everywhere below exactness, as DSGLD with edge weight ρw

    uses per iteration  over the air m; one digital sender after the other N·m·N_b/log2(1 + SNR)
    latency             uses/B;     energy   Σ_k power × time on the air

What it takes for granted: agents hear while they send, links are in time and phase, and every link has the gain of the
weakest one. A signal that all neighbours hear cannot be pre-compensated for each of them, so the strongest links are
turned down: the weakest link decides.
"""

import dataclasses
import math
from typing import Literal

from airbayes.channel.link_budget import dbm_to_watt
from airbayes.compress import message_bits
from airbayes.compress.message import SCALE_BITS
from airbayes.errors import ConfigError
from airbayes.experiment.build import top_t_of
from airbayes.experiment.config import DigitalConfig, ExperimentConfig
from airbayes.experiment.ranges import SNR_DB
from airbayes.experiment.whole_models import uses_in_turn
from airbayes.network import Graph, second_eigenvalue
from airbayes.power import norm_cap, transition_snr_db

EXACT, LIMITED, COLLAPSE, SLOW, SILENT, SENDS = (
    "exact",
    "power-limited",
    "collapse",
    "slower mixing",
    "silent",
    "sends",
)
# Of the study's PointNets most fell to chance at caps up to 0.93 times rms(θ⁰), some way at 1.12, none from 1.66 on.
COLLAPSE_MARGIN = 1.2


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is sent and how fast; the same for all graphs of a plan."""

    eta: float = 1e-4  # η
    num_params: int = 40_855  # m
    rms: float = 1.0  # rms(θ) expected in the long run
    start_rms: float = 0.12  # rms(θ⁰)
    bandwidth_hz: float = 1e6  # channel uses per second
    tx_dbm: float = 20.0  # transmit power limit of an agent
    digital: DigitalConfig = DigitalConfig()  # noqa: RUF009  (frozen)


@dataclasses.dataclass(frozen=True)
class GraphPlan:
    """What holds at every SNR. `edge_weight` is NaN where links differ: then nothing can be said of CD-DSGLD."""

    name: str
    agents: int
    links: int
    min_degree: int
    max_degree: int
    edge_weight: float  # w
    least_self_weight: float  # min_k 1 − deg_k w
    second_eigenvalue: float  # of W
    transition_unit_db: float  # for rms(θ) = 1
    transition_db: float  # for the rms(θ) expected
    collapse_db: float  # from which down the paper's gains collapse

    @property
    def spectral_gap(self) -> float:
        return 1 - self.second_eigenvalue


@dataclasses.dataclass(frozen=True)
class Cost:
    """Of one iteration of the whole network."""

    uses: float  # of the channel, one after the other
    bits: float  # sent by all agents; NaN for analog
    latency_s: float
    energy_j: float  # radiated, all agents


@dataclasses.dataclass(frozen=True)
class PointPlan:
    """A graph at one SNR."""

    graph: str
    snr_db: float
    cap: float  # largest rms(θ) at gain 1
    gain: float  # ρ at consensus
    paper: Literal["exact", "power-limited", "collapse"]  # gains `optimal` and `truncated`
    common: Literal["exact", "slower mixing"]
    common_second_eigenvalue: float  # of W with edge weight ρw
    top_t: tuple[int, int]  # least and largest t_k of Q-DSGD
    consensus_step: float  # γ of Q-DSGD
    q_dsgd: Literal["silent", "sends"]
    over_the_air: Cost
    q_dsgd_cost: Cost
    one_by_one: Cost  # digital, all parameters at N_b bits, one sender after the other, without interference


def plan_graph(name: str, graph: Graph, edge_weight: float, setting: Setting) -> GraphPlan:
    """edge_weight: w of all links, or NaN."""
    w, degrees = edge_weight, graph.degrees
    known = not math.isnan(w)
    eta = setting.eta
    return GraphPlan(
        name,
        graph.num_agents,
        graph.num_edges,
        int(degrees.min()),
        int(degrees.max()),
        w,
        1 - int(degrees.max()) * w,
        second_eigenvalue(graph, w) if known else math.nan,
        transition_snr_db(w, eta) if known else math.nan,
        transition_snr_db(w, eta, setting.rms) if known else math.nan,
        transition_snr_db(w, eta, COLLAPSE_MARGIN * setting.start_rms) if known else math.nan,
    )


def plan_point(plan: GraphPlan, graph: Graph, snr_db: float, setting: Setting) -> PointPlan:
    """A graph at one SNR, P/N0 of its links."""
    check_setting(setting, snr_db)
    w, m = plan.edge_weight, setting.num_params
    if math.isnan(w):  # min(1, NaN) is 1 in Python, which would read "exact"
        raise ConfigError(f"{plan.name}: links with weights of their own cannot be planned; give all one weight.")
    cap = norm_cap(w, setting.eta, snr_db)
    gain = min(1.0, cap / setting.rms) if setting.rms > 0 else 1.0
    exact = gain == 1.0
    collapses = not exact and snr_db <= plan.collapse_db
    top_t = top_t_of(ExperimentConfig(digital=setting.digital), graph, m, snr_db)
    watt, block_s = dbm_to_watt(setting.tx_dbm), m / setting.bandwidth_hz
    # ‖x‖²/(mP) = (ρ·rms/cap)²: below the limit power is left over.
    share = 1.0 if cap in (0, math.inf) else min(1.0, (gain * setting.rms / cap) ** 2)
    agents = graph.num_agents
    scale = SCALE_BITS if setting.digital.count_scale else 0
    sent_bits = float(message_bits(m, top_t, setting.digital.value_bits, scale).sum())
    return PointPlan(
        plan.name,
        snr_db,
        cap,
        gain,
        EXACT if exact else COLLAPSE if collapses else LIMITED,
        EXACT if exact else SLOW,
        second_eigenvalue(graph, gain * w) if agents > 1 else 0.0,
        (int(top_t.min()), int(top_t.max())),
        setting.digital.consensus_step or float(top_t.min()) / m,
        SENDS if top_t.min() > 0 else SILENT,
        Cost(float(m), math.nan, block_s, agents * watt * share * block_s),
        Cost(float(m), sent_bits, block_s, int((top_t > 0).sum()) * watt * block_s),  # who has nothing to send is off
        _one_by_one(agents, snr_db, setting, watt),
    )


def _one_by_one(agents: int, snr_db: float, setting: Setting, watt: float) -> Cost:
    """Every agent in turn sends its whole model at the capacity of a link without interference."""
    uses = uses_in_turn(setting.num_params, snr_db, agents, setting.digital)
    seconds = uses / setting.bandwidth_hz
    return Cost(uses, float(agents * setting.num_params * setting.digital.value_bits), seconds, watt * seconds)


def check_setting(setting: Setting, snr_db: float) -> None:
    """Raise ConfigError with one line per impossible number."""
    positive = ("eta", "num_params", "bandwidth_hz")
    problems = [
        f"{name} = {value} must be above 0 and finite."
        for name in positive
        if not 0 < (value := getattr(setting, name)) < math.inf
    ]
    problems += [
        f"{name} = {value} must be 0 or more and finite."
        for name in ("rms", "start_rms")
        if not 0 <= (value := getattr(setting, name)) < math.inf
    ]
    if snr_db not in SNR_DB:
        problems.append(f"An SNR of {snr_db:g} dB must be {SNR_DB}; check distances and powers.")
    if problems:
        raise ConfigError(problems)
