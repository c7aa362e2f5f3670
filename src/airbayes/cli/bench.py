"""`airbayes bench`: how fast is it here, beside its peers and against what the machine can do?"""

import dataclasses
import os
from pathlib import Path
from typing import Literal

from airbayes.cli.arguments import parse
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError
from airbayes.text import plural

BenchMethod = Literal[
    "sgld", "dsgld", "cd_dsgld optimal", "cd_dsgld common", "cd_dsgld truncated", "dsghmc", "dsgd", "q_dsgd"
]


@dataclasses.dataclass(frozen=True)
class BenchOptions:
    only: tuple[Literal["a", "b", "c", "d", "e"], ...] = ()
    """Sections to run, for example --only a c; all when left out. a: gradients beside PyTorch; b: every method's step
    and its parts; c: an SGLD chain beside blackjax and posteriors; d: scaling; e: compile time, memory and floors."""
    methods: tuple[BenchMethod, ...] = ()
    """Methods of section b, for example --methods q_dsgd "cd_dsgld common"; all when left out."""
    blocks: tuple[Literal["cells", "agents", "points", "parameters"], ...] = ()
    """What grows in section d, for example --blocks agents; all when left out."""
    no_compile: bool = False
    """Leave out torch.compile (section a) and the compilation of every method's step (section e): minutes on a GPU."""
    repeats: int | None = None
    """Rounds of timing; the least and the median of them are reported. 7 when left out, 3 with --quick."""
    quick: bool = False
    """Small sizes, to see in a minute that everything runs; its numbers mean little."""
    out: Path = Path("runs/bench")
    """Folder for bench.json and bench.md."""
    quiet: bool = False
    """Print errors only."""
    debug: bool = False
    """Show Python tracebacks."""


def bench_command(args: list[str]) -> int:

    options = parse(
        BenchOptions,
        prog="airbayes bench",
        description="Time airbayes beside its peers in one process, interleaved. Peers that are not installed (torch, "
        "blackjax, posteriors) are skipped with the reason. About ten minutes on 2 cores; see docs/performance.md.",
        args=args,
    )
    for name, section in (("methods", "b"), ("blocks", "d")):
        if getattr(options, name) and options.only and section not in options.only:
            raise AirbayesError(
                f"--{name} chooses in section {section}, which --only {' '.join(options.only)} leaves out. "
                f"Add {section} to --only, or leave out --{name}."
            )
    if str(options.out) in ("", "."):
        raise AirbayesError("--out is empty; name a folder for the results, for example --out runs/bench.")
    # JAX reads these once, at start. It would take most of a GPU's memory at once and leave little to the peers, and a
    # cache of compiled programs would hide the compile time.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    console, progress = make_console(options.quiet), make_console(options.quiet, stderr=True)
    progress.print("Loading JAX ...")
    from airbayes.bench.sizes import Sizes, quick_sizes
    from airbayes.bench.suite import JSON, PAGE, SECTIONS, TITLES, run_suite
    from airbayes.bench.table import show_tables

    sizes = quick_sizes() if options.quick else Sizes()
    if options.repeats is not None:
        sizes = dataclasses.replace(sizes, effort=dataclasses.replace(sizes.effort, repeats=options.repeats))
    if options.no_compile:
        sizes = dataclasses.replace(sizes, compile_peers=False, compile_steps=False)
    sizes = dataclasses.replace(sizes, methods=options.methods or sizes.methods, blocks=options.blocks or sizes.blocks)
    settings = {
        "only": list(options.only),
        "methods": list(sizes.methods),
        "blocks": list(sizes.blocks),
        "repeats": sizes.effort.repeats,
        "quick": options.quick,
    }
    rows = run_suite(
        sizes, options.only or tuple(SECTIONS), options.out, lambda text: progress.print(text, markup=False), settings
    )
    for table in show_tables(rows, TITLES):
        console.print(table)
    skipped = sum(bool(row.skipped) for row in rows)
    console.print(
        f"{plural(len(rows), 'row')}, {skipped} skipped. Written to {options.out}: {JSON}, {PAGE}", markup=False
    )
    return 0
