"""The configuration of an experiment: frozen dataclasses, one section a table of the TOML file.

The text under each field is its help on the command line: symbol, meaning, unit. Defaults are the field values.
"""

import dataclasses
from typing import Literal

Method = Literal["sgld", "dsgld", "cd_dsgld", "dsghmc", "dsgd", "q_dsgd", "local_sgld", "local_sgd"]
Policy = Literal["optimal", "truncated", "common"]

RADIO_METHODS = ("cd_dsgld", "q_dsgd")
SAMPLING_METHODS = ("sgld", "dsgld", "cd_dsgld", "dsghmc", "local_sgld")  # the others optimise
UNCONNECTED_METHODS = ("sgld", "local_sgld", "local_sgd")  # no graph: one place, or every agent alone


@dataclasses.dataclass(frozen=True)
class ProblemConfig:
    kind: Literal["linear", "softmax", "mlp", "pointnet"] = "linear"
    """What is learned: linear regression (exact posterior known), softmax regression or a perceptron on blobs, or the
    PointNet on lidar objects (settings under lidar)."""
    features: int = 4
    """Number of input features d."""
    classes: int = 3
    """C, number of classes (softmax and mlp)."""
    examples: int = 20
    """E_k, training examples per agent."""
    test_examples: int = 600
    """Test examples (softmax and mlp)."""
    noise_std: float = 1.0
    """σ, standard deviation of the observation noise (linear) or of the class blobs (softmax, mlp)."""
    heterogeneity: float = 0.5
    """How far the agents' inputs lie apart, in standard deviations of the inputs (linear) or σ; 0 is IID."""
    width: int = 32
    """Units per hidden layer (mlp)."""
    depth: int = 2
    """Hidden layers (mlp)."""
    prior: Literal["gaussian", "laplace"] = "gaussian"
    """Prior p(θ), independent over parameters (linear: gaussian only)."""
    prior_scale: float = 1.0
    """s, scale of the prior: N(0, s²) or Laplace(0, s)."""
    prior_scaling: Literal["unit", "fan-in"] = "unit"
    """Whether s is that of every parameter, or divided by √fan-in of its layer (pointnet)."""


@dataclasses.dataclass(frozen=True)
class LidarConfig:
    source: str = "simulated"
    """Where the objects come from: simulated, or an object set (.npz; `airbayes data convert` makes one)."""
    classes: tuple[str, ...] = ()
    """Classes to learn, in this order; empty takes all that the source has."""
    per_class: int = 40
    """Training examples per class: of each agent, or of the network (see per_class_of)."""
    per_class_of: Literal["agent", "network"] = "agent"
    """Whether per_class counts for each agent or for the network in total."""
    test_per_class: int = 400
    """Test objects per class (simulated source)."""
    validation_per_class: int = 40
    """Validation objects per class (simulated source), for tuning, early stopping and temperature scaling."""
    folds: int = 5
    """Folds over physical objects (object set as source); seed s is tested on fold s mod folds."""
    max_views: int = 10
    """Most views of one physical object in validation and test (object set as source)."""
    points: int = 64
    """Points per cloud, drawn anew with replacement where an object has fewer."""
    scale_m: float = 3.0
    """Length in metres that becomes 1 in the network's input."""
    partition: Literal["iid", "dirichlet", "by-class", "by-scene"] = "iid"
    """How examples are shared out: alike, by a Dirichlet draw per class, few classes each, or whole scenes each."""
    concentration: float = 0.5
    """a of the Dirichlet partition; small is uneven."""
    classes_per_agent: int = 2
    """Classes an agent holds (partition = by-class)."""
    augment_yaw: float = 0.0
    """Turn every training cloud about z by up to ± so many degrees, anew at every step; 180 is any direction."""
    augment_jitter_m: float = 0.0
    """Standard deviation in metres added to every training coordinate, anew at every step."""
    augment_dropout: float = 0.0
    """Probability that a training point is left out, anew at every step."""
    evaluate_on: Literal["test", "validation"] = "test"
    """What the metrics are of; tune on validation, and look at the test set once."""


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    agents: int = 5
    """N, number of agents."""
    topologies: tuple[str, ...] = ("full", "star", "ring")
    """Graphs: full, star, ring, line, grid, random_geometric, erdos_renyi, small_world, or a CSV edge list (*.csv).
    A named graph may carry fault rates of its own, ring@link_outage=0.3,burst_length=20: one scenario each."""
    weights: Literal["best-constant", "max-degree", "metropolis"] = "best-constant"
    """w, mixing weights; CD-DSGLD needs one weight for all links, so not metropolis."""
    graph_seed: int = 0
    """Seed of the random graphs."""
    link_outage: float = 0.0
    """p, probability that a link is down in a step, 0 to below 1."""
    one_way: bool = False
    """Whether the two directions of a link fail each by itself (one-way losses) instead of together."""
    burst_length: float = 0.0
    """L, mean length of a link outage in steps (Gilbert–Elliott; p stays the share of time); 0: each step anew."""
    node_outage: float = 0.0
    """p, probability that an agent is silent and deaf in a step, 0 to below 1; it goes on computing."""
    away: float = 0.0
    """p, share of the time that an agent is away (churn), 0 to below 1: it stands still and rejoins with its θ."""
    away_length: float = 100.0
    """L, mean length of an absence in steps."""
    late: float = 0.0
    """p, probability that an agent's message is late in a step, 0 to 1: neighbours use the last one they have."""
    staleness: int = 10
    """τ, most steps by which a message used may be old; then neighbours wait for a new one."""
    attackers: int = 0
    """Number of Byzantine agents, the last ones: they send lies instead of θ."""
    attack: Literal["constant", "random", "flip"] = "constant"
    """The lie: a in every entry, a·N(0, 1), or −a·θ."""
    attack_size: float = 1.0
    """a, size of the lie, in units of θ."""
    attack_rate: float = 1.0
    """p, probability that a Byzantine agent lies in a step, 0 to 1."""


