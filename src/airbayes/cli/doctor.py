"""`airbayes doctor`: is this installation sound, and what is missing for which feature?"""

import dataclasses
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from airbayes import __version__
from airbayes.cli.arguments import parse
from airbayes.cli.devices import check_devices
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError
from airbayes.text import plural

OK, MISSING, WARNING, BROKEN = "ok", "missing", "warning", "broken"
STYLES = {OK: "green", MISSING: "dim", WARNING: "yellow", BROKEN: "bold red"}
LOW_DISK, LOW_MEMORY = 1e9, 1e9  # bytes below which a run may fail
FEATURES = {  # extra → what it is for
    "bench": "peers that `airbayes bench` times",
    "cluster": "`airbayes run --engine dask` and slurm",
    "cuda": "NVIDIA GPUs",
    "lidar": "reading Argoverse 2",
    "mlflow": "`airbayes run --track mlflow`",
    "tensorboard": "`airbayes run --track tensorboard`",
    "export": "`airbayes export`, models as ONNX",
}
FOR_DEVELOPERS = ("test", "docs")
HANG = 22  # columns before the text of a finding
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclasses.dataclass(frozen=True)
class DoctorOptions:
    json: bool = False
    """Print the findings as JSON."""
    debug: bool = False
    """Show Python tracebacks."""


@dataclasses.dataclass(frozen=True)
class Finding:
    about: str
    status: str  # ok, missing (a feature that is not there), warning, or broken (something essential)
    text: str


def doctor_command(args: list[str]) -> int:
    """Exit code 1 when something essential is broken."""

    options = parse(
        DoctorOptions,
        prog="airbayes doctor",
        description="Check this installation: versions, devices, a real sampler against its closed-form law, caches, "
        "disk and memory, and which optional features are there. Exit code 1 if something essential is broken.",
        args=args,
    )
    console, findings = make_console(), []
    for finding in examine():
        findings.append(finding)
        if not options.json:
            console.print(f"{finding.status:8} ", style=STYLES[finding.status], end="")
            room = max(console.width - HANG, 20)
            lines = textwrap.wrap(finding.text, room, break_long_words=False, break_on_hyphens=False)
            console.print(f"{finding.about:12} " + f"\n{' ' * HANG}".join(lines), soft_wrap=True)
    broken = sum(finding.status == BROKEN for finding in findings)
    if options.json:
        found = {"sound": not broken, "findings": [dataclasses.asdict(finding) for finding in findings]}
        console.out(json.dumps(found, indent=1), highlight=False)
    elif broken:
        console.print(f"\n{broken} essential thing{'s are' if broken > 1 else ' is'} broken; see above.")
    else:
        console.print("\nEverything essential works.")
    return 1 if broken else 0


