"""The user's cache folder: simulated objects, and compiled programs so that the second run starts at once.

XLA's machine code is kept under a name made of the processor's features and of the jaxlib release, since code for other
features could stop the process with an illegal instruction. A cache only saves time: where it cannot be written, a run
goes on without it.
"""

import hashlib
import os
import platform
import stat
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

OFF = "off"
ASKED_FOR = "AIRBAYES_CACHE_PROGRAMS"
PROGRAMS = "programs"
CHECKED = "checked"  # its time stamp: entries that are older were found whole
MAX_BYTES = 512_000_000


def cache_folder() -> Path | None:
    """$AIRBAYES_CACHE, else airbayes in $XDG_CACHE_HOME, else ~/.cache/airbayes; None for AIRBAYES_CACHE=off."""
    own = os.environ.get("AIRBAYES_CACHE")
    if own == OFF:
        return None
    if own:
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "airbayes"
    return Path("~/.cache/airbayes").expanduser()


def cache_programs(folder: Path | None = None, max_bytes: int = MAX_BYTES) -> Path | None:
    """Let JAX keep compiled programs on disk, for this process; call it before the first one. None: it keeps none.

    A folder that someone chose for JAX itself (JAX_COMPILATION_CACHE_DIR) is left alone. Only on Linux, where the
    processor's features can be read; not with AIRBAYES_CACHE_PROGRAMS=off.
    """
    root = folder or cache_folder()
    if root is None or os.environ.get("JAX_COMPILATION_CACHE_DIR") or not sys.platform.startswith("linux"):
        return None
    if os.environ.get(ASKED_FOR) == OFF:
        return None
    programs = root / PROGRAMS / machine_name()
    try:
        programs.mkdir(parents=True, exist_ok=True, mode=0o700)
        refuse_shared(programs)
        with tempfile.NamedTemporaryFile(dir=programs):  # can it be written?
            pass
        _drop_damaged(programs)
        _drop_oldest(root / PROGRAMS, max_bytes)
    except OSError as error:
        warnings.warn(f"Compiled programs are not kept: {programs}: {error.strerror or error}.", stacklevel=2)
        return None
    # The loader calls tuning hints such as +prefer-no-gather features that this machine lacks and prints 2 kB of alarm
    # per program (openxla/xla#44565). Real differences of features lead to another folder, see machine_name.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

    import jax

    jax.config.update("jax_compilation_cache_dir", str(programs))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # a run has a hundred small programs
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return programs


def machine_name() -> str:
    """Whatever machine code depends on and JAX's own key may not hold: features of the processor, jaxlib, XLA_FLAGS."""
    features = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith(("flags", "Features", "model name", "CPU part")):
                    features += line
                if not line.strip():  # the first processor is enough
                    break
    text = "\n".join([features, platform.machine(), version("jaxlib"), os.environ.get("XLA_FLAGS", "")])
    return f"jaxlib-{version('jaxlib')}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def refuse_shared(folder: Path) -> None:
    """Who can write there can run code as this user."""
    found = folder.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise PermissionError(0, "it belongs to someone else, or others can write to it")


def _drop_damaged(folder: Path) -> None:
    """Entries cut off by a full disk or a kill; JAX would complain about them at every start, and keep them."""
    stamp = folder / CHECKED
    since = stamp.stat().st_mtime if stamp.exists() else 0.0
    stamp.touch()
    for path, found in _entries(folder):
        if found.st_mtime >= since and not _whole(path):
            path.unlink(missing_ok=True)


def _whole(path: Path) -> bool:
    try:
        content = path.read_bytes()
        if content[:1] == b"\x78" or not content:  # zlib; JAX takes zstd where that is installed
            zlib.decompress(content)
    except (OSError, zlib.error):
        return False
    return True


def _drop_oldest(folder: Path, max_bytes: int) -> None:
    """Those not used for longest go first, until the rest fits; of other machines and releases too."""
    entries = sorted(_entries(folder), key=lambda entry: max(entry[1].st_atime, entry[1].st_mtime), reverse=True)
    total = 0
    for path, found in entries:
        total += found.st_size
        if total > max_bytes:
            path.unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.rglob("*-cache"):
        try:
            yield path, path.stat()
        except OSError:  # another process was faster
            continue
