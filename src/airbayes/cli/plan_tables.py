"""The tables of `airbayes plan`, and what they take for granted."""

import math
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airbayes.cli.fitted_table import print_fitted
from airbayes.experiment.plan import COLLAPSE, COLLAPSE_MARGIN, EXACT, SILENT, GraphPlan, PointPlan
from airbayes.experiment.plan_links import LinkBudget
from airbayes.text import plural, true_minus

if TYPE_CHECKING:
    from airbayes.cli.plan import PlanOptions

STYLES = {EXACT: "green", COLLAPSE: "bold red", SILENT: "bold red"}


def print_plan(
    graphs: list[GraphPlan],
    points: list[PointPlan],
    budgets: dict[str, LinkBudget],
    options: "PlanOptions",
    console: Console,
) -> None:
    print_graphs(graphs, options.rms, console)
    console.print()
    for name, budget in budgets.items():
        _print_budget(name, budget, console)
        console.print()
    _print_regimes(points, options, console)
    console.print()
    _print_costs(points, options, console)
    console.print()
    console.print(
        "Assumed: agents hear while they send, in time and phase; every link has the gain of the weakest one, for one "
        "signal cannot be pre-compensated for each neighbour; no fading. See docs/plan.md."
    )


def print_graphs(graphs: list[GraphPlan], rms: float, console: Console) -> None:
    """Mixing, and where the power limit begins to bite."""
    unit = "transition, rms(θ) = 1"
    table = Table(
        "graph",
        "agents",
        "degrees",
        "weight w",
        "least self weight",
        "2nd |eigenvalue|",
        "gap",
        unit,
        *([] if rms == 1 else [f"transition, rms(θ) = {rms:.2f}"]),
        title="Mixing, and the power limit: above the transition SNR a typical θ is sent at full gain",
    )
    for plan in graphs:
        degrees = from_to(plan.min_degree, plan.max_degree)
        if math.isnan(plan.edge_weight):
            table.add_row(plan.name, f"{plan.agents:,}", degrees, "per link", "", "", "", "needs one weight")
            continue
        table.add_row(
            plan.name,
            f"{plan.agents:,}",
            degrees,
            weight_text(plan.edge_weight),
            true_minus(f"{plan.least_self_weight:z.3f}"),
            eigenvalue_text(plan.second_eigenvalue),
            f"{plan.spectral_gap:.3g}",
            decibels(plan.transition_unit_db),
            *([] if rms == 1 else [decibels(plan.transition_db)]),
        )
    print_fitted(table, console, ("gap", *([] if rms == 1 else [unit]), "least self weight", "degrees"))


def weight_text(weight: float) -> str:
    """Four decimals, or, of a hub with many neighbours, three digits."""
    return f"{weight:.4f}" if weight >= 0.001 else f"{weight:.3g}"


def eigenvalue_text(value: float) -> str:
    """Three decimals; of what only rounds to 1, how far it is from it."""
    text = f"{value:.3f}"
    return f"1−{1 - value:.2g}" if value < 1 and text == "1.000" else text


def decibels(value: float, digits: int = 1) -> str:
    return true_minus(f"{value:.{digits}f} dB")


def _print_budget(name: str, budget: LinkBudget, console: Console) -> None:
    noise = true_minus(f"{budget.noise_dbm:.1f} dBm")
    table = Table("link", "distance", "path loss", "SNR", title=f"{name}: link budget, noise {noise}")
    order = np.argsort(budget.snr_db)
    named = {"weakest": order[0], "median": order[len(order) // 2], "strongest": order[-1]}
    for which, index in named.items():
        metres = budget.distance_m[index]
        distance = f"{metres:,.1f} m" if metres >= 10 else f"{metres:.3g} m"
        table.add_row(which, distance, decibels(float(budget.loss_db[index])), decibels(float(budget.snr_db[index])))
    print_fitted(table, console)


def _print_regimes(points: list[PointPlan], options: "PlanOptions", console: Console) -> None:
    table = Table(
        "graph",
        "SNR",
        "norm cap",
        "gain ρ",
        "paper's gains",
        "common gain",
        title="Predicted regimes of CD-DSGLD",
    )
    digital = Table(
        "graph",
        "SNR",
        "Q-DSGD",
        "t",
        "γ",
        title=f"Q-DSGD keeps t of {plural(options.params, 'coordinate')}; γ: consensus step",
    )
    for point in points:
        slower = f"{point.common}, {eigenvalue_text(point.common_second_eigenvalue)}"
        common = EXACT if point.common == EXACT else slower
        table.add_row(
            point.graph,
            true_minus(f"{point.snr_db:.4g} dB"),
            f"{point.cap:.3g}",
            f"{point.gain:.3g}",
            _coloured(point.paper, point.paper),
            _coloured(common, point.common),
        )
        digital.add_row(
            point.graph,
            true_minus(f"{point.snr_db:.4g} dB"),
            _coloured(point.q_dsgd, point.q_dsgd),
            from_to(*point.top_t),
            f"{point.consensus_step:.2g}",
        )
    print_fitted(table, console)
    console.print(
        f"exact: the law of DSGLD, for rms(θ) up to the cap. collapse: the cap is at most {COLLAPSE_MARGIN} times "
        f"rms(θ⁰) = {options.start_rms:g}, and θ shrinks to it; a rule from PointNets. slower mixing: 2nd |eigenvalue| "
        "with edge weight ρw.\n"
    )
    print_fitted(digital, console)
    console.print("silent: some agent cannot send one coordinate; γ = min t/m is then 0, and all agents learn alone.")


def _print_costs(points: list[PointPlan], options: "PlanOptions", console: Console) -> None:
    block = points[0].over_the_air
    radio = f"{true_minus(f'{options.tx_dbm:g}')} dBm an agent, {si(options.bandwidth_hz, 'Hz')}"
    uses = f"{plural(int(block.uses), 'channel use')}, {si(block.latency_s, 's')}"
    title = f"One iteration at {radio}: all at once in {uses}; or one by one"
    one_by_one = ("one by one: uses", "one by one: latency", "one by one: energy")
    table = Table("graph", "SNR", "CD-DSGLD: energy", "Q-DSGD: bits", "Q-DSGD: energy", *one_by_one, title=title)
    for point in points:
        slow = point.one_by_one
        table.add_row(
            point.graph,
            true_minus(f"{point.snr_db:.4g} dB"),
            si(point.over_the_air.energy_j, "J"),
            si(point.q_dsgd_cost.bits, "bit"),
            si(point.q_dsgd_cost.energy_j, "J"),
            f"{slow.uses:,.0f}",
            si(slow.latency_s, "s"),
            si(slow.energy_j, "J"),
        )
    print_fitted(table, console, ("Q-DSGD: energy", one_by_one[0]))  # the first is one number in all rows
    console.print(
        "Of the whole network, radiated. One by one: digital, whole models, every parameter at "
        f"{plural(options.value_bits, 'bit')}, each agent in turn at the capacity of a link without interference."
    )


def from_to(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _coloured(words: str, status: str) -> Text:
    return Text(words, style=STYLES.get(status, ""))


def si(value: float, unit: str) -> str:
    """Three digits and a prefix: 0.0041 s is 4.09 ms."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {unit}"
    rounded = float(f"{value:.3g}")  # before the prefix is chosen: 0.9996 s is 1 s, not 1e+03 ms
    power = min(max(math.floor(math.log10(abs(rounded)) / 3), -4), 4)
    return f"{value / 1000.0**power:.3g} {'pnµm kMGT'[power + 4].strip()}{unit}"
