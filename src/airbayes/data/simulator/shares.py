"""Many objects on all cores: every other process draws its share of them, and the shares are put in order again.

An object depends on its own stream alone, so the set is the same, byte for byte, however many processes drew it. They
are plain processes of `python -m airbayes.data.simulator.shares`: a fork would copy the threads of JAX, and
multiprocessing's other ways run the script of whoever calls this once more.
"""

import contextlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np

from airbayes.data.objects import ObjectSet, concatenate, from_clouds
from airbayes.data.simulator.config import CLASSES, SimulatorConfig
from airbayes.data.simulator.draw_object import draw_object

WORTH_A_PROCESS = 300  # objects: a process starts in about a second, in which it would draw this many
Wanted = tuple[str, int, int]  # split, class, index


def draw(config: SimulatorConfig, wanted: list[Wanted], seed: int, processes: int | None = None) -> ObjectSet:
    """The views of the wanted objects, in their order; by default in as many processes as are worth starting."""
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = processes or max(1, min(most, len(wanted) * config.views // WORTH_A_PROCESS))
    shares = [wanted[first::count] for first in range(count)]
    with contextlib.ExitStack() as stack:
        helpers = [stack.enter_context(_start(config, share, seed)) for share in shares[1:]]
        for helper in helpers:
            stack.callback(helper.kill)
        drawn = [draw_here(config, shares[0], seed)]
        for share, helper in zip(shares[1:], helpers, strict=True):
            drawn.append(_result(helper) or draw_here(config, share, seed))
    if count == 1:
        return drawn[0]
    owner = np.concatenate([np.arange(len(wanted))[first::count] for first in range(count)])
    return concatenate(drawn).select(np.argsort(np.repeat(owner, config.views), kind="stable"))


def draw_here(config: SimulatorConfig, wanted: list[Wanted], seed: int) -> ObjectSet:
    drawn = [
        (split, label, index, frame, view)
        for split, label, index in wanted
        for frame, view in enumerate(draw_object(config, split, label, index, seed))
    ]
    views = [view for *_, view in drawn]
    boxes = np.array([view.box for view in views]).reshape(-1, 7)
    return from_clouds(
        [np.round(view.points - view.box[:3], 3) for view in views],  # to the millimetre, as sensors report
        np.array([label for _, label, *_ in drawn], np.int16),
        CLASSES,
        intensity=[view.intensity for view in views],
        instance=[f"{seed}-{CLASSES[label]}-{index}" for _, label, index, *_ in drawn],
        scene=[split for split, *_ in drawn],
        frame=[frame for *_, frame, _ in drawn],
        range_m=np.linalg.norm(boxes[:, :3], axis=1),
        box=boxes,
        source="simulator",
    )


def _start(config: SimulatorConfig, share: list[Wanted], seed: int) -> "subprocess.Popen[bytes]":
    package = str(Path(__file__).parents[3])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    helper = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert helper.stdin is not None
    try:
        pickle.dump((config, share, seed), helper.stdin)
        helper.stdin.close()
    except OSError:  # it is gone already; its result will be missing
        pass
    return helper


def _result(helper: "subprocess.Popen[bytes]") -> ObjectSet | None:
    """What it drew; None where it failed: then its share is drawn here, and an error is that of this process.

    Pickles go to and come from a child of this process only, through its pipes.
    """
    assert helper.stdout is not None
    content = helper.stdout.read()
    return pickle.loads(content) if helper.wait() == 0 else None


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(draw_here(*pickle.load(sys.stdin.buffer))))
