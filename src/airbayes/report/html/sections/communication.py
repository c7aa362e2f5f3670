"""What over-the-air sending saves: bits, channel uses and energy of one exchange of models.

Over the air all N agents send m numbers at once in m channel uses; digital links exchange whole models in many more.
"""

import math

import numpy as np

from airbayes.experiment.scenario import graph_name
from airbayes.experiment.whole_models import uses_at_once, uses_in_turn
from airbayes.network import Graph
from airbayes.report.html.cells import mean
from airbayes.report.html.curves import MAX_COLUMNS
from airbayes.report.html.numbers import count, decibels, decimals, shorts, value_range
from airbayes.report.html.parts import Cell, Entry, Figure, Panel, Section, Table
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import is_radio
from airbayes.report.style import short as short_name

AIR, TOGETHER, IN_TURN = "air", "together", "turn"
ENTRIES = (
    Entry(AIR, "over the air", "cd_dsgld:common"),
    Entry(TOGETHER, "digital, all at once", "q_dsgd"),
    Entry(IN_TURN, "digital, one after the other", "dsgd"),
)


AS_PRINTED = (
    " All at once, the SINR is the paper's, P/(deg·P + N0), which counts the wanted signal as interference, too; "
    "--digital.interferers others leaves it out, and fewer uses are saved then."
)
NO_ENERGY = " No CD-DSGLD run ended well here, so that curve is missing."


def communication_section(run: Run) -> Section | None:
    params = run.num_params
    graphs = [
        (name, graph) for name in run.topologies if graph_name(name) == name and (graph := run.graph(name)) is not None
    ]
    if params is None or not run.snrs or not graphs:
        return None
    many, graphs = len(graphs), graphs[:MAX_COLUMNS]
    panels = [_panel(run, name, graph, params, energy) for energy in (False, True) for name, graph in graphs]
    for energy in (False, True):
        row = [panel for panel in panels if panel["energy"] == energy]
        numbers = [value for panel in row for series in panel["series"] for value in series["y"]]
        for panel in row:
            panel["y"]["range"] = value_range(numbers, log=True)
    shown = {key for panel in panels for series in panel["series"] for key in series["keys"]}
    legend = tuple(entry for entry in ENTRIES if entry.key in shown)
    figure = Figure(
        "Channel uses and energy of one exchange of whole models", {"": panels}, max(2, len(graphs)), legend=legend
    )
    return Section(
        "communication",
        "What over-the-air sending saves",
        "Over the air all agents send at the same time and the channel adds them up, so one exchange of models "
        "costs as many channel uses as the model has parameters, however many agents there are. Digital links must "
        "either share the channel, each being noise to the others, or wait for their turn; the figure shows what a "
        f"whole model, {run.config.digital.value_bits} bits a parameter, would cost them.",
        (figure,),
        (_table(run, params, graphs),),
        notes=(
            "Q-DSGD does not send whole models: it fits the largest entries into the same channel uses as over the air "
            "(table). Energy: power × channel uses of one agent, with the power limit as unit; over the air it is what "
            "was really used, on average after burn-in."
            + (AS_PRINTED if run.config.digital.interferers == "all" else "")
            + ("" if any(s["keys"] == [AIR] for p in panels if p["energy"] for s in p["series"]) else NO_ENERGY)
            + ("" if many <= MAX_COLUMNS else f" The first {MAX_COLUMNS} of {many} graphs."),
        ),
    )


def _panel(run: Run, name: str, graph: Graph, params: int, energy: bool) -> Panel:
    digital = run.config.digital
    agents = graph.num_agents
    values: dict[str, np.ndarray] = {
        TOGETHER: np.array([uses_at_once(params, snr, graph.degrees, digital) for snr in run.snrs]),
        IN_TURN: np.array([uses_in_turn(params, snr, agents, digital) / (agents if energy else 1) for snr in run.snrs]),
    }
    policy = next((v for v in ("cd_dsgld:common", "cd_dsgld:optimal", "cd_dsgld:truncated") if v in run.variants), None)
    if not energy:
        values[AIR] = np.full(len(run.snrs), float(params))
    elif policy is not None and "power_used_mean" in run.dataset and (cells := run.cells(policy, name)) is not None:
        values[AIR] = params * mean(cells.ok("power_used_mean"), 1)
    title = "Energy of one agent (P × uses)" if energy else "Channel uses"
    margin = 0.04 * (run.snrs[-1] - run.snrs[0]) or 1.0
    return {
        "type": "lines",
        "energy": energy,
        "title": f"{title} · {show_topology(name)}",
        "x": {"label": "SNR (dB)", "range": [run.snrs[0] - margin, run.snrs[-1] + margin]},
        "y": {"label": title, "log": True},
        "series": [
            {
                "keys": [entry.key],
                "method": entry.method,
                "name": entry.name,
                "x": run.snrs,
                "y": shorts(values[entry.key]),
            }
            for entry in ENTRIES
            if entry.key in values
        ],
    }


def _table(run: Run, params: int, graphs: list[tuple[str, Graph]]) -> Table:
    """What the schemes of this run really sent, at the lowest and the highest SNR."""
    steps, agents, digital = run.config.sampling.steps, run.config.network.agents, run.config.digital
    rows = []
    ends = list(dict.fromkeys((run.snrs[0], run.snrs[-1])))
    for name, graph in graphs:
        for snr in ends:
            together = uses_at_once(params, snr, graph.degrees, digital)
            turn = uses_in_turn(params, snr, graph.num_agents, digital)
            for variant in run.variants:
                cells = run.cells(variant, name, snr)
                if cells is None or not is_radio(variant):
                    continue
                analog = variant.startswith("cd_")
                kept, bits = (float(params), math.nan) if analog else (cells.mean("kept_mean"), cells.mean("bits_mean"))
                used = cells.mean("power_used_mean") if analog else 1.0
                saved = f"{together / params:,.1f} / {turn / params:,.0f} times" if analog else "–"
                rows.append(
                    (
                        show_topology(name),
                        decibels(snr),
                        Cell(short_name(variant), variant),
                        f"{count(kept)} ({100 * kept / params:.3g} %)" if math.isfinite(kept) else "–",
                        "analog" if analog else decimals(bits),
                        decimals(float(steps) * params),
                        "–" if analog else decimals(bits * steps * agents),
                        decimals(used * params * steps),
                        saved,
                    )
                )
    head = (
        "graph",
        "SNR",
        "scheme",
        "parameters sent a block",
        "bits a message",
        "channel uses, whole run",
        "bits, whole run, all agents",
        "energy of an agent, whole run (P × uses)",
        "channel uses saved against whole models sent digitally, all at once / in turn",
    )
    return Table("What was sent", head, tuple(rows), words=(0, 1, 2))
