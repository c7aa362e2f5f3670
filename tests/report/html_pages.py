"""Runs to make pages of: committed results, and copies of them with hostile names, faults or lost cells."""

import dataclasses
from pathlib import Path

import numpy as np

from airbayes.experiment.store import read_dataset
from airbayes.experiment.toml_io import load_config
from airbayes.report.html import Run, make_run

RESULTS = Path(__file__).parents[2] / "docs" / "results"
SMALL = RESULTS / "paper-real"  # three methods, three graphs; one of its seeds and two of its SNRs are taken
HOSTILE = "<img src=x onerror=document.title=0>"
SCRIPT = "</script><script>document.title='owned'</script>"
BOLD = "<b>bold</b> & \"quoted\" 'too'"


def small_run(folder: Path = SMALL) -> Run:
    config, dataset = load_config(folder / "config.toml"), read_dataset(folder)
    if folder == SMALL:
        ends = (0.0, 30.0)
        config = dataclasses.replace(config, seeds=1, channel=dataclasses.replace(config.channel, snr_db=ends))
        dataset = dataset.sel({"snr_db": list(ends), "seed": [0]})
    return make_run(folder, config, dataset)


def one_graph_run() -> Run:
    run = small_run()
    return make_run(SMALL, run.config, run.dataset.isel(topology=[2], snr_db=[1]))


def hostile_run() -> Run:
    """Class, graph and experiment names that try to be markup or script."""
    run = small_run()
    names = [HOSTILE, SCRIPT, BOLD, "{{ 7 * 7 }}", "${alert(1)}", "a\u2028b"]
    dataset = run.dataset.assign_attrs(class_names="\n".join(names), repeated_examples=SCRIPT, evaluated_on=HOSTILE)
    dataset = dataset.assign_attrs(config_toml=f'name = "{SCRIPT}"')
    dataset = dataset.assign_coords(topology=["full", "star", f"{SCRIPT.replace('/', '')}.csv"])
    config = dataclasses.replace(run.config, name=SCRIPT)
    return make_run(Path(HOSTILE.replace("/", "")), config, dataset)


def lost_run() -> Run:
    """Q-DSGD diverged at 0 dB everywhere, as the store writes it."""
    run = small_run()
    dataset = run.dataset.copy(deep=True)
    where = {"method": "q_dsgd", "snr_db": 0.0}
    for name, variable in dataset.data_vars.items():
        if "method" not in variable.dims or str(name).endswith("_over_steps"):
            continue
        lost = {"status": 2, "diverged_step": 700}.get(str(name))
        if lost is not None or variable.dtype.kind == "f":  # counts have no NaN
            dataset[name].loc[where] = np.nan if lost is None else lost
    return make_run(Path("lost"), run.config, dataset)


def faulty_run(fault: str = "link_outage", folder: Path = SMALL) -> Run:
    """The three graphs taken as one ring under a growing rate of lost links, or of another fault."""
    run = small_run(folder)
    names = ["ring", f"ring@{fault}=0.25", f"ring@{fault}=0.5"]
    return make_run(Path("faulty"), run.config, run.dataset.assign_coords(topology=names))


def partly_faulty_run() -> Run:
    """Of three graphs one is another under a fault."""
    run = small_run()
    return make_run(Path("partly"), run.config, run.dataset.assign_coords(topology=["full", "ring@away=0.5", "ring"]))
