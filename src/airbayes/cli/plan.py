"""`airbayes plan`: what will the radio do to each scheme? Answered before anything is trained."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from airbayes.cli.arguments import parse
from airbayes.cli.plan_facts import make_plan
from airbayes.cli.plan_ranges import option_name, out_of_range
from airbayes.cli.progress import make_console
from airbayes.errors import AirbayesError, ConfigError
from airbayes.folders import check_writable, make_folder

if TYPE_CHECKING:
    from airbayes.experiment.plan import GraphPlan, PointPlan

JSON, PICTURE = "plan.json", "plan"


@dataclasses.dataclass(frozen=True)
class PlanOptions:
    agents: int = 5
    """N, number of agents of named graphs; an edge list has its own."""
    weights: Literal["best-constant", "max-degree"] = "best-constant"
    """w, one mixing weight for all links."""
    graph_seed: int = 0
    """Seed of random graphs."""
    snr_db: tuple[float, ...] | None = None
    """SNR = P/N0 in dB, one or more; 0 to 30 when neither this nor a distance is given."""
    eta: float = 1e-4
    """η, step size."""
    params: int = 40_855
    """m, parameters of the model; one channel use each."""
    rms: float = 1.0
    """rms(θ) expected in the long run; 1 under a prior N(0, 1)."""
    start_rms: float = 0.12
    """rms(θ⁰), of the model when training begins; 0.12 is that of the PointNet."""
    value_bits: int = 10
    """N_b, bits per value of Q-DSGD."""
    bandwidth_hz: float = 1e6
    """B, bandwidth: channel uses per second, and the noise of a link budget."""
    tx_dbm: float = 20.0
    """Transmit power of an agent in dBm."""
    distance_m: float | None = None
    """Length of every link in metres: SNR from a link budget."""
    geometry: Path | None = None
    """CSV file agent,x,y in metres: SNR of every link from a link budget."""
    side_m: float | None = None
    """Metres that are 1 in the positions of a random_geometric graph: as --geometry."""
    carrier_hz: float = 2.4e9
    """Carrier frequency in hertz."""
    noise_figure_db: float = 7.0
    """Noise figure of a receiver in dB."""
    antenna_gain_db: float = 0.0
    """Gain of both antennas together in dB."""
    path_loss: Literal["free-space", "log-distance"] = "free-space"
    """How power falls with distance."""
    exponent: float = 3.0
    """n of path_loss = log-distance."""
    out: Path | None = None
    """Folder for plan.json, plan.png and plan.svg; nothing is written when left out."""
    json: bool = False
    """Print the plan as JSON instead of tables."""
    debug: bool = False
    """Show Python tracebacks."""


def plan_command(args: list[str]) -> int:
    import tyro

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        graphs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[GRAPH ...]")] = (
            "full",
            "star",
            "ring",
        )
        """Graphs: full, star, ring, line, grid, random_geometric, erdos_renyi, small_world, or CSV edge lists."""
        options: Annotated[PlanOptions, tyro.conf.arg(name="")] = PlanOptions()

    given = parse(
        Arguments,
        prog="airbayes plan",
        description="Predict, before any training, which scheme works over a radio network: mixing, power limit, "
        "regimes, and channel uses, bits, latency and energy of an iteration. What it assumes: docs/plan.md.",
        args=args,
    )
    options = given.options
    _check(given.graphs, options, typed_options(args))
    with make_console(stderr=True).status("planning ..."):  # millions of links take a while
        graphs, points, budgets, facts = make_plan(given.graphs, options)
    if options.json:
        make_console().out(json.dumps(facts, indent=1, allow_nan=False), highlight=False)
    else:
        from airbayes.cli.plan_tables import print_plan

        print_plan(graphs, points, budgets, options, make_console())
    if options.out is not None:
        _write(options.out, graphs, points, options, facts)
        if not options.json:
            make_console().print(f"Written to {options.out}: {JSON}, {PICTURE}.png, {PICTURE}.svg", markup=False)
    return 0


def typed_options(args: list[str]) -> set[str]:
    """Names of the options among the words of a command, whatever their value: also a default can be asked for."""
    return {word[2:].partition("=")[0].replace("-", "_") for word in args if word.startswith("--")}


def _check(graphs: tuple[str, ...], options: PlanOptions, typed: set[str]) -> None:
    ways = {
        "--snr-db": options.snr_db is not None,
        "--distance-m": options.distance_m is not None,
        "--geometry": options.geometry is not None,
        "--side-m": options.side_m is not None,
    }
    if options.snr_db == ():
        raise ConfigError("--snr-db needs a value, for example --snr-db 10 20; leave it out for 0 to 30 dB.")
    given = [name for name, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} each say what the SNR is; give one of them.")
    has_budget = bool(given) and options.snr_db is None
    problems = out_of_range(options) or _without_effect(graphs, options, typed, has_budget=has_budget)
    if problems:
        raise ConfigError("\n".join(problems))
    if options.out is not None and str(options.out) in ("", "."):
        raise AirbayesError("--out is empty; name a folder for the plan, for example --out runs/plan.")
    if options.out is not None:
        check_writable(options.out)


RANDOM = ("random_geometric", "erdos_renyi", "small_world")
BUDGET_ONLY = ("carrier_hz", "noise_figure_db", "antenna_gain_db", "path_loss", "exponent")


def _without_effect(graphs: tuple[str, ...], options: PlanOptions, typed: set[str], *, has_budget: bool) -> list[str]:
    """A number that changes nothing would be read as one that was taken into account."""
    named = [name for name in graphs if not name.endswith(".csv")]
    for option, used in (("agents", named), ("graph_seed", [name for name in named if name in RANDOM])):
        value = getattr(options, option)
        if option in typed and not used:
            kind = "random graphs" if option == "graph_seed" else "named graphs; an edge list has its own"
            return [
                f"{option_name(option)} {value}: without effect on {', '.join(graphs)}, only on {kind}. Leave it out."
            ]
    asked = [name for name in BUDGET_ONLY if name in typed]
    if asked and not has_budget:
        names = ", ".join(map(option_name, asked))
        return [f"{names}: without effect, since no distance is given. Add --distance-m, --geometry or --side-m."]
    if "exponent" in asked and options.path_loss != "log-distance":
        return [f"--exponent {options.exponent:g}: without effect on free space. Add --path-loss log-distance."]
    return []


def _write(
    folder: Path, graphs: "list[GraphPlan]", points: "list[PointPlan]", options: PlanOptions, facts: dict
) -> None:
    from airbayes.files import write_atomically, write_text
    from airbayes.report.plan_figure import plan_figure

    make_folder(folder)
    figure = plan_figure(graphs, points, options.eta, options.rms, options.start_rms)
    for ending in ("png", "svg"):
        write_atomically(
            folder / f"{PICTURE}.{ending}", lambda path, ending=ending: figure.savefig(path, dpi=150, format=ending)
        )
    write_text(folder / JSON, json.dumps(facts, indent=1, allow_nan=False) + "\n")
