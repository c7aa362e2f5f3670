"""What the numbers were measured on: hardware, versions, and the memory that is left."""

import datetime
import os
import platform
import resource
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import jax

from airbayes import __version__

PACKAGES = ("jax", "jaxlib", "numpy", "equinox", "torch", "blackjax", "posteriors")


def threads() -> int:
    """Cores this process may use: XLA takes them all, and torch is told to."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_gpu() -> bool:
    return jax.default_backend() == "gpu"


def describe_machine() -> dict[str, Any]:
    """The header of bench.json."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "device": jax.devices()[0].device_kind if on_gpu() else cpu_name(),
        "backend": jax.default_backend(),
        "cpu": cpu_name(),
        "threads": threads(),
        "memory_gib": round(total_memory() / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "airbayes": __version__,
        **{name: _version(name) for name in PACKAGES},
    }


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as handle:
            found = [line.split(":", 1)[1].strip() for line in handle if line.startswith("model name")]
    except OSError:
        found = []
    return found[0] if found else platform.processor() or platform.machine()


def total_memory() -> int:
    """Bytes of main memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def free_memory() -> int:
    """Bytes that arrays may still take, on the device that computes."""
    if on_gpu():
        stats = jax.devices()[0].memory_stats() or {}
        return int(stats.get("bytes_limit", 0)) - int(stats.get("bytes_in_use", 0))
    try:
        with open("/proc/meminfo", encoding="utf-8") as handle:
            found = [int(line.split()[1]) * 1024 for line in handle if line.startswith("MemAvailable")]
    except OSError:
        found = []
    return found[0] if found else total_memory() // 2


def peak_memory() -> int:
    """Most bytes in use so far: of the GPU's allocator, else of this process."""
    if on_gpu():
        return int((jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def too_large(needed: int) -> str:
    """Why an array job of so many bytes is not begun; empty when it fits into 80 % of what is free."""
    free = free_memory()
    if needed <= 0.8 * free:
        return ""
    return f"needs about {needed / 2**30:.1f} GiB of memory, {free / 2**30:.1f} GiB are free"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
