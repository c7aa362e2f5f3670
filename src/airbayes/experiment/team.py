"""Several processes that run one network together: what the first one tells the others, and what all agree on.

Every function here is collective: all processes call it, in the same order. The first process alone reads and writes
the results folder, so the others need no access to it. When a process is lost, the next collective raises in the rest.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from airbayes.experiment.cells import Cell
from airbayes.experiment.journal import Journal, SavedState, Stopped
from airbayes.experiment.results import CellResult
from airbayes.experiment.sharding import collect

BLOCK = 4 * 2**20  # bytes told at a time
MOST_HEARD = 1000  # bytes of what a process says


def is_first() -> bool:
    return jax.process_index() == 0


def tell_all(value: Any = None) -> Any:
    """What the first process hands in, on all of them; anything JSON can write."""
    text = np.frombuffer(json.dumps(value).encode(), np.uint8)
    length = int(_broadcast(np.array([len(text)], np.int32))[0])
    return json.loads(_tell_bytes(text if is_first() else np.zeros(length, np.uint8)).tobytes())


def tell_arrays(arrays: Sequence[np.ndarray] = ()) -> list[np.ndarray]:
    """The arrays of the first process, on all of them, bit for bit."""
    about = tell_all([(array.shape, array.dtype.str) for array in arrays])
    told = []
    for index, (shape, dtype) in enumerate(about):
        mine = np.ascontiguousarray(arrays[index]) if is_first() else np.empty(shape, dtype)
        raw = _tell_bytes(mine.reshape(-1).view(np.uint8))
        told.append(raw.view(dtype).reshape(shape))
    return told


def hear_all(text: str) -> list[str]:
    """What every process says, up to a length."""
    from jax.experimental import multihost_utils

    mine = np.zeros(MOST_HEARD, np.uint8)
    words = text.encode()[:MOST_HEARD]
    mine[: len(words)] = np.frombuffer(words, np.uint8)
    heard = np.asarray(multihost_utils.process_allgather(mine)).reshape(-1, MOST_HEARD)
    return [bytes(row).rstrip(b"\0").decode(errors="replace") for row in heard]


def agree_to_stop(reason: str | None, save: bool) -> tuple[str | None, bool]:
    """The reason of the first process that has one, and whether the first process wants the state saved."""
    said = hear_all(("save " if save else "keep ") + (reason or ""))
    reasons = [text[5:] for text in said]
    return next((text for text in reasons if text), None), said[0].startswith("save")


def wait_for_all() -> None:
    """Until every process is here."""
    hear_all("")


def _tell_bytes(raw: np.ndarray) -> np.ndarray:
    """Block by block; blocks are padded to powers of two, so that few programs are compiled."""
    told = np.empty(len(raw), np.uint8)
    for begin in range(0, len(raw), BLOCK):
        part = raw[begin : begin + BLOCK]
        padded = np.zeros(1 << (len(part) - 1).bit_length(), np.uint8)
        padded[: len(part)] = part
        told[begin : begin + len(part)] = _broadcast(padded)[: len(part)]
    return told


def _broadcast(array: np.ndarray) -> np.ndarray:
    from jax.experimental import multihost_utils

    return np.asarray(multihost_utils.broadcast_one_to_all(array))


class TeamJournal:
    """A journal that the first process keeps for all: the others hear what it found and take part in saving."""

    def __init__(self, own: Journal):
        self.own = own  # of the others, only `stop` is used

    @property
    def folder(self) -> Path:
        return self.own.folder

    def tell(self, text: str) -> None:
        if is_first():
            self.own.tell(text)

    def finished(self, cells: list[Cell]) -> list[CellResult] | None:
        """Results on the first process, an empty list on the others; None on all where there are none."""
        found = self.own.finished(cells) if is_first() else []
        return found if tell_all(found is not None) else None

    def finish(self, cells: list[Cell], results: list[CellResult]) -> None:
        if is_first():
            self.own.finish(cells, results)

    def latest(self, cells: list[Cell]) -> SavedState | None:
        """The state on all processes; snapshots on the first."""
        saved = self.own.latest(cells) if is_first() else None
        step = tell_all(None if saved is None else saved.step)
        if step is None:
            return None
        leaves = tell_arrays(saved.leaves if saved is not None else ())
        return SavedState(step, leaves, saved.snapshots if saved is not None else [])

    def check(self) -> None:
        reason, _ = agree_to_stop(self.own.stop(), False)
        if reason is not None:
            raise Stopped(reason)

    def after_chunk(self, cells: list[Cell], step: int, carry, snapshots: list[dict[str, np.ndarray]]) -> None:
        """All stop at the same step: whoever is asked to, stops all."""
        reason, due = agree_to_stop(self.own.stop(), self.own.is_due())
        if reason is None and not due:
            return
        whole = collect(carry)
        if whole is not None:
            self.own.save(cells, step, whole, snapshots)
        if reason is not None:
            raise Stopped(reason)


AnyJournal = Journal | TeamJournal
