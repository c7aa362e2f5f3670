"""The SNR of every link, from where the agents stand and what they transmit with."""

import csv
import dataclasses
import math
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float

from airbayes.channel.link_budget import LIGHT, free_space_loss_db, log_distance_loss_db, noise_dbm, received_snr_db
from airbayes.errors import AirbayesError, GraphError
from airbayes.network import Graph
from airbayes.text import plural

MAX_BYTES = 100_000_000


@dataclasses.dataclass(frozen=True)
class Radio:
    """What a link budget needs besides distances."""

    tx_dbm: float = 20.0
    bandwidth_hz: float = 1e6
    noise_figure_db: float = 7.0
    carrier_hz: float = 2.4e9
    antenna_gain_db: float = 0.0  # of both antennas together
    path_loss: Literal["free-space", "log-distance"] = "free-space"
    exponent: float = 3.0  # n of log-distance
    reference_m: float = 1.0  # d₀ of log-distance


@dataclasses.dataclass(frozen=True)
class LinkBudget:
    """The links of a graph: one number each."""

    distance_m: Float[np.ndarray, " link"]
    loss_db: Float[np.ndarray, " link"]
    snr_db: Float[np.ndarray, " link"]
    noise_dbm: float

    @property
    def weakest(self) -> int:
        return int(np.argmin(self.snr_db))


def link_budget(distances_m: Float[np.ndarray, " link"], radio: Radio) -> LinkBudget:
    if radio.path_loss == "log-distance":
        loss = log_distance_loss_db(distances_m, radio.carrier_hz, radio.exponent, radio.reference_m)
    else:
        loss = free_space_loss_db(distances_m, radio.carrier_hz)
    if (loss < 0).any():
        near, gain = distances_m[np.argmin(loss)], -loss.min()
        raise AirbayesError(
            f"A link of {near:.3g} m at {radio.carrier_hz:.3g} Hz would gain {gain:.1f} dB: path loss holds in the far "
            f"field only, beyond {LIGHT / (4 * math.pi * radio.carrier_hz):.2g} m. Move the agents apart."
        )
    noise = noise_dbm(radio.bandwidth_hz, radio.noise_figure_db)
    return LinkBudget(distances_m, loss, received_snr_db(radio.tx_dbm, loss, noise, radio.antenna_gain_db), noise)


def link_distances(
    graph: Graph, positions_m: Float[np.ndarray, "agent dim"], name: str = "the graph", source: str = "positions"
) -> Float[np.ndarray, " link"]:
    """Of every edge, in metres. name, source: of the graph and of its positions, for messages."""
    there, agents = len(positions_m), graph.num_agents
    if there != agents:
        first, last = min(there, agents), max(there, agents) - 1
        which = f"agent {first}" if first == last else f"agents {first} to {last}"
        raise GraphError(
            f"{source} has {plural(there, 'position')} and {name} {plural(agents, 'agent')}, counted from 0; "
            f"{'add' if there < agents else 'drop'} {which}."
        )
    i, j = graph.edges.T
    distances = np.linalg.norm(positions_m[i] - positions_m[j], axis=1)
    if not distances.all():
        a, b = graph.edges[np.argmin(distances)]
        raise GraphError(f"Agents {a} and {b} are linked and stand in the same place; move one of them.")
    return distances


def read_positions(path: Path) -> Float[np.ndarray, "agent dim"]:
    """A CSV file `agent,x,y` (or `agent,x,y,z`) in metres, agents 0 to N−1 in any order; # comments and a header."""
    found: dict[int, list[float]] = {}
    try:
        if path.exists() and not path.is_file():  # a pipe might never end
            raise GraphError(f"Cannot read the positions {path}: it is not a file.")
        if path.stat().st_size > MAX_BYTES:
            raise GraphError(f"{path} has more than {MAX_BYTES:,} bytes.")
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            for number, fields in enumerate(csv.reader(lines), start=1):
                text = ",".join(fields).split("#", 1)[0].strip()
                if not text or (not found and text.lower().startswith("agent")):
                    continue
                agent, place = _position(path, number, text)
                if agent in found:
                    raise GraphError(f"{path}, line {number}: agent {agent} has a position already.")
                found[agent] = place
    except (OSError, ValueError, csv.Error) as error:  # ValueError: a name that no file can have
        raise GraphError(f"Cannot read the positions {path}: {getattr(error, 'strerror', None) or error}.") from None
    missing = sorted(set(range(len(found))) - set(found))
    if missing or not found:
        raise GraphError(f"{path}: no position of agent {missing[0] if missing else 0}; agents are 0 to N−1.")
    if len({len(place) for place in found.values()}) > 1:
        raise GraphError(f"{path}: some positions have two coordinates and some three.")
    return np.array([found[agent] for agent in range(len(found))])


def _position(path: Path, number: int, text: str) -> tuple[int, list[float]]:
    try:
        agent, *place = text.split(",")
        numbers = [float(value) for value in place]
        if len(numbers) not in (2, 3) or not all(map(math.isfinite, numbers)):
            raise ValueError
        return int(agent), numbers
    except ValueError:
        raise GraphError(f"{path}, line {number}: expected agent,x,y in metres, found {text[:60]!r}.") from None
