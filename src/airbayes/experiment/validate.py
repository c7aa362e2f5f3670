"""Checks a configuration as a whole and lists everything that is wrong, before anything is compiled."""

import re
from operator import attrgetter
from pathlib import PurePath

from airbayes.errors import AirbayesError, ConfigError
from airbayes.experiment.config import RADIO_METHODS, ExperimentConfig
from airbayes.experiment.ranges import RANGES, SNR_DB
from airbayes.experiment.toml_io import retyped
from airbayes.experiment.validate_faults import fault_problems
from airbayes.text import MAX_NAME, is_name, printable


def check_config(config: ExperimentConfig) -> ExperimentConfig:
    """The configuration as a file of it would be read; ConfigError with one line per problem."""
    problems = find_problems(config)
    if problems:
        raise ConfigError(problems)
    return retyped(config, [])


def find_problems(config: ExperimentConfig) -> list[str]:
    problems: list[str] = []
    config = retyped(config, problems)  # a file's values have their types already, Python's may not
    problems += [
        *_name(config),
        *_lists(config),
        *_numbers(config),
        *_sampling(config),
        *_lidar(config),
        *_radio(config),
        *fault_problems(config),
        *_graphs(config),
    ]
    return problems or _splits(config)


def _name(config: ExperimentConfig) -> list[str]:
    """The name becomes a folder; the others stand in tables and figures."""
    problems = []
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", config.name):
        problems = [f"name = {config.name!r} must be letters, digits, '.', '_' or '-' (it names the results folder)."]
    given = {
        "network.topologies": config.network.topologies,
        "lidar.classes": config.lidar.classes,
        "lidar.source": (config.lidar.source,),
    }
    for name, values in given.items():
        problems += [
            f"{name} holds {printable(value)!r}, which is not up to {MAX_NAME:,} printable characters; rename it."
            for value in values
            if not is_name(value)
        ]
    return problems


def _lists(config: ExperimentConfig) -> list[str]:
    needed = {"methods": config.methods, "network.topologies": config.network.topologies}
    if "cd_dsgld" in config.methods:
        needed["policies"] = config.policies
    if set(config.methods) & set(RADIO_METHODS):
        needed["channel.snr_db"] = config.channel.snr_db
    problems = [f"{name} is empty; name at least one." for name, values in needed.items() if not values]
    for name, values in needed.items():
        twice = sorted({str(value) for value in values if values.count(value) > 1})
        problems += [f"{name} lists {', '.join(twice)} more than once; remove the repetition."] if twice else []
    return problems


def _numbers(config: ExperimentConfig) -> list[str]:
    """Ranges of single numbers."""
    values = {name: attrgetter(name)(config) for name in RANGES}
    return [f"{name} = {value} must be {RANGES[name]}." for name, value in values.items() if value not in RANGES[name]]


def _sampling(config: ExperimentConfig) -> list[str]:
    s, problems = config.sampling, []
    if s.steps < 1:
        pass  # named already, and no burn-in would do
    elif s.burn_in >= s.steps:
        problems.append(
            f"sampling.burn_in = {s.burn_in} leaves no sample of sampling.steps = {s.steps}; "
            f"use a burn-in below {s.steps}."
        )
    elif s.thin > s.steps - s.burn_in:
        problems.append(
            f"sampling.thin = {s.thin} keeps nothing of the {s.steps - s.burn_in} steps after burn-in; "
            f"use at most {s.steps - s.burn_in}."
        )
    if config.problem.kind != "pointnet" and s.batch_size > config.problem.examples:
        problems.append(
            f"sampling.batch_size = {s.batch_size} must be at least 0 and at most "
            f"{config.problem.examples}, problem.examples."
        )
    if config.problem.kind == "linear" and config.problem.prior != "gaussian":
        problems.append(
            f"problem.prior = {config.problem.prior!r} has no exact posterior with problem.kind = 'linear'; "
            "use 'gaussian'."
        )
    return problems


