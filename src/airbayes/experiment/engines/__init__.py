"""Sweeps on many processes and machines: the units of work, and who computes them."""
