"""The library's functions, made known to XLA."""

import ctypes
import functools
import os
import warnings

from airbayes.native.build import SWITCH, NativeError, compile_library

FUNCTIONS = (
    "airbayes_pointnet_scores",
    "airbayes_pointnet_pull_scores",
    "airbayes_pointnet_pull_log_likelihood",
)


def available() -> bool:
    """Can XLA call the functions? The first call may compile them, for some seconds."""
    return why_not() is None


def why_not() -> str | None:
    """None where the functions are there, else the reason."""
    if os.environ.get(SWITCH) == "off":
        return f"switched off by {SWITCH}=off"
    return _load()


@functools.cache
def _load() -> str | None:
    import jax

    try:
        library = ctypes.CDLL(str(compile_library()))
        for name in FUNCTIONS:
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    except (NativeError, OSError, AttributeError) as error:
        warnings.warn(
            f"PointNet runs at a fraction of its speed: its C++ code could not be compiled ({error}). "
            f"Install a C++ compiler (Debian: apt install g++), or set {SWITCH}=off to be content with it.",
            stacklevel=2,
        )
        return str(error)
    return None
