"""The network as drawn on paper: who hears whom, with which weight, and how loud everyone may send."""

import math

import numpy as np

from airbayes.network import Graph
from airbayes.report.html.cells import mean
from airbayes.report.html.numbers import decibels, short, shorts
from airbayes.report.html.parts import Control, Figure, Panel, Section
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import label
from airbayes.text import plural

MAX_AGENTS, MAX_LINKS = 150, 1200  # more is a black disc
MAX_GRAPHS = 12


def network_section(run: Run) -> Section | None:
    names = list(dict.fromkeys(name for name in run.topologies if "@" not in name)) or run.topologies[:1]
    drawn = {name: panel for name in names[:MAX_GRAPHS] if (panel := _drawing(run, name)) is not None}
    if not drawn:
        return None
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
        "Circles are agents, lines the radio links between them; each agent pulls towards its neighbours with the "
        "weight w written on the link. The ring of a circle shows the gain ρ at which the agent sends, on average "
        "after burn-in: a full ring, ρ = 1, is all it wants, a part of it all that its power allows."
    )
    notes = [note for note in (each.strip() if controls else "",) if note]
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


def _layout(graph: Graph) -> np.ndarray:
    """Points in [−1, 1]²: where the agents are, else a hub amid its leaves, a circle, or a spring layout."""
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
