"""The objects a model is surest and least sure about, as clouds of points one can turn.

Points of simulated objects go into the page; those of a set of the user's only if asked for, and only from the very
set of the run: another file of its name would show other objects as those that were tested.
"""

from pathlib import Path

import numpy as np

from airbayes.data import ObjectSet
from airbayes.errors import AirbayesError
from airbayes.experiment.lidar_data import SIMULATED
from airbayes.experiment.prediction_files import Part
from airbayes.experiment.run_source import SHA256, SIMULATOR, RunSource
from airbayes.experiment.sample_files import read_manifest
from airbayes.experiment.trained import TRUST
from airbayes.report.html.numbers import units_kept
from airbayes.report.html.parts import Control, Figure, Panel, Section
from airbayes.report.html.predicted import at_best_link, read_part, stored_cells
from airbayes.report.html.runs import Run, show_topology
from airbayes.report.style import label
from airbayes.text import percent, printable

EACH = 3  # objects of a kind
MAX_POINTS = 220  # of a cloud
MAX_CLASSES = 8  # shown beside it
NAME, TITLE = "objects", "What it is sure about, and what not"
NO_PREDICTIONS = "No test objects are drawn: this run stores no predictions of them."


def objects_section(run: Run) -> Section | None:
    simulated = run.config.lidar.source == SIMULATED
    wanted = simulated if run.objects is None else run.objects
    if run.config.problem.kind != "pointnet" or not wanted or not run.topologies:
        return None
    rows, frames, names = stored_cells(run), {}, []
    topology = "full" if "full" in run.topologies else run.topologies[0]
    source, objects = _source(run), dict[int, ObjectSet]()
    for variant in sorted(run.variants, key=lambda name: TRUST.index(name) if name in TRUST else len(TRUST)):
        found = at_best_link(rows, variant, topology)
        part = read_part(run, found[0]) if found else None
        if part is None:
            continue
        seed = found[0].seed
        try:
            objects[seed] = objects.get(seed) or source.objects(seed)
        except (AirbayesError, OSError):
            return Section(NAME, TITLE, _not_at_hand(run))
        panels = _panels(run, part, objects[seed], variant)
        if panels:
            frames[str(len(names))] = panels
            names.append(label(variant))
    if not frames:
        return Section(NAME, TITLE, NO_PREDICTIONS) if run.objects else None
    return Section(
        NAME,
        TITLE,
        "Test objects as the lidar sees them: those the model named rightly and is surest about, those it is "
        "surest about and wrong, and those it is least sure about. Drag a cloud, or use the arrow keys, to turn "
        "it; the bars are the probabilities the model gives, and the tick marks the truth.",
        (Figure("Test objects as point clouds", frames, 3, (Control("Method", tuple(names)),)),),
        notes=(
            f"Agent 0, first seed, {show_topology(topology)} graph, best link. At most {MAX_POINTS} points of each.",
        ),
    )


def _source(run: Run) -> RunSource:
    """What the results say it is, and where the samples, if there are any, say it lay."""
    known = {name: str(run.dataset.attrs[name]) for name in (SHA256, SIMULATOR) if name in run.dataset.attrs}
    try:
        stored, _ = read_manifest(run.folder)
    except (AirbayesError, OSError):
        stored = {}
    return RunSource(run.folder, run.config, stored | known)


def _not_at_hand(run: Run) -> str:
    if run.config.lidar.source == SIMULATED:
        return (
            "No test objects are drawn: this version of airbayes simulates others than those of the run. Make the page "
            "with the version that made the run."
        )
    name = printable(Path(run.config.lidar.source).name, 80).replace("`", "'")
    return (
        f"No test objects are drawn: the set they are from, {name}, was not found, or has another checksum than the "
        "one the run learned from. Put that one back, or beside the results folder, and make the page again: "
        "`airbayes report RUN --objects`."
    )


def _panels(run: Run, part: Part, objects: ObjectSet, variant: str) -> list[Panel]:
    if not len(part) or part.index.min() < 0 or part.index.max() >= len(objects):
        return []
    if part.probabilities.shape[1] != len(run.class_names):  # predictions of another run
        return []
    order = np.argsort(part.confidence, kind="stable")
    right = part.predicted[order] == part.labels[order]
    kinds = (
        ("sure and right", order[right][::-1][:EACH]),
        ("sure and wrong", order[~right][::-1][:EACH]),
        ("least sure", order[:EACH]),
    )
    return [_panel(run, part, objects, variant, int(row), kind) for kind, chosen in kinds for row in chosen]


def _panel(run: Run, part: Part, objects: ObjectSet, variant: str, row: int, kind: str) -> Panel:
    names = run.class_names
    probabilities, truth = part.probabilities[row], int(part.labels[row])
    called = int(part.predicted[row])
    cloud = objects.cloud(int(part.index[row])).astype(np.float64)
    cloud = cloud[np.unique(np.linspace(0, len(cloud) - 1, min(len(cloud), MAX_POINTS)).round().astype(int))]
    shown = sorted({*np.argsort(-probabilities)[:MAX_CLASSES].tolist(), truth}, key=lambda k: -probabilities[k])
    said = "rightly named" if called == truth else f"called {names[called]}"
    doubt = float(part.mutual_information[row])
    return {
        "type": "cloud",
        "method": variant,
        "title": f"{kind}: {names[truth]}",
        "under": units_kept(
            f"{said}, {percent(float(probabilities[called]))} sure"
            + (f", mutual information {doubt:.2f} nats" if doubt > 0 else "")
        ),
        "points": (100 * (cloud - cloud.mean(axis=0))).round().astype(int).ravel().tolist(),
        "probabilities": [[names[k], round(float(probabilities[k]), 4), k == truth] for k in shown],
    }