def _lidar(config: ExperimentConfig) -> list[str]:
    """Reads the object set, where one is named; nothing is simulated yet."""
    if config.problem.kind != "pointnet":
        if config.problem.prior_scaling == "fan-in":
            return ["problem.prior_scaling = 'fan-in' needs problem.kind = 'pointnet'; use 'unit'."]
        return []
    from airbayes.experiment.lidar_data import SIMULATED, class_names, per_agent

    settings, problems = config.lidar, []
    try:
        names = class_names(settings)
        if len(names) < 2:
            which = f"lidar.classes leaves {len(names)} class"
            has = f"lidar.source = {settings.source!r} has {len(names)} class, {', '.join(map(printable, names))}"
            problems.append(f"{which if settings.classes else has}; learning needs at least two.")
        if len(set(names)) != len(names):
            problems.append("lidar.classes lists a class more than once; remove the repetition.")
        share = per_agent(settings, max(config.network.agents, 1))
        if config.sampling.batch_size > share * len(names) and settings.partition == "iid":
            problems.append(
                f"sampling.batch_size = {config.sampling.batch_size} is more than the {share * len(names)} "
                "examples of an agent; use fewer, or 0 for all."
            )
    except AirbayesError as error:
        problems.append(str(error))
    if settings.partition == "by-scene" and settings.source == SIMULATED:
        problems.append("lidar.partition = 'by-scene' needs scenes, which simulated objects do not have; use 'iid'.")
    return problems


def _splits(config: ExperimentConfig) -> list[str]:
    """An object set may be too small to be split so; asked last, for splitting takes settings that are in range."""
    if config.problem.kind != "pointnet":
        return []
    from airbayes.experiment.lidar_data import SIMULATED, split_sizes

    if config.lidar.source == SIMULATED:
        return []
    try:
        for seed in range(config.first_seed, config.first_seed + config.seeds):
            split_sizes(config, seed)
    except AirbayesError as error:
        return [str(error)]
    return []


def _radio(config: ExperimentConfig) -> list[str]:
    problems = []
    if set(config.methods) & set(RADIO_METHODS):
        for snr in config.channel.snr_db:
            if snr not in SNR_DB:
                problems.append(
                    f"channel.snr_db holds {snr}; give finite decibels between -200 and 200 "
                    "(ideal links are the methods dsgld and dsgd)."
                )
    if "cd_dsgld" in config.methods and config.network.weights == "metropolis":
        problems.append(
            "network.weights = 'metropolis' cannot be used by cd_dsgld: an analog signal reaches all neighbours "
            "with one weight. Use 'best-constant' or 'max-degree', or leave cd_dsgld out."
        )
    problems += _optimal(config)
    return problems


def _optimal(config: ExperimentConfig) -> list[str]:
    if "optimal" not in config.policies or "cd_dsgld" not in config.methods:
        return []
    from airbayes.power.policies import MAX_OPTIMAL_AGENTS

    if config.network.agents <= MAX_OPTIMAL_AGENTS:
        return []
    return [
        f"policies holds 'optimal', which needs every pair's Gram entry and stops at {MAX_OPTIMAL_AGENTS} agents; "
        f"network.agents = {config.network.agents}. Use 'truncated' or 'common'."
    ]


def _graphs(config: ExperimentConfig) -> list[str]:
    """Build every graph and its weights: unknown names, missing files, gossip that does not contract, tables that the
    run could not hold."""
    from airbayes.experiment.build import build_graph
    from airbayes.network import check_connected, check_stack
    from airbayes.network.weights import resolve

    if config.network.agents < 1:  # said already, of all graphs at once
        return []
    files = [PurePath(name).name for name in config.network.topologies if name.endswith(".csv")]
    problems = [
        f"network.topologies names two edge lists {name}; give the files different names."
        for name in sorted(set(files))
        if files.count(name) > 1
    ]
    fitting = []
    for topology in config.network.topologies:
        try:
            graph = build_graph(config, topology)
            if graph.num_agents != config.network.agents:
                problems.append(
                    f"network.topologies: {topology} has {graph.num_agents} agents but "
                    f"network.agents = {config.network.agents}; make them equal."
                )
            else:
                fitting.append(graph)
            check_stack([graph])
            check_connected(graph)
            resolve(graph, config.network.weights)
        except AirbayesError as error:
            problems.append(f"network.topologies: {topology}: {error}")
    if fitting and not problems:
        try:
            check_stack(fitting)  # the cells of a method run together, in tables of one shape
        except AirbayesError as error:
            problems.append(f"network.topologies: {error}")
    return problems
