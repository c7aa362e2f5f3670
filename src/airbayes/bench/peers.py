"""Packages we compare with. None is required: one that is missing or broken becomes a skipped row with the reason."""

import importlib
import warnings
from collections.abc import Callable
from typing import Any

from airbayes.bench.machine import on_gpu, threads
from airbayes.bench.timing import Work

# What to type where a peer is missing.
INSTALL = {"torch": "pip install torch", "blackjax": "pip install blackjax", "posteriors": "pip install posteriors"}


class PeerAbsent(Exception):
    """The reason why a peer cannot be measured."""


def load(name: str) -> Any:
    """The package, or PeerAbsent."""
    try:
        with warnings.catch_warnings():  # the peer's own, about its own dependencies
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or name).split(".")[0]
        raise PeerAbsent(f"{missing} is not installed ({INSTALL.get(missing, 'pip install ' + missing)})") from error
    except Exception as error:  # a broken installation is the peer's, and no reason to stop
        raise PeerAbsent(f"{name} cannot be imported: {first_line(error)}") from error


def load_torch() -> Any:
    """torch with the threads that XLA has and float32 products without TF32, as ours."""
    torch = load("torch")
    torch.set_num_threads(threads())
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if on_gpu() and not torch.cuda.is_available():
        raise PeerAbsent("this torch sees no GPU while JAX does; install its CUDA build")
    return torch


def torch_device() -> str:
    return "cuda" if on_gpu() else "cpu"


def torch_loop(torch: Any, once: Callable[[], object]) -> Work:
    """`once` so many times, then wait for the device."""

    def work(count: int) -> None:
        for _ in range(count):
            once()
        if on_gpu():
            torch.cuda.synchronize()

    return work


def prepare(make: Callable[[], Work]) -> Work:
    """Build a peer's work and run it once, which compiles it; PeerAbsent when that fails."""
    try:
        work = make()
        work(1)
    except PeerAbsent:
        raise
    except Exception as error:  # for example a compiler that torch.compile does not find
        raise PeerAbsent(f"failed with {type(error).__name__}: {first_line(error)}") from error
    return work


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
