"""C++ for what XLA does slowly on CPUs. Compiled at first use with the C++ compiler of the machine, for its processor,
and kept in the cache folder; without a compiler, or with AIRBAYES_NATIVE=off, JAX code takes its place.
"""

from airbayes.native.build import SWITCH, NativeError, compile_library
from airbayes.native.load import available, why_not

__all__ = ["SWITCH", "NativeError", "available", "compile_library", "why_not"]
