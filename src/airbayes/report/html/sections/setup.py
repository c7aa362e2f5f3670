"""What was run, and with what: enough to run it again."""

from airbayes.experiment.toml_io import dump_config
from airbayes.report.html.parts import Section, Table
from airbayes.report.html.runs import Run

SHOWN = (
    ("airbayes_version", "airbayes"),
    ("evaluated_on", "scores are of"),
    ("source_sha256", "object set (sha256)"),
    ("simulator_hash", "simulated objects (sha256, one a seed)"),
    ("repeated_examples", "objects of the first seed"),
)


def setup_section(run: Run) -> Section:
    attributes = run.dataset.attrs
    rows = [(title, str(attributes[name]).replace("\n", "; ")) for name, title in SHOWN if name in attributes]
    rows += [line.split(": ", 1) for line in str(attributes.get("environment", "")).splitlines() if ": " in line]
    seeds = [int(seed) for seed in run.dataset.seed.values]
    rows.append(("numbers of the seeds", ", ".join(map(str, seeds))))
    config = run.config
    others = [str(seed) for seed in seeds if not 0 <= seed - config.first_seed < config.seeds]  # of runs put together
    which = f" for its own seeds; {', '.join(others)} came from other runs (--seeds, --first-seed)" if others else ""
    return Section(
        "setup",
        "How it was run",
        "Every setting that decides the numbers above, defaults included. Save the configuration as study.toml and "
        f"`airbayes run study.toml` repeats the run{which}.",
        tables=(Table("Environment", ("what", "value"), tuple((a, b) for a, b in rows), words=(0, 1)),),
        listing=(("Configuration (config.toml)", str(attributes.get("config_toml") or dump_config(run.config))),),
    )
