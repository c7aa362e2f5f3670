"""The network as drawn on paper: who hears whom, with which weight, and how loud everyone may send."""

import math

import numpy as np

from airbayes.experiment.scenario import graph_name
from airbayes.network import Graph
from airbayes.network.known_spectra import grid_extremes
from airbayes.report.html.cells import mean
from airbayes.report.html.numbers import decibels, short, shorts
from airbayes.report.html.parts import Control, Figure, Panel, Section
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.html.sections.power import shrinks
from airbayes.report.style import label
from airbayes.text import plural

MAX_AGENTS, MAX_LINKS = 150, 1200  # more is a black disc
MAX_GRAPHS = 12
SHRUNK = (
    "A ring that is nearly full although the power is used up belongs to a model that has shrunk until it fits the "
    "limit (Power used against the limit)."
)


def network_section(run: Run) -> Section | None:
    names = list(dict.fromkeys(name for name in run.topologies if graph_name(name) == name)) or run.topologies[:1]
    drawn = {name: panel for name in names[:MAX_GRAPHS] if (panel := _drawing(run, name)) is not None}
    left_out = [words for name in names if (words := _too_large(run, name))]
    if len(names) > MAX_GRAPHS:
        left_out.append(f"Drawn are the first {MAX_GRAPHS} of {len(names)} graphs.")
    if not drawn:
        text = "Circles would be agents, lines the radio links between them."
        return Section("network", "The network", text, notes=tuple(left_out)) if left_out else None
    policies = [variant for variant in run.variants if variant.startswith("cd_")]
    snrs = run.snrs
    controls: tuple[Control, ...] = ()
    frames: dict[str, list[Panel]] = {"": list(drawn.values())}
    if policies and snrs and "rho_mean" in run.dataset:
        controls = (
            Control("Power policy", tuple(map(label, policies))),
            Control("SNR", tuple(map(decibels, snrs)), len(snrs) - 1, slider=True),
        )
        frames = {
            f"{i}|{j}": [panel | _gains(run, variant, name, snr) for name, panel in drawn.items()]
            for i, variant in enumerate(policies)
            for j, snr in enumerate(snrs)
        }
    each = (
        ""
        if "rho_mean_per_agent" in run.dataset
        else " All agents show one mean: this run stored no gain of its own for each."
    )
    text = (
        "Circles with a number are agents, lines the radio links between them; each agent pulls towards its neighbours "
        "with the weight w written above the drawing, and on the links where there is room."
    )
    if controls:
        text += (
            " The ring of a circle, and the number under it where there is room, show the gain ρ at which the agent "
            "sends, on average after burn-in: a full ring, ρ = 1, is all it wants, a part of it all that its power "
            "allows."
        )
        alone = ", ".join(control.options[0] for control in controls if len(control.options) == 1)  # no choice to read
        text += f" Here: {alone}." if alone else ""
    gains = [gain for panels in frames.values() for panel in panels for gain in panel.get("gain", ())]
    above = (
        "Optimal gains are above 1 where an agent with power to spare makes up for its neighbours."
        if any(gain is not None and gain > 1.005 for gain in gains)
        else ""
    )
    shrunk = SHRUNK if controls and shrinks(run) else ""
    notes = [note for note in (each.strip() if controls else "", shrunk, above, *left_out) if note]
    return Section(
        "network", "The network", text, (Figure("Graphs of the study", frames, 3, controls),), notes=tuple(notes)
    )


def _drawing(run: Run, topology: str) -> Panel | None:
    found = run.edge_weights(topology)
    if found is None:
        return None
    graph, weight = found
    if graph.num_agents > MAX_AGENTS or graph.num_edges > MAX_LINKS:
        return None
    places = _layout(graph)
    weights = np.broadcast_to(np.asarray(weight, np.float64), (graph.num_edges,))
    own = 1 - np.bincount(graph.edges.ravel(), np.repeat(weights, 2), graph.num_agents)
    one = isinstance(weight, float)
    facts = f"{plural(graph.num_agents, 'agent')}, {plural(graph.num_edges, 'link')}, " + (
        f"w = {weight:.3g} on each" if one else f"w from {weights.min():.3g} to {weights.max():.3g}"
    )
    return {
        "type": "network",
        "title": show_topology(topology),
        "facts": facts,
        "at": [shorts(point, 3) for point in places],
        "links": [[int(i), int(j), short(w, 3)] for (i, j), w in zip(graph.edges, weights, strict=True)],
        "own": shorts(own, 3),
    }


