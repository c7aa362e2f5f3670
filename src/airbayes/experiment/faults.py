"""From settings to what fails: outages, faults with a memory, the channel and its receiver, alike for all scenarios."""

from airbayes.channel import AWGN, Channel, ImpulsiveNoise, Jammed, NoisyGainAWGN
from airbayes.experiment.config import ExperimentConfig
from airbayes.experiment.scenario import Simulated
from airbayes.samplers import (
    Attack,
    BothOutages,
    Bursts,
    Churn,
    ClippingReceiver,
    Faults,
    Jamming,
    Late,
    LinkOutage,
    NodeOutage,
    Outage,
    Receiver,
    TestingReceiver,
)


def build_outage(scenario: ExperimentConfig, simulated: Simulated, *, digital: bool = False) -> Outage | None:
    """What fails without a memory; a jammer takes digital messages away, and only adds noise to a sum over the air."""
    network = scenario.network
    independent = simulated.links and not simulated.bursts
    links = LinkOutage(network.link_outage, network.one_way) if independent else None
    nodes = NodeOutage(network.node_outage) if simulated.nodes else None
    outage = BothOutages(links, nodes) if links and nodes else links or nodes
    if digital and simulated.jammer:
        return Jamming(scenario.channel.jam_rate, scenario.channel.jammed, outage)
    return outage


def build_faults(scenario: ExperimentConfig, simulated: Simulated) -> Faults | None:
    """What fails with a memory, or lies."""
    network = scenario.network
    if not (simulated.bursts or simulated.churn or simulated.late or simulated.attack):
        return None
    # Beside bursts, an outage drawn anew at every step is one of mean length 1/(1 − p).
    length = network.burst_length or 1 / (1 - network.link_outage)
    return Faults(
        Bursts(network.link_outage, length, network.one_way) if simulated.bursts else None,
        Churn(network.away, network.away_length) if simulated.churn else None,
        Late(network.late, network.staleness) if simulated.late else None,
        Attack(network.attack_rate, network.attack_size, network.attack, network.attackers)
        if simulated.attack
        else None,
    )


def build_channel(scenario: ExperimentConfig, simulated: Simulated, snr_db: float) -> Channel:
    settings = scenario.channel
    channel: Channel = AWGN(snr_db, settings.power)
    if simulated.gain_error:
        channel = NoisyGainAWGN(snr_db, settings.gain_std, settings.power)
    if simulated.impulses:
        channel = ImpulsiveNoise(channel, settings.impulse_rate, settings.impulse_power)
    if simulated.jammer:
        channel = Jammed(channel, settings.jam_rate, settings.jam_power, settings.jammed)
    return channel


def build_receiver(config: ExperimentConfig) -> Receiver | None:
    kinds = {"plain": None, "clip": ClippingReceiver, "test": TestingReceiver}
    receiver = kinds[config.channel.receiver]
    return None if receiver is None else receiver(config.channel.receiver_limit)
