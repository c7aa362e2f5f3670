"""airbayes: Bayesian federated learning over the air.

Agents on a device-to-device radio network sample one posterior together. They transmit their
parameters as analog signals; the channel sums the neighbours and its noise does the sampling.
"""

__version__ = "0.1.0"
