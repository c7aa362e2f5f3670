"""Damage what a run left and read it again: `python mutate_results.py SEED FOLDER KIND=COUNT ...`.

Run by test_damaged_results.py in a process of its own, with little memory and a watchdog. Every reader must give a
value that it checked, or an AirbayesError. Prints for each kind how many of each, and by how many megabytes the peak
memory grew; anything else is reported with the seed of its case, and ends with status 1.
"""

import dataclasses
import faulthandler
import json
import random
import resource
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import xarray as xr
from data.formats.mutate import flip, mutate, overwrite, peak_megabytes, truncate
from experiment.made_folder import STUDY, write_made

from airbayes import records
from airbayes.errors import AirbayesError
from airbayes.experiment.cells import enumerate_cells
from airbayes.experiment.journal import Journal
from airbayes.experiment.results import CellResult
from airbayes.experiment.results_file import SUMS
from airbayes.experiment.sample_files import read_manifest, read_samples
from airbayes.experiment.store import read_dataset, read_summary
from airbayes.experiment.toml_io import dump_config, load_config
from airbayes.experiment.validate import find_problems
from airbayes.network import from_csv
from airbayes.report.claims import claims_table, write_claims
from airbayes.report.tables import cells_csv, snr_tables

ADDRESS_SPACE = 6 << 30  # bytes; JAX alone maps two of them
SECONDS = 60  # for one read: a hang, not a slow machine
Case = Callable[[random.Random], bool]  # damages, reads; whether a value came back


def use(folder: Path) -> bool:
    """Everything that is made of results."""
    dataset = read_dataset(folder)
    cells_csv(dataset)
    snr_tables(dataset, "accuracy", "accuracy", 100)
    write_claims(folder, dataset, claims_table(dataset))
    return True


def results(folder: Path) -> Case:
    """results.nc: with its checksum every change is an error; without, HDF5 and all that follows must cope."""
    path, sums = folder / "results.nc", folder / SUMS
    raw, known = path.read_bytes(), sums.read_bytes()

    def case(rng: random.Random) -> bool:
        damaged = rng.choice((mutate, flip, overwrite, truncate))(rng, raw)
        path.write_bytes(damaged)
        sums.write_bytes(known)
        try:
            read_dataset(folder)
            assert damaged == raw, "a change was not noticed"
        except AirbayesError:
            assert damaged != raw
        sums.unlink()
        return use(folder)

    return case


def structure(folder: Path) -> Case:
    """Sound netCDF files that no run writes: other names, dims, types, sizes and attributes."""
    whole = read_dataset(folder)
    (folder / SUMS).unlink()
    strange = [np.nan, "x", -1, 2**40, np.zeros(3), "[[[[", "$\\frac", "\x1b[31m", ""]

    def change(rng: random.Random) -> xr.Dataset:
        dataset = whole.copy(deep=True)
        for _ in range(rng.choice((1, 1, 2))):
            name = rng.choice([str(each) for each in dataset.variables])
            kind = rng.randrange(7)
            if kind == 0:
                dataset = dataset.drop_vars(name)
            elif kind == 1:
                dataset = dataset.rename({name: rng.choice(["x", "status", "accuracy"])})
            elif kind == 2 and name not in dataset.dims:
                dataset[name] = dataset[name].astype(rng.choice(["U3", "i8", "bool", "f8"]))
            elif kind == 3 and name not in dataset.dims:
                dataset[name] = dataset[name].transpose()
            elif kind == 4 and dataset[name].size:
                dataset = dataset.isel({dim: slice(0, rng.choice((0, 1))) for dim in dataset[name].dims[:1]})
            elif kind == 5 and name in dataset.dims:
                values = [rng.choice(["a", "[red]", "\x1b]0;x\x07", "a\nb", "full"]) for _ in dataset[name]]
                dataset = dataset.assign_coords({name: values})
            else:
                named = rng.choice(["num_classes", "class_names", "config_toml", "experiment", "units"])
                dataset.attrs[named] = rng.choice(strange)
        return dataset

    def case(rng: random.Random) -> bool:
        try:
            change(rng).to_netcdf(folder / "results.nc", engine="h5netcdf")
        except (ValueError, TypeError, KeyError):  # what cannot be written cannot be read
            whole.to_netcdf(folder / "results.nc", engine="h5netcdf")
        return use(folder)

    return case


def summary(folder: Path) -> Case:
    path, sums = folder / "summary.json", folder / SUMS
    raw, known = path.read_bytes(), sums.read_bytes()
    whole = read_summary(folder)

    def case(rng: random.Random) -> bool:
        path.write_bytes(damaged := mutate(rng, raw))
        sums.write_bytes(known)
        try:
            assert read_summary(folder) == whole
            assert damaged == raw, "a change was not noticed"
        except AirbayesError:
            assert damaged != raw
        sums.unlink()
        return all(cell["status"] in ("ok", "diverged", "absent") for cell in read_summary(folder)["cells"])

    return case


