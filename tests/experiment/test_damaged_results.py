"""What a run left, damaged or made by an enemy: a checked value or an AirbayesError, in little memory, and no hang.

600 mutations here, more with AIRBAYES_RESULT_MUTATIONS=100000.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from experiment.made_folder import STUDY, write_made

from airbayes.errors import AirbayesError, ConfigError, GraphError, ResultsError
from airbayes.experiment.merge import merge_folders
from airbayes.experiment.results_file import SUMS
from airbayes.experiment.sample_files import read_manifest
from airbayes.experiment.store import read_dataset, read_summary
from airbayes.experiment.toml_io import dump_config, load_config, parse_config
from airbayes.network import from_csv
from airbayes.records import read_record

TOTAL = int(os.environ.get("AIRBAYES_RESULT_MUTATIONS", "600"))
SEED = int(os.environ.get("AIRBAYES_MUTATION_SEED", "0"))
SHARES = {"results": 3, "structure": 0.5, "summary": 4, "samples": 4, "config": 4, "checkpoint": 4, "graph": 4.5}
GROWTH_MB = 200  # of the peak; the files have a few kilobytes
MEMORY_FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.mark.parametrize("kinds", [("results", "structure"), ("summary", "samples", "config", "checkpoint", "graph")])
def test_damaged_files_give_a_checked_value_or_an_error(kinds):
    pytest.importorskip("resource", reason="memory limits need a Unix system")
    words = [f"{kind}={round(TOTAL * SHARES[kind] / sum(SHARES.values()))}" for kind in kinds]
    with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as folder:
        command = [sys.executable, str(Path(__file__).with_name("mutate_results.py")), str(SEED), folder, *words]
        environment = os.environ | {"JAX_PLATFORMS": "cpu"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stderr[-4000:]}"
    for line in done.stdout.splitlines():
        kind, (count, value, refused, grown) = line.split()[0], map(int, line.split()[1:])
        sys.stdout.write(f"{kind}: {value} checked values, {refused} errors, {grown} MB more\n")
        assert value + refused == count
        assert refused > 0.1 * count, kind  # the damage is real
        assert grown < GROWTH_MB, kind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A results folder without checksums, as an enemy would send it."""
    made = write_made(tmp_path / "made", 0, 1)
    (made / SUMS).unlink()
    return made


def rewrite(folder: Path, name: str, make) -> None:
    with h5py.File(folder / "results.nc", "a") as file:
        del file[name]
        make(file)


def test_arrays_that_the_file_cannot_hold_are_refused_before_memory_is_asked_for(folder: Path):
    rewrite(folder, "nll", lambda file: file.create_dataset("nll", (10**6, 10**6), "f4", chunks=(1000, 1000)))
    with pytest.raises(ResultsError, match=r"nll: declares float32 \(1000000, 1000000\)"):
        read_dataset(folder)


