"""Checks the fault settings of every scenario: ranges, and faults that no method of the study would feel."""

from operator import attrgetter

from airbayes.errors import ConfigError
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.ranges import BELOW_ONE, Range
from airbayes.experiment.scenario import own_settings, scenario_config, simulated_faults

NEEDS = {  # a rate, and what it acts on
    "network.burst_length": "network.link_outage",
    "network.attack_rate": "network.attackers",
    "channel.jam_rate": "channel.jammed",
}
CONNECTED = ("dsgld", "cd_dsgld", "dsghmc", "dsgd", "q_dsgd")


def fault_problems(config: ExperimentConfig) -> list[str]:
    problems, scenarios = [], {}
    for topology in config.network.topologies:
        if ".csv@" in topology:
            problems.append(
                f"network.topologies: {topology}: an edge list cannot carry fault rates; set them under network."
            )
            continue
        try:
            scenarios[topology] = scenario_config(config, topology)
        except ConfigError as error:
            problems.append(f"network.topologies: {error}")
    for topology, scenario in scenarios.items():
        problems += [f"{_where(topology)}{problem}" for problem in _numbers(scenario)]
    if problems:
        return list(dict.fromkeys(problems))
    return _senseless(config)


def _where(topology: str) -> str:
    return f"network.topologies: {topology}: " if "@" in topology else ""


def _numbers(config: ExperimentConfig) -> list[str]:
    n, c = config.network, config.channel
    ranges: list[tuple[str, float, float, float]] = [
        ("network.link_outage", n.link_outage, 0, BELOW_ONE),
        ("network.node_outage", n.node_outage, 0, BELOW_ONE),
        ("network.away", n.away, 0, BELOW_ONE),
        ("network.late", n.late, 0, 1),
        ("network.staleness", n.staleness, 0, 2**30),
        ("network.attackers", n.attackers, 0, max(n.agents - 1, 0)),
        ("network.attack_size", n.attack_size, 0, 1e12),
        ("network.attack_rate", n.attack_rate, 0, 1),
        ("channel.gain_std", c.gain_std, 0, 1e3),
        ("channel.impulse_rate", c.impulse_rate, 0, 1),
        ("channel.impulse_power", c.impulse_power, 0, 1e12),
        ("channel.jammed", c.jammed, 0, max(n.agents, 0)),
        ("channel.jam_rate", c.jam_rate, 0, 1),
        ("channel.jam_power", c.jam_power, 0, 1e12),
        ("channel.receiver_limit", c.receiver_limit, 1e-6, 1e12),
    ]
    problems = [
        f"{name} = {value} must be {Range(low, high)}."
        for name, value, low, high in ranges
        if value not in Range(low, high)
    ]
    lengths = [("network.away_length", n.away_length, n.away, "network.away")]
    if n.burst_length != 0:
        lengths.append(("network.burst_length", n.burst_length, n.link_outage, "network.link_outage"))
    for name, length, share, whose in lengths:
        # A thing that is up fails with probability p/((1 − p)L), which must not exceed one.
        least = max(1.0, share / (1 - share)) if 0 <= share < 1 else 1.0
        if not least <= length <= 1e9:
            problems.append(
                f"{name} = {length} must be at least {least:g} steps (and at most 1e9) for {whose} = {share:g}."
            )
    return problems


def _senseless(config: ExperimentConfig) -> list[str]:
    """Faults that would change nothing, or that a method cannot have."""
    n, c, methods, simulated = config.network, config.channel, set(config.methods), simulated_faults(config)
    problems = _idle_rates(config)
    loses = simulated.links or simulated.nodes or simulated.churn or simulated.jammer
    if loses and "q_dsgd" in methods and config.digital.mode == "memory":
        problems.append(
            "digital.mode = 'memory' assumes that every message arrives, so it cannot run with outages; "
            "use 'own-value' or 'zero-fill', or leave out what loses messages: network.link_outage, "
            "network.node_outage, network.away, channel.jammed, and scenarios such as ring@link_outage=0.3."
        )
    if (n.one_way or n.burst_length) and not simulated.links:
        name = "network.one_way" if n.one_way else "network.burst_length"
        problems.append(f"{name} is set but no link ever fails; set network.link_outage above 0.")
    if simulated.gain_error and "cd_dsgld" not in methods:
        problems.append(
            "channel.gain_std acts on sums over the air, which only cd_dsgld has; add cd_dsgld to methods or set it "
            "to 0."
        )
    if c.receiver != "plain" and "cd_dsgld" not in methods:
        problems.append(
            f"channel.receiver = {c.receiver!r} acts on sums over the air, which only cd_dsgld has; "
            "add cd_dsgld to methods or use 'plain'."
        )
    if simulated.impulses and "cd_dsgld" not in methods:
        problems.append(
            "channel.impulse_rate acts on the receiver noise that cd_dsgld takes as its own; ideal and digital links "
            "have none. Add cd_dsgld to methods or set it to 0."
        )
    if simulated.jammer and not methods & {"cd_dsgld", "q_dsgd"}:
        problems.append(
            "channel.jammed names receivers of a radio, which only cd_dsgld and q_dsgd have; add one to methods or set "
            "it to 0."
        )
    network_fault = loses or simulated.late or simulated.attack
    if network_fault and not methods & set(CONNECTED):
        problems.append(
            f"Faults of the network are set but no method uses one; add one of {', '.join(CONNECTED)} to methods."
        )
    return problems


def _idle_rates(config: ExperimentConfig) -> list[str]:
    """Rates of a scenario, or of all, of something that is not there: its cells would look as if it did no harm."""
    usual, problems = ExperimentConfig(), []
    for rate, needed in NEEDS.items():
        what = f"changes nothing while {needed} is 0; set {needed} above 0."
        for topology in config.network.topologies:
            asked = own_settings(topology).get(rate.partition(".")[2])
            if asked and not attrgetter(needed)(scenario_config(config, topology)):
                problems.append(f"{_where(topology)}{rate} = {asked:g} {what}")
        value = attrgetter(rate)(config)
        counts = needed != "network.link_outage"  # links may fail in some scenarios only
        if counts and value not in (0, attrgetter(rate)(usual)) and not attrgetter(needed)(config):
            problems.append(f"{rate} = {value:g} {what}")
    return problems
