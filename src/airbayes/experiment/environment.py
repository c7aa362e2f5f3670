"""On what a run was computed, for whoever reads its results later. Nothing that names a person or a machine."""

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("jax", "jaxlib", "numpy", "equinox")


def describe_environment() -> str:
    """One `name: value` a line: system, Python, devices, versions."""
    import jax

    devices = [device.device_kind for device in jax.local_devices()]
    kinds = ", ".join(f"{devices.count(kind)} × {kind}" for kind in dict.fromkeys(devices))
    lines = [
        f"system: {platform.system()} {platform.machine()}",
        f"python: {platform.python_version()}",
        f"devices: {kinds} ({jax.default_backend()})",
    ]
    return "\n".join(lines + [f"{name}: {_version(name)}" for name in PACKAGES])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