def test_data_in_other_files_are_not_followed(folder: Path, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_bytes(np.ones(16, "f4").tobytes())
    shutil.copy(folder / "results.nc", tmp_path / "other.nc")
    virtual = h5py.VirtualLayout((2, 2, 2, 1), "f4")
    virtual[:] = h5py.VirtualSource(str(tmp_path / "other.nc"), "nll", (2, 2, 2, 1))[:]
    for make, complaint in (
        (lambda file: file.create_dataset("nll", (16,), "f4", external=[(str(secret), 0, 64)]), "another file"),
        (lambda file: file.create_virtual_dataset("nll", virtual), "another file"),
        (lambda file: file.update({"nll": h5py.ExternalLink(str(tmp_path / "other.nc"), "nll")}), "link or a group"),
        (lambda file: file.update({"nll": h5py.SoftLink("/ece")}), "link or a group"),
    ):
        rewrite(folder, "nll", make)
        with pytest.raises(ResultsError, match=complaint):
            read_dataset(folder)


def test_a_heap_in_which_hdf5_would_run_in_circles_is_refused(folder: Path):
    path = folder / "results.nc"
    raw = bytearray(path.read_bytes())
    begin = place = raw.index(b"GCOL\x01")
    size = int.from_bytes(raw[begin + 8 : begin + 16], "little")
    place += 16
    while place + 16 <= begin + size and int.from_bytes(raw[place : place + 2], "little"):
        place += 16 + (int.from_bytes(raw[place + 8 : place + 16], "little") + 7) // 8 * 8
    raw[place + 8 : place + 16] = bytes(8)  # the free rest, of size 0
    path.write_bytes(raw)
    with pytest.raises(ResultsError, match="heap object of 0 bytes"):
        read_dataset(folder)


def test_a_change_is_named_and_can_be_accepted(tmp_path: Path):
    made = write_made(tmp_path / "made", 0, 1)
    for name, read in (("results.nc", read_dataset), ("summary.json", read_summary)):
        whole = (made / name).read_bytes()
        (made / name).write_bytes(whole + b" ")
        with pytest.raises(ResultsError, match=f"{name} has changed.*again with --force.*remove .*{SUMS}"):
            read(made)
        with pytest.raises(ResultsError, match=f"{name} has changed"):
            read_dataset(made)  # a report, or a run that is complete, reads no summary
        (made / name).write_bytes(whole)
        read(made)
    (made / "summary.json").write_bytes((made / "summary.json").read_bytes() + b" ")
    (made / SUMS).unlink()
    assert read_summary(made)["cells"]


def test_merging_reads_graphs_from_the_folder_alone(tmp_path: Path):
    """A configuration that names some other file does not get it copied."""
    (tmp_path / "secret.csv").write_text("0,1\n1,2\n")
    parts = [write_made(tmp_path / name, seed, 1) for seed, name in enumerate("ab")]
    for part in parts:
        text = (part / "config.toml").read_text()
        (part / "config.toml").write_text(text.replace('"full"', f'"{tmp_path}/secret.csv"'))
    with pytest.raises(ResultsError, match=r"graphs/secret.csv"):
        merge_folders(parts, tmp_path / "out")


def test_pipes_and_endless_files_are_not_waited_for(tmp_path: Path):
    made = write_made(tmp_path / "made", 0, 1)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "record").mkdir()
    (made / "samples").mkdir()
    for place, read in (
        (made / "config.toml", lambda: load_config(made / "config.toml")),
        (made / "summary.json", lambda: read_summary(made)),
        (made / "results.nc", lambda: read_dataset(made)),
        (made / "samples" / "manifest.json", lambda: read_manifest(made)),
        (tmp_path / "record" / "manifest.json", lambda: read_record(tmp_path / "record")),
        (tmp_path / "net.csv", lambda: from_csv(tmp_path / "net.csv")),
    ):
        place.unlink(missing_ok=True)
        for target in (pipe, Path("/dev/zero")):
            place.symlink_to(target)
            with pytest.raises(AirbayesError, match=place.name if place.name[0] not in "rs" else "."):
                read()
            place.unlink()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("seeds = " + "9" * 5000, "not valid TOML"),
        ("x = " + "[" * 5000, "not valid TOML"),
        ("[sampling]\neta = 1" + "0" * 400, "sampling.eta = 1000"),
        ("\n".join(f"x{i} = 1" for i in range(20_000)), "and 19,950 more"),
        ('"\\u001b[31mred" = 1', r"\?\[31mred"),
    ],
)
def test_hostile_experiment_files(text, complaint):
    with pytest.raises(ConfigError, match=complaint) as found:
        parse_config(text, "file.toml")
    assert all(problem.isprintable() for problem in found.value.problems)


def test_a_large_edge_list_takes_little_memory(tmp_path: Path):
    import tracemalloc

    path = tmp_path / "net.csv"
    path.write_text("0 1\n" * 100_000)
    tracemalloc.start()
    assert from_csv(path).num_edges == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 13e6  # as pairs of Python integers it took 23
    path.write_text("7" * 5_000_000)
    with pytest.raises(GraphError, match="longer than"):
        from_csv(path)


def test_a_valid_folder_is_still_read(folder: Path):
    assert read_dataset(folder).sizes["seed"] == 1
    assert load_config(folder / "config.toml") == parse_config(dump_config(STUDY))
