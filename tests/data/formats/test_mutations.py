"""Damaged files: over 10,000 of them here, more with AIRBAYES_MUTATIONS=100000. Objects or DataError, nothing else."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

TOTAL = int(os.environ.get("AIRBAYES_MUTATIONS", "10400"))
SEED = int(os.environ.get("AIRBAYES_MUTATION_SEED", "0"))
SHARES = {  # of every 8 mutations: the formats with many readers behind them get more
    "object_set": 1,
    "class_folder": 2,
    "kitti_object": 0.75,
    "kitti_tracking": 0.75,
    "semantic_kitti": 0.5,
    "sydney": 0.75,
    "nuscenes": 1.25,
    "argoverse2": 1,
}
MEMORY_MB = 400  # resident, libraries included; the files have a few kilobytes
MEMORY_FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None


def test_shares_are_complete():
    from airbayes.data.formats import FORMATS

    assert set(SHARES) == set(FORMATS)
    assert sum(SHARES.values()) == 8


@pytest.mark.parametrize("name", SHARES)
def test_damaged_files_give_objects_or_a_data_error(name):
    if name == "argoverse2":
        pytest.importorskip("pyarrow", reason="Argoverse 2 needs the extra lidar")
    pytest.importorskip("resource", reason="memory limits need a Unix system")
    count = round(TOTAL * SHARES[name] / 8)
    with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as folder:
        command = [sys.executable, str(Path(__file__).with_name("mutate.py")), name, str(count), str(SEED), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stderr[-4000:]}"
    good, refused, peak = map(int, done.stdout.split())
    sys.stdout.write(f"{name}: {good} objects, {refused} DataErrors, at most {peak} MB\n")  # for docs/reliability.md
    assert good + refused == count
    assert refused > 0.1 * count  # the damage is real
    assert good > 0.01 * count  # and not everything is refused
    assert peak < MEMORY_MB