def examine() -> Iterator[Finding]:
    """The findings, one by one as they are made; the slow ones last."""
    yield Finding("airbayes", OK, f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    yield _versions()
    yield from _guarded("disk", _disk)
    yield from _guarded("memory", _memory)
    yield from _guarded("cache", _cache)
    for extra, missing in sorted(missing_by_extra().items()):
        what = FEATURES.get(extra, f"extra {extra}")
        install = f"pip install 'airbayes[{extra}]'"
        text = f"{what}: there" if not missing else f"{what}: needs {', '.join(missing)}; {install}"
        yield Finding(extra, MISSING if missing else OK, text)
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    yield Finding(
        "browser", OK if browser else MISSING, browser or "no Chromium, which only the tests of the report need"
    )
    devices = list(_guarded("devices", _devices))
    yield from devices
    if devices[0].status == BROKEN:  # the rest computes on them
        return
    yield from _guarded("compiler", _compiler)
    yield from _guarded("C++ code", _native)
    yield from _guarded("sampler", _sampler)


def _guarded(about: str, check: Callable[[], Finding]) -> Iterator[Finding]:
    """A check that fails is a finding: whoever asks the doctor has something that does not work."""
    try:
        yield check()
    except Exception as error:
        kind = "" if isinstance(error, AirbayesError) else f"{type(error).__name__}: "
        yield Finding(about, BROKEN, f"{kind}{error}".splitlines()[0])


def requirements() -> dict[str | None, list[str]]:
    """Extra → names of the packages it asks for; None: those always needed."""
    found: dict[str | None, list[str]] = {}
    try:
        wanted = metadata.requires("airbayes") or []
    except metadata.PackageNotFoundError:
        return found
    for line in wanted:
        name = re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", line)
        found.setdefault(extra[1] if extra else None, []).append(name)
    return found


def missing_by_extra() -> dict[str, list[str]]:
    """Extra → its packages that are not installed. JAX itself is there without CUDA: its plug-in is what counts."""
    found = {}
    for extra, names in requirements().items():
        if extra is not None and extra not in FOR_DEVELOPERS:
            wanted = ["jax-cuda12-plugin"] if extra == "cuda" else names
            found[extra] = [name for name in wanted if not _installed(name)]
    return found


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _versions() -> Finding:
    names = requirements().get(None, ["jax", "jaxlib", "equinox", "numpy"])
    missing = [name for name in names if not _installed(name)]
    shown = ", ".join(f"{name} {metadata.version(name)}" for name in names if name not in missing)
    if missing:
        return Finding("packages", BROKEN, f"not installed: {', '.join(missing)}. Install with: pip install airbayes")
    if metadata.version("jaxlib") == "0.10.2":
        return Finding("packages", BROKEN, "jaxlib 0.10.2 returns wrong sums on CPUs: pip install 'jax!=0.10.2'")
    return Finding("packages", OK, shown)


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    return Finding("disk", OK if free > LOW_DISK else WARNING, f"{free / 1e9:,.1f} GB free in {Path.cwd()}")


def _memory() -> Finding:
    path = Path("/proc/meminfo")
    if not path.exists():
        return Finding("memory", OK, "unknown on this system")
    (free,) = re.findall(r"^MemAvailable:\s+(\d+) kB", path.read_text(), re.M)
    available = 1024 * int(free)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    status = OK if available > LOW_MEMORY else WARNING
    return Finding("memory", status, f"{available / 1e9:,.1f} GB available, {plural(cores or 1, 'processor core')}")


def _cache() -> Finding:
    from airbayes.cache import cache_folder

    folder = cache_folder()
    if folder is None:
        return Finding("cache", OK, "switched off by AIRBAYES_CACHE=off")
    if not folder.exists():
        return Finding("cache", OK, f"{folder}, not there yet")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        text = f"{folder} cannot be written ({error.strerror}): runs work and start slowly. Set AIRBAYES_CACHE."
        return Finding("cache", WARNING, text)
    return Finding("cache", OK, f"{folder}, {size / 1e6:,.1f} MB")


def _devices() -> Finding:
    import jax

    check_devices()
    named = [[each.platform, each.device_kind] for each in jax.devices()]
    return Finding("devices", OK, ", ".join(" ".join(dict.fromkeys(names)) for names in named))  # no "cpu cpu"


def _compiler() -> Finding:
    from airbayes.compiler import check_compiler

    check_compiler()
    return Finding("compiler", OK, "compiled sums agree with numpy")


def _native() -> Finding:
    import jax

    from airbayes import native
    from airbayes.models.self_test import TOLERANCE, pointnet_against_plain

    if jax.default_backend() != "cpu":
        return Finding("C++ code", OK, "not used: it is for machines without an accelerator")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said here, with what to do
        reason = native.why_not()
    if reason:
        fix = "" if native.SWITCH in reason else "; install a C++ compiler (Debian: apt install g++)"
        return Finding("C++ code", MISSING, f"PointNet runs at a fraction of its speed: {reason}{fix}")
    error = pointnet_against_plain()
    text = f"PointNet's gradient in C++ is that of JAX to {error:.1g}"
    return Finding("C++ code", OK if error < TOLERANCE else BROKEN, f"{text}; {native.SWITCH}=off leaves it out")


def _sampler() -> Finding:
    from airbayes.experiment.self_test import CHAINS, FALSE_ALARM, sampler_against_its_law

    test = sampler_against_its_law()
    words = f"p = {test.p_mean:.2g} (mean), {test.p_covariance:.2g} (covariance), {test.seconds:.1f} s"
    if not test.passed:
        return Finding("sampler", BROKEN, f"CD-DSGLD does not have its closed-form law: {words}; {sys.platform}")
    text = f"CD-DSGLD has its closed-form law: {CHAINS:,} chains, {words}; broken below {FALSE_ALARM:g}"
    return Finding("sampler", OK, text)
