"""Radio channels: what is added to the signals, and what rate a digital link would have."""

from airbayes.channel.awgn import AWGN, NoisyGainAWGN
from airbayes.channel.base import Channel
from airbayes.channel.decibel import db_to_linear, linear_to_db

__all__ = ["AWGN", "Channel", "NoisyGainAWGN", "db_to_linear", "linear_to_db"]