@dataclasses.dataclass(frozen=True)
class ChannelConfig:
    snr_db: tuple[float, ...] = (0.0, 10.0, 20.0, 30.0)
    """SNR = P/N0 in dB, one cell each, for cd_dsgld and q_dsgd."""
    power: float = 1.0
    """P, transmit power limit per channel use, linear."""
    gain_std: float = 0.0
    """σ, standard deviation of the link-gain error (cd_dsgld), relative; 0 is perfect compensation."""
    impulse_rate: float = 0.0
    """ε, probability that an impulse hits a channel use (cd_dsgld), 0 to 1; digital links are taken as coded."""
    impulse_power: float = 100.0
    """K, power of an impulse over N0, linear."""
    jammed: int = 0
    """Receivers that a jammer reaches, the first ones (cd_dsgld: noise in their blocks; q_dsgd: messages lost)."""
    jam_rate: float = 1.0
    """p, probability that a block is jammed at such a receiver, 0 to 1."""
    jam_power: float = 100.0
    """J, received power of the jammer over N0, linear (cd_dsgld)."""
    receiver: Literal["plain", "clip", "test"] = "plain"
    """What a receiver does with what is new in a block (cd_dsgld): take it, clip every entry, or test its rms and
    discard the block."""
    receiver_limit: float = 5.0
    """c, limit of receiver = clip or test, in standard deviations √(2η) of the noise."""


@dataclasses.dataclass(frozen=True)
class SamplingConfig:
    eta: float = 1e-3
    """η, step size."""
    steps: int = 2000
    """S, iterations (radio blocks)."""
    burn_in: int = 1000
    """Iterations discarded before samples are kept."""
    thin: int = 1
    """Keep every so many iterations after burn-in."""
    chains: int = 1
    """Independent chains per cell on the same data (for R-hat, and for sharper moments)."""
    schedule: Literal["constant", "polynomial", "cosine"] = "constant"
    """How η changes: constant, η(1+s/b)^(−γ), or cosine cycles."""
    decay_offset: float = 1000.0
    """b of the polynomial schedule, in steps."""
    decay_power: float = 0.55
    """γ of the polynomial schedule."""
    cycle: int = 1000
    """c, period of the cosine schedule, in steps."""
    drift: Literal["plain", "tamed", "clipped"] = "plain"
    """Gradient as it is, tamed g/(1+η‖g‖), or clipped to clip_norm."""
    clip_norm: float = 100.0
    """c, largest gradient norm (drift = clipped)."""
    batch_size: int = 0
    """B, examples per gradient, drawn without replacement; 0 uses all."""
    start: Literal["shared", "independent"] = "shared"
    """Whether all agents start from one θ⁰ or each from its own."""


@dataclasses.dataclass(frozen=True)
class MomentumConfig:
    eta: float = 0.02
    """η of DSGHMC, its own step size."""
    friction: float = 10.0
    """γ of DSGHMC, friction."""


@dataclasses.dataclass(frozen=True)
class DigitalConfig:
    mode: Literal["memory", "own-value", "zero-fill"] = "memory"
    """What a receiver does with coordinates that were not sent (q_dsgd)."""
    value_bits: int = 10
    """N_b, bits per sent value: sign and level."""
    consensus_step: float = 0.0
    """γ of the memory mode; 0 takes min_k t_k/m."""
    interferers: Literal["all", "others"] = "all"
    """Interferers in SINR_k: deg_k as printed, or deg_k − 1."""
    rate: Literal["complex", "real"] = "complex"
    """log2(1+SINR) as printed, or ½log2(1+SINR) for real-valued channel uses."""
    weakest_receiver: bool = False
    """Whether a sender is held to the slowest of its receivers."""
    count_scale: bool = False
    """Whether the 32-bit scale of a message counts against its budget."""


@dataclasses.dataclass(frozen=True)
class ExperimentConfig:
    name: str = "custom"
    """Name of the experiment; its results go to runs/NAME unless --out is given."""
    methods: tuple[Method, ...] = ("dsgld", "cd_dsgld")
    """Algorithms to run."""
    policies: tuple[Policy, ...] = ("optimal",)
    """Power policies of cd_dsgld, one curve each."""
    seeds: int = 1
    """How many seeds; a seed redraws data, start and noise."""
    first_seed: int = 0
    """The first seed, so that a study can be split by seed."""
    evaluations: int = 30
    """Points in time at which metrics are stored, spread evenly."""
    saved_samples: int = 0
    """Samples of θ stored per cell for `airbayes predict`, spread over those kept; 0 stores none."""
    saved_agents: int = 1
    """Agents whose samples are stored, from the first on."""
    saved_predictions: bool = True
    """Whether class probabilities of the held-out objects are stored (first agent; classification)."""
    cells_per_batch: int = 0
    """Cells of one method that run together; 0 runs all at once. Fewer need less memory."""
    problem: ProblemConfig = ProblemConfig()
    lidar: LidarConfig = LidarConfig()
    network: NetworkConfig = NetworkConfig()
    channel: ChannelConfig = ChannelConfig()
    sampling: SamplingConfig = SamplingConfig()
    momentum: MomentumConfig = MomentumConfig()
    digital: DigitalConfig = DigitalConfig()
