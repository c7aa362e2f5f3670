"""Radio channels: what is added to the signals, and what rate a digital link would have."""

from airbayes.channel import link_budget, rate
from airbayes.channel.awgn import AWGN, NoisyGainAWGN
from airbayes.channel.base import Channel
from airbayes.channel.decibel import db_to_linear, linear_to_db
from airbayes.channel.impulsive import ImpulsiveNoise
from airbayes.channel.jammed import Jammed

__all__ = [
    "AWGN",
    "Channel",
    "ImpulsiveNoise",
    "Jammed",
    "NoisyGainAWGN",
    "db_to_linear",
    "linear_to_db",
    "link_budget",
    "rate",
]
