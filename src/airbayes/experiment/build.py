"""From cells to samplers: every cell of a variant becomes a module of the same structure, so that they stack."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from airbayes.channel.rate import bits_per_block, receiver_bits
from airbayes.compress import TopTQSGD, largest_t
from airbayes.compress.message import SCALE_BITS
from airbayes.errors import GraphError
from airbayes.experiment.blob_problem import BlobProblem
from airbayes.experiment.cells import Cell
from airbayes.experiment.config import SAMPLING_METHODS, ExperimentConfig
from airbayes.experiment.faults import build_channel, build_faults, build_outage, build_receiver
from airbayes.experiment.lidar_problem import LidarProblem
from airbayes.experiment.linear_problem import LinearProblem
from airbayes.experiment.problem import Problem
from airbayes.experiment.scenario import graph_name, scenario_config, simulated_faults
from airbayes.experiment.sharding import ShardedGradient
from airbayes.models import AugmentedGradient, FullGradient, LocalData, MiniBatchGradient, Posterior, pool_agents
from airbayes.network import (
    Graph,
    Mixing,
    by_name,
    from_csv,
    mixing_matrix,
    stack_mixings,
)
from airbayes.network.weights import resolve
from airbayes.power import OneOf, PowerPolicy, policy_by_name
from airbayes.samplers import (
    CDDSGLD,
    DSGD,
    DSGHMC,
    DSGLD,
    QDSGD,
    SGD,
    SGLD,
    Clipped,
    Constant,
    CosineCycles,
    Plain,
    PolynomialDecay,
    Sampler,
    StepSize,
    Tamed,
)
from airbayes.samplers.exact import AffineLaw, dsghmc_law, dsgld_law

MAX_LAW = 500  # N·m up to which exact laws are computed: dense matrices of that size


def build_problem(config: ExperimentConfig, only_shapes: bool = False) -> Problem:
    """only_shapes: data that take long to draw are not drawn; zeros stand in for them."""
    if config.problem.kind == "pointnet":
        return LidarProblem(config, only_shapes)
    return (LinearProblem if config.problem.kind == "linear" else BlobProblem)(config)


def build_graph(config: ExperimentConfig, topology: str) -> Graph:
    """A graph by name, or from a CSV edge list; fault rates in the name do not change it."""
    if topology.endswith(".csv"):
        return from_csv(Path(topology))
    if "@" not in topology and ("/" in topology or "." in topology):
        raise GraphError(f"{topology!r} is not the name of a graph, and an edge list is a file named *.csv: rename it.")
    return _named_graph(graph_name(topology), config.network.agents, config.network.graph_seed)


@lru_cache(maxsize=8)
def _named_graph(topology: str, agents: int, seed: int) -> Graph:
    """Made once for the check and for the run: a geometric graph of a million agents takes a while."""
    return by_name(topology, agents, seed=seed)


def top_t_of(config: ExperimentConfig, graph: Graph, num_params: int, snr_db: float) -> np.ndarray:
    """t_k of every agent at this SNR."""
    settings = config.digital
    bits = bits_per_block(num_params, snr_db, graph.degrees, interferers=settings.interferers, mode=settings.rate)
    if settings.weakest_receiver:
        bits = receiver_bits(bits, graph.edges)
    return largest_t(num_params, bits, settings.value_bits, SCALE_BITS if settings.count_scale else 0)


class Builder:
    """Builds the cells of one experiment; graphs and data are made once and shared."""

    def __init__(self, config: ExperimentConfig, mesh: Mesh | None = None, only_shapes: bool = False):
        self.config = config
        self.mesh = mesh  # the devices over which agents are split; None: all on one
        self.problem = build_problem(config, only_shapes)
        self.simulated = simulated_faults(config)
        self.laws: dict[tuple, AffineLaw] = {}
        self.starts: dict[tuple[int, int], jax.Array] = {}
        self.top_ts: dict[tuple[str, float], np.ndarray] = {}
        names = config.network.topologies
        self.graphs = {name: build_graph(config, name) for name in names}
        self.mixings: dict[str, Mixing] = dict(
            zip(names, stack_mixings(list(self.graphs.values()), config.network.weights, mesh=mesh), strict=True)
        )

    def num_agents(self, cell: Cell) -> int:
        """Centralised SGLD is one agent with everybody's data."""
        return 1 if cell.method == "sgld" else self.config.network.agents

    def data(self, cell: Cell) -> LocalData:
        data = self.problem.data(cell.seed)
        return pool_agents(data) if cell.method == "sgld" else data

    def start(self, cell: Cell) -> jax.Array:
        """θ⁰ [chain, agent, param]: cells of one seed start alike, whatever the method."""
        origin = cell.seed, self.num_agents(cell)
        if origin not in self.starts:
            self.starts[origin] = self.problem.start(*origin, self.config.sampling.chains)
        return self.starts[origin]

    def sampler(self, cell: Cell) -> Sampler:
        config = self.config
        # Without a network everyone has a posterior of their own, with the whole prior.
        gradient = self._gradient(self.problem.potential(1 if cell.topology is None else config.network.agents))
        drift = {"plain": Plain(), "tamed": Tamed(), "clipped": Clipped(config.sampling.clip_norm)}[
            config.sampling.drift
        ]
        if cell.topology is None:
            return (SGD if cell.method == "local_sgd" else SGLD)(gradient, self._step_size(), drift)
        scenario = scenario_config(config, cell.topology)
        mixing = self.mixings[cell.topology]
        outage = build_outage(scenario, self.simulated, digital=cell.method == "q_dsgd")
        faults = build_faults(scenario, self.simulated)
        if cell.method == "dsgld":
            return DSGLD(gradient, mixing, self._step_size(), drift, outage, faults)
        if cell.method == "dsgd":
            return DSGD(gradient, mixing, self._step_size(), drift, outage, faults)
        if cell.method == "dsghmc":
            return DSGHMC(gradient, mixing, config.momentum.eta, config.momentum.friction, drift, outage, faults)
        assert cell.snr_db is not None
        if cell.method == "cd_dsgld":
            assert cell.policy is not None
            channel, receiver = build_channel(scenario, self.simulated, cell.snr_db), build_receiver(config)
            policy = self._policy(cell.policy)
            return CDDSGLD(gradient, mixing, channel, policy, self._step_size(), drift, outage, faults, receiver)
        top_t = self._top_t(cell.topology, cell.snr_db)
        gamma = config.digital.consensus_step or top_t.min() / self.problem.model.num_params
        compressor = TopTQSGD(config.digital.value_bits, self._most_sent())
        return QDSGD(
            gradient,
            mixing,
            jnp.asarray(top_t, jnp.int32),
            self._step_size(),
            gamma,
            config.digital.mode,
            compressor,
            drift,
            outage,
            faults,
        )

    def _top_t(self, topology: str, snr_db: float) -> np.ndarray:
        key = graph_name(topology), snr_db
        if key not in self.top_ts:
            self.top_ts[key] = top_t_of(self.config, self.graphs[topology], self.problem.model.num_params, snr_db)
        return self.top_ts[key]

    def _most_sent(self) -> int | None:
        """The largest t_k of the grid, the same in all its cells: it is part of their program. Over several devices it
        is not used, because its search would have every step ask all of them several times."""
        if self.mesh is not None:
            return None
        cells = product(self.config.network.topologies, self.config.channel.snr_db)
        return max(int(self._top_t(*cell).max()) for cell in cells)

    def _policy(self, name: str) -> PowerPolicy:
        """Where the grid has several policies they share one program, which all variants of CD-DSGLD run."""
        names = self.config.policies
        if len(names) == 1:
            return policy_by_name(name)
        return OneOf(tuple(map(policy_by_name, names)), names.index(name))

    def _gradient(self, potential: Posterior):
        batch, augmentation = self.config.sampling.batch_size, self.problem.augmentation()
        if augmentation is not None:
            gradient = AugmentedGradient(potential, augmentation, batch)
        else:
            gradient = MiniBatchGradient(potential, batch) if batch else FullGradient(potential)
        return gradient if self.mesh is None else ShardedGradient(gradient, self.mesh)

    def exact_law(self, cell: Cell) -> AffineLaw | None:
        """The sampler's own law on a linear problem, as if no power limit were reached; None where there is none."""
        config = self.config
        steady = cell.method == "dsghmc" or config.sampling.schedule == "constant"
        exact_links = cell.method != "cd_dsgld" or config.channel.receiver == "plain"
        additive = not (self.simulated.any_fault or config.sampling.batch_size)
        small = self.num_agents(cell) * self.problem.model.num_params <= MAX_LAW
        if not (isinstance(self.problem, LinearProblem) and additive and steady and exact_links and small):
            return None
        if config.sampling.drift != "plain" or cell.method not in SAMPLING_METHODS or cell.method == "local_sgld":
            return None
        family = "dsgld" if cell.method == "cd_dsgld" else cell.method
        key = (family, cell.topology, cell.seed)
        if key not in self.laws:  # shared by all SNRs and policies
            self.laws[key] = self._law(self.problem, cell)
        return self.laws[key]

    def _law(self, problem: LinearProblem, cell: Cell) -> AffineLaw:
        config = self.config
        precision, linear = problem.quadratics(cell.seed)
        eta = config.sampling.eta
        if cell.topology is None:
            return dsgld_law(np.eye(1), precision.sum(0, keepdims=True), linear.sum(0, keepdims=True), eta)
        weights = mixing_matrix(self.graphs[cell.topology], resolve(self.graphs[cell.topology], config.network.weights))
        if cell.method == "dsghmc":
            return dsghmc_law(weights, precision, linear, config.momentum.eta, config.momentum.friction)
        return dsgld_law(weights, precision, linear, eta)

    def edge_weight(self, topology: str) -> float:
        """w, where all links share one."""
        weight = self.mixings[topology].edge_weight
        return float("nan") if weight is None else float(weight)

    def _step_size(self) -> StepSize:
        sampling = self.config.sampling
        if sampling.schedule == "polynomial":
            return PolynomialDecay(sampling.eta, sampling.decay_offset, sampling.decay_power)
        if sampling.schedule == "cosine":
            return CosineCycles(sampling.eta, sampling.cycle)
        return Constant(sampling.eta)


def stack(modules: Sequence):
    """Stack modules of equal structure along a new leading axis, for vmap."""
    arrays, rest = zip(*(eqx.partition(module, eqx.is_array) for module in modules), strict=True)
    # On the host: jnp.stack would be a program to compile for every shape.
    stacked = jax.tree.map(lambda *leaves: jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves])), *arrays)
    return eqx.combine(stacked, rest[0])


def stack_samplers(samplers: Sequence[Sampler]) -> Sampler:
    """Samplers of one variant. Their policy is one for all, and stays a number without an axis: no cell computes the
    policies of other variants."""
    stacked, policy = stack(samplers), getattr(samplers[0], "policy", None)
    if isinstance(policy, OneOf):
        stacked = eqx.tree_at(lambda sampler: sampler.policy.chosen, stacked, policy.chosen)
    return stacked
