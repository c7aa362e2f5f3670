"""Compiling the C++ files beside this one into a shared library, once for a machine."""

import atexit
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from airbayes.cache import cache_folder, machine_name, refuse_shared

SWITCH = "AIRBAYES_NATIVE"  # off: JAX code only
SOURCES = Path(__file__).parent
ENTRY = SOURCES / "calls.cc"
COMPILERS = ("c++", "g++", "clang++")
FLAGS = ("-std=c++17", "-O3", "-fPIC", "-shared", "-pthread", "-w")
# Not every compiler knows the first for every processor. Without any the code is right and slower.
FOR_THIS_PROCESSOR = ("-march=native", "-mcpu=native", "")
PATIENCE = 300  # s


class NativeError(Exception):
    """Why there is no library; never the user's mistake."""


def compile_library(folder: Path | None = None) -> Path:
    """The library for this machine, compiled unless it is there; in the cache folder, or else in a temporary one."""
    compiler = find_compiler()
    name = f"{_fingerprint(compiler)}.so"
    for place in _places(folder):
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            refuse_shared(place)
            found = place / name
            return found if found.exists() else _compile(compiler, place, found)
        except OSError:  # full, read-only, or not ours alone
            continue
    raise NativeError("no folder to write the library to")


def find_compiler() -> str:
    """$CXX, or the first that is there."""
    asked_for = os.environ.get("CXX", "").strip()
    for name in (asked_for,) if asked_for else COMPILERS:
        if found := shutil.which(name):
            return found
    raise NativeError(f"no C++ compiler ({asked_for or ', '.join(COMPILERS)})")


def _places(folder: Path | None) -> Iterator[Path]:
    root = folder or cache_folder()
    if root is not None:
        yield root / "native"
    temporary = tempfile.mkdtemp(prefix="airbayes-native-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    yield Path(temporary)


def _fingerprint(compiler: str) -> str:
    """Whatever the machine code depends on."""
    parts = [machine_name(), os.path.realpath(compiler), str(os.stat(compiler).st_mtime_ns), *FLAGS]
    parts += [path.read_text(encoding="utf-8") for path in [*sorted(SOURCES.glob("*.h")), ENTRY]]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def _compile(compiler: str, folder: Path, target: Path) -> Path:
    """Under another name first: whoever finds the library finds it whole."""
    import jax

    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / target.name
        said = ""
        for processor in FOR_THIS_PROCESSOR:
            command = [compiler, *FLAGS, *processor.split(), "-I", jax.ffi.include_dir(), "-o", str(made), str(ENTRY)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise NativeError(f"{compiler}: {error}") from error
            if done.returncode == 0:
                with open(made, "rb") as whole:  # a library that was cut off would stop the process that opens it
                    os.fsync(whole.fileno())
                os.replace(made, target)
                return target
            said = said or done.stderr.strip() or f"exit code {done.returncode}"
        raise NativeError(f"{compiler}: {said.splitlines()[0]}")