def _too_large(run: Run, topology: str) -> str:
    """Why a graph is not drawn; empty where it is."""
    found = run.edge_weights(topology)
    if found is None or (found[0].num_agents <= MAX_AGENTS and found[0].num_edges <= MAX_LINKS):
        return ""
    return (
        f"{show_topology(topology)} is not drawn: {found[0].num_agents:,} agents and {found[0].num_edges:,} links "
        f"could not be told apart (drawn are up to {MAX_AGENTS} and {MAX_LINKS:,})."
    )


def _walk(graph: Graph) -> list[int] | None:
    """The agents of a line from end to end; None for other graphs."""
    ends = np.flatnonzero(graph.degrees == 1)
    if len(ends) != 2 or graph.degrees.max() > 2 or graph.num_edges != graph.num_agents - 1:
        return None
    beside: dict[int, list[int]] = {agent: [] for agent in range(graph.num_agents)}
    for i, j in graph.edges.tolist():
        beside[i].append(j)
        beside[j].append(i)
    path = [int(ends[0])]
    while len(path) < graph.num_agents:
        following = [agent for agent in beside[path[-1]] if agent not in path[-2:]]
        if not following:  # it ends early: a line beside a ring
            return None
        path.append(following[0])
    return path


def _rows(graph: Graph) -> int | None:
    """The rows of a grid numbered row by row; None for other graphs."""
    if grid_extremes(graph) is None:
        return None
    return graph.num_agents // int(graph.edges[1, 1])


def _layout(graph: Graph) -> np.ndarray:
    """Points in [−1, 1]²: where the agents are, else a hub amid its leaves, a line, a grid, a circle, or springs."""
    count, degrees = graph.num_agents, graph.degrees
    angle = math.pi / 2 + 2 * math.pi * np.arange(count) / max(count, 1)
    if graph.positions is not None:
        places = np.asarray(graph.positions, np.float64)
    elif count == 1:
        return np.zeros((1, 2))
    elif count > 3 and degrees.max() == count - 1 and (np.delete(degrees, degrees.argmax()) == 1).all():
        hub = int(degrees.argmax())
        places = np.zeros((count, 2))
        around = math.pi / 2 + 2 * math.pi * np.arange(count - 1) / (count - 1)
        places[np.arange(count) != hub] = np.column_stack([np.cos(around), np.sin(around)])
        return places
    elif (path := _walk(graph)) is not None:
        places = np.zeros((count, 2))
        places[path, 0] = np.linspace(-1, 1, count)
        return places
    elif (rows := _rows(graph)) is not None:
        across, down = np.arange(count) % (count // rows), np.arange(count) // (count // rows)
        longest = max(rows, count // rows) - 1
        return np.column_stack([2 * across - across.max(), down.max() - 2 * down]) / longest
    elif count <= 12 or (degrees == 2).all() or degrees.min() == count - 1:
        return np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        import networkx as nx

        drawn = nx.Graph()
        drawn.add_nodes_from(range(count))
        drawn.add_edges_from(graph.edges.tolist())
        found = nx.kamada_kawai_layout(drawn) if count <= 60 else nx.spring_layout(drawn, seed=0)
        places = np.array([found[agent] for agent in range(count)])
    low, high = places.min(axis=0), places.max(axis=0)
    return 2 * (places - low) / np.where(high > low, high - low, 1) - 1


def _gains(run: Run, variant: str, topology: str, snr: float) -> Panel:
    cells = run.cells(variant, topology, snr)
    if cells is None:
        return {}
    own = "rho_mean_per_agent"
    if own in cells and run.dataset.sizes["agent"] == run.config.network.agents:
        gains = mean(cells.ok(own), 0)
    else:
        gains = np.full(run.config.network.agents, cells.mean("rho_mean"))
    if not np.isfinite(gains).any():
        return {"lost": "Every seed diverged here."}
    return {"gain": shorts(gains, 3), "method": variant}
