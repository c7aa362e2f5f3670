"""Scenarios: one graph under several fault rates in one study. A topology may carry settings of its own, after an @:

    "ring"    "ring@link_outage=0.3"    "ring@link_outage=0.3,burst_length=20"    "full@attack_rate=0.1"

Cells of one method run in one program, so a fault that any scenario has is simulated in all, elsewhere with rate 0.
"""

import dataclasses

from airbayes.errors import ConfigError
from airbayes.experiment.config import ChannelConfig, ExperimentConfig, NetworkConfig

NETWORK_RATES = ("link_outage", "burst_length", "node_outage", "away", "late", "attack_rate")
CHANNEL_RATES = ("gain_std", "impulse_rate", "jam_rate")
RATES = NETWORK_RATES + CHANNEL_RATES


def graph_name(topology: str) -> str:
    """The graph of a topology, without its settings."""
    return topology if topology.endswith(".csv") else topology.partition("@")[0]


def own_settings(topology: str) -> dict[str, float]:
    """What a topology sets for itself; a wrong name or number is refused."""
    settings: dict[str, float] = {}
    if graph_name(topology) == topology:
        return settings
    for item in topology.partition("@")[2].split(","):
        name, _, value = item.partition("=")
        if name not in RATES or name in settings:
            raise ConfigError(f"{topology!r}: {name!r} is not one of {', '.join(RATES)}, once each. Example: {EXAMPLE}")
        try:
            settings[name] = float(value)
        except ValueError:
            raise ConfigError(f"{topology!r}: {value!r} is not a number. Example: {EXAMPLE}") from None
    return settings


EXAMPLE = "ring@link_outage=0.3,burst_length=20"


def scenario_config(config: ExperimentConfig, topology: str) -> ExperimentConfig:
    """The configuration with the topology's own settings in place."""
    own = own_settings(topology)
    network = {name: value for name, value in own.items() if name in NETWORK_RATES}
    channel = {name: value for name, value in own.items() if name in CHANNEL_RATES}
    return dataclasses.replace(
        config,
        network=dataclasses.replace(config.network, **network),
        channel=dataclasses.replace(config.channel, **channel),
    )


@dataclasses.dataclass(frozen=True)
class Simulated:
    """Which faults any scenario of a study has: all its cells then simulate them."""

    links: bool
    bursts: bool
    nodes: bool
    churn: bool
    late: bool
    attack: bool
    gain_error: bool
    impulses: bool
    jammer: bool

    @property
    def any_fault(self) -> bool:
        return any(dataclasses.astuple(self))


def simulated_faults(config: ExperimentConfig) -> Simulated:
    scenarios = [scenario_config(config, topology) for topology in config.network.topologies]
    networks: list[NetworkConfig] = [scenario.network for scenario in scenarios]
    channels: list[ChannelConfig] = [scenario.channel for scenario in scenarios]
    links = any(n.link_outage > 0 for n in networks)
    return Simulated(
        links=links,
        bursts=links and any(n.burst_length > 0 for n in networks),
        nodes=any(n.node_outage > 0 for n in networks),
        churn=any(n.away > 0 for n in networks),
        late=any(n.late > 0 for n in networks),
        attack=any(n.attack_rate > 0 for n in networks) and config.network.attackers > 0,
        gain_error=any(c.gain_std > 0 for c in channels),
        impulses=any(c.impulse_rate > 0 for c in channels),
        jammer=any(c.jam_rate > 0 for c in channels) and config.channel.jammed > 0,
    )