def samples(folder: Path) -> Case:
    place = folder / "samples"
    files = {path: path.read_bytes() for path in sorted(place.iterdir())}
    valid = {read_samples(folder, row).tobytes() for row in read_manifest(folder)[1]}

    def case(rng: random.Random) -> bool:
        path = rng.choice([place / "manifest.json", *files])
        path.write_bytes(mutate(rng, files[path]))
        try:
            _, rows = read_manifest(folder)
            assert all(read_samples(folder, row).tobytes() in valid for row in rows)
            return bool(str([row.cell for row in rows]))
        finally:
            path.write_bytes(files[path])

    return case


def config(folder: Path) -> Case:
    path = folder / "config.toml"
    raw = dump_config(STUDY).encode()

    def case(rng: random.Random) -> bool:
        path.write_bytes(mutate(rng, raw))
        find_problems(load_config(path))
        return True

    return case


def checkpoint(folder: Path) -> Case:
    """Records with right checksums and wrong contents, as an enemy would write them."""
    cells = enumerate_cells(STUDY)[:2]
    journal = Journal(folder)
    journal.begin(STUDY)
    journal.finish(cells, [CellResult(cell, None, {"rms": np.zeros((2, 3))}) for cell in cells])
    journal.save(cells, 200, {"theta": np.arange(6.0), "step": np.int32(200)}, [{"rms": np.zeros((2, 3))}])
    saved = journal.place(cells)
    kept = {path: path.read_bytes() for path in folder.rglob("progress/**/*") if path.is_file()}

    def case(rng: random.Random) -> bool:
        where = rng.choice([journal.folder / "begun", saved / "done", saved / "step-000000200"])
        for path in rng.sample(sorted(where.iterdir()), 1):
            path.write_bytes(mutate(rng, kept[path]))
        try:
            sign(where)
            journal.begin(STUDY)
            found = journal.latest(cells)
            assert found is None or isinstance(found.step, int)
            journal.finished(cells)
            return True
        finally:
            for path, content in kept.items():
                path.write_bytes(content)

    return case


def sign(record: Path) -> None:
    """Right checksums for whatever is there, where the manifest can still be read."""
    path = record / records.MANIFEST
    try:
        content = json.loads(path.read_bytes())
        content.pop("sha256", None)
        for entry in content["arrays"].values():
            file = record / entry["file"]
            entry |= {"sha256": records._sha256(file), "bytes": file.stat().st_size}
        path.write_text(json.dumps(content | {"sha256": records._digest(content)}))
    except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError):
        return


def graph(folder: Path) -> Case:
    path = folder / "net.csv"
    raw = b"from,to\n" + b"".join(b"%d,%d\n" % (i, (i + 1) % 9) for i in range(9))

    def case(rng: random.Random) -> bool:
        path.write_bytes(mutate(rng, raw))
        return from_csv(path).num_agents > 0

    return case


KINDS = {each.__name__: each for each in (results, structure, summary, samples, config, checkpoint, graph)}


def run(kind: str, count: int, seed: int, root: Path) -> tuple[Counter, int]:
    study = dataclasses.replace(STUDY, saved_samples=4) if kind == "samples" else STUDY
    case = KINDS[kind](write_made(root / kind, 0, 2, study))
    outcome: Counter = Counter()
    before = 0
    for number in range(count):
        rng = random.Random(f"{kind}-{seed}-{number}")
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            outcome["value" if case(rng) else "wrong"] += 1
        except AirbayesError as error:
            outcome["refused" if str(error) else "wrong"] += 1
        except BaseException:
            outcome["wrong"] += 1
            if outcome["wrong"] <= 3:
                sys.stderr.write(f"{kind}, seed {seed}, case {number}:\n{traceback.format_exc()}\n")
        faulthandler.cancel_dump_traceback_later()
        before = before or (peak_megabytes() if number == 9 else 0)  # with everything imported
    return outcome, peak_megabytes() - (before or peak_megabytes())


if __name__ == "__main__":
    warnings.simplefilter("ignore", xr.SerializationWarning)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    wrong = 0
    for name, _, count in (word.partition("=") for word in sys.argv[3:]):
        found, grown = run(name, int(count), int(sys.argv[1]), Path(sys.argv[2]))
        sys.stdout.write(f"{name} {count} {found['value']} {found['refused']} {grown}\n")
        wrong += found["wrong"]
    sys.exit(1 if wrong else 0)
